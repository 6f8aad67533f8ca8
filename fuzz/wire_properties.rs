//! What holds for any bytes off the wire. Used by the fuzz target `frame` and by the test that replays its corpus.

use relief_machine::frame::{self, Kind};
use relief_machine::message::{self, Accept, Hello, Job, Message, Refusal, Status, Welcome};

/// Bytes are a frame, a part of one, or refused, whether they are in memory or come from a stream; payloads are
/// messages or refused.
pub(crate) fn frame(bytes: &[u8]) {
    let mut read = Vec::new();
    let streamed = frame::read(&mut &bytes[..], &mut read);
    match frame::decode(bytes) {
        Ok(Some((header, payload, end))) => {
            assert!(end <= bytes.len() && payload.len() <= header.kind.limit());
            assert_eq!(streamed.ok().flatten(), Some(header));
            assert_eq!(read, payload);
            let again = frame::Header::new(header.kind, header.sequence, header.count, payload);
            assert_eq!(again, header);
            this_kind(header.kind, payload);
        }
        Ok(None) => assert!(
            streamed.is_err() || bytes.is_empty(),
            "a part of a frame was taken for one"
        ),
        Err(_) => assert!(streamed.is_err(), "what is no frame was taken for one"),
    }
    // Messages are reached without a checksum that fits.
    if let Some((kind, payload)) = bytes.split_first() {
        for known in KINDS {
            if known as u8 == *kind {
                this_kind(known, payload);
            }
        }
        lines(payload);
    }
}

const KINDS: [Kind; 6] = [
    Kind::Hello,
    Kind::Welcome,
    Kind::Job,
    Kind::Accept,
    Kind::Status,
    Kind::Error,
];

fn this_kind(kind: Kind, payload: &[u8]) {
    match kind {
        Kind::Hello => stable::<Hello>(payload),
        Kind::Welcome => stable::<Welcome>(payload),
        Kind::Job => stable::<Job>(payload),
        Kind::Accept => stable::<Accept>(payload),
        Kind::Status => stable::<Status>(payload),
        Kind::Error => stable::<Refusal>(payload),
        _ => {}
    }
}

/// What was read is written as something that reads the same.
fn stable<M: Message + PartialEq + std::fmt::Debug>(payload: &[u8]) {
    if let Some(message) = M::decode(payload) {
        assert_eq!(M::decode(&message.encode()).as_ref(), Some(&message));
    }
}

/// The lines of a payload lie in it, one after the other.
fn lines(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_at_checked(240) else {
        return;
    };
    let (Some(job), Some((count, payload))) = (Job::decode(head), rest.split_first_chunk::<4>()) else {
        return;
    };
    let Some((lines, ends)) = message::lines(&job, u32::from_le_bytes(*count), payload) else {
        return;
    };
    let mut start = 0;
    for index in 0..ends.count() {
        let end = ends.end(index);
        assert!(end > start && end - start <= job.line_bytes as usize && end <= lines.len());
        start = end;
    }
    assert_eq!(start, lines.len());
}
