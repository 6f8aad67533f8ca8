//! `relief receive`: the reference receiver, which can emulate a machine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use relief_machine::{Acceptor, Address, Machine, Pace, Receiver, ReceiverOptions, Secret, digest_file};

use super::stream::seconds;
use crate::failure::Failure;
use crate::quantity::{buffer, bytes, counted};

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// Where to listen: tcp://HOST:PORT, tls://HOST:PORT or unix:PATH; tls needs a certificate, and tcp with one
    /// becomes tls
    #[arg(long, value_name = "ADDRESS", value_parser = listener, default_value = "tcp://127.0.0.1:7117")]
    listen: Address,
    /// The file where executed lines go, with PATH.journal beside it; nowhere without it
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Execute so many bytes a second [default: as fast as lines come]
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "line_rate")]
    rate: Option<u64>,
    /// Execute so many lines a second
    #[arg(long, value_name = "LINES")]
    line_rate: Option<f64>,
    /// The buffer of the machine
    #[arg(long, value_name = "SIZE", value_parser = buffer, default_value = "16MiB")]
    buffer: u64,
    /// Begin when so much is buffered, or when no further line fits the buffer
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "0")]
    prefill: u64,
    /// The largest frame of lines
    #[arg(long, value_name = "SIZE", value_parser = buffer, default_value = "1MiB")]
    largest: u64,
    /// Add up to so many seconds to each line
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value_t = 0.0)]
    jitter: f64,
    /// Stand still every so many lines for so many seconds
    #[arg(long, value_name = "LINES:SECONDS", value_parser = stall)]
    stall: Option<(u64, Duration)>,
    /// Cut the connection every so many lines
    #[arg(long, value_name = "LINES")]
    drop_after: Option<u64>,
    /// Refuse the first so many connections
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    refuse: u32,
    /// The file that holds the secret that senders must know: 16 random bytes or more, but one line end at its end
    #[arg(long, value_name = "PATH")]
    secret: Option<PathBuf>,
    /// The certificate for TLS, PEM
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "PATH", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Seconds without a byte after which a connection counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    idle_timeout: f64,
}

fn stall(text: &str) -> Result<(u64, Duration), String> {
    let expected = || "LINES:SECONDS is expected, such as 1000:5".to_owned();
    let (lines, time) = text.split_once(':').ok_or_else(expected)?;
    let lines = lines.parse().map_err(|_| expected())?;
    Ok((lines, Duration::from_secs_f64(seconds(time)?)))
}

/// An address at which a machine can be reached.
fn listener(text: &str) -> Result<Address, String> {
    match text.parse() {
        Ok(address @ (Address::Tcp(_) | Address::Tls(_) | Address::Unix(_))) => Ok(address),
        _ => Err(
            "it is not an address to listen at; tcp://HOST:PORT, tls://HOST:PORT or unix:/PATH is expected"
                .to_owned(),
        ),
    }
}

pub(crate) fn run(receive: &Receive) -> Result<(), Failure> {
    let tls = match (&receive.tls_certificate, &receive.tls_key) {
        (Some(certificate), Some(key)) => Some(Acceptor::open(certificate, key)?),
        _ => None,
    };
    let pace = match (receive.rate, receive.line_rate) {
        (Some(rate), _) => Pace::Bytes(rate as f64),
        (None, Some(rate)) => Pace::Lines(rate),
        (None, None) => Pace::Free,
    };
    let machine = Machine {
        pace,
        jitter: Duration::from_secs_f64(receive.jitter),
        stall: receive.stall,
        buffer: receive.buffer,
        prefill: receive.prefill,
        largest: u32::try_from(receive.largest).unwrap_or(u32::MAX),
        drop_after: receive.drop_after,
        refuse: receive.refuse,
    };
    let pin = tls.as_ref().map(Acceptor::pin);
    let secret = receive.secret.as_deref().map(Secret::open).transpose()?;
    let options = ReceiverOptions::default().with(|options| {
        options.machine = machine;
        options.output.clone_from(&receive.output);
        options.secret = secret;
        options.tls = tls;
        options.idle_timeout = Duration::from_secs_f64(receive.idle_timeout.max(0.05));
    });
    let receiver = Receiver::bind(&receive.listen, options)?;
    let mut out = io::stdout();
    let address = receiver.address().to_string();
    writeln!(out, "listening on {}", relief_design::visible(&address))?;
    if let Some(pin) = pin {
        writeln!(out, "certificate {pin}")?;
    }
    out.flush()?;
    let received = receiver.run()?;
    writeln!(
        out,
        "executed {}, {}",
        counted(received.executed, "line"),
        counted(received.underruns, "underrun")
    )?;
    if let Some(path) = receive.output.as_deref().filter(|path| path.is_file()) {
        writeln!(out, "{}", digest_file(path)?)?;
    }
    if !received.acknowledged {
        // All is executed, so that this is no failure.
        writeln!(
            io::stderr(),
            "relief: the connection was lost as the sender was told of the end, and it did not come back: it may not \
             know that all lines are executed; have it ask again with 'relief stream --resume' while this receiver \
             runs once more"
        )?;
    }
    Ok(())
}
