//! What the page is told without asking: server-sent events.

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use crate::body::Body;

/// How long nothing is sent before a comment shows that the connection is alive.
const BEAT: std::time::Duration = std::time::Duration::from_secs(15);

/// A state that many wait for: the latest counts.
pub(crate) type State = watch::Sender<String>;

/// The events of a client: states as they are when it comes, and whenever they change.
pub(crate) fn stream(stage: watch::Receiver<String>, job: watch::Receiver<String>) -> Body {
    // A client that does not read gets the latest state when it does.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send(sender, stage, job));
    Body::Events(receiver)
}

async fn send(
    sender: mpsc::Sender<Bytes>,
    mut stage: watch::Receiver<String>,
    mut job: watch::Receiver<String>,
) {
    stage.mark_changed();
    job.mark_changed();
    loop {
        let event = tokio::select! {
            () = sender.closed() => return,
            changed = stage.changed() => {
                if changed.is_err() { return; }
                event("state", &stage.borrow_and_update())
            }
            changed = job.changed() => {
                if changed.is_err() { return; }
                event("job", &job.borrow_and_update())
            }
            () = tokio::time::sleep(BEAT) => Bytes::from_static(b": alive\n\n"),
        };
        if sender.send(event).await.is_err() {
            return;
        }
    }
}

/// An event of one line of data.
fn event(name: &str, json: &str) -> Bytes {
    format!("event: {name}\ndata: {json}\n\n").into()
}
