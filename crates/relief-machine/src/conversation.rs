//! Messages over a connection, for both sides.

use std::io::{self, Read, Write};

use crate::frame::{self, Header, Kind, MAX_CONTROL};
use crate::message::{Message, Refusal};

/// Sends a message.
pub(crate) fn send<M: Message>(writer: &mut dyn Write, message: &M) -> io::Result<()> {
    let payload = message.encode();
    frame::write(writer, &Header::new(M::KIND, 0, 0, &payload), &[&payload])
}

/// Reads the message that must come next; an error of the other side is returned as one.
pub(crate) fn expect<M: Message>(reader: &mut dyn Read) -> io::Result<Result<M, Refusal>> {
    let (kind, payload) = control(reader)?;
    if kind == Kind::Error
        && let Some(refusal) = Refusal::decode(&payload)
    {
        return Ok(Err(refusal));
    }
    let wrong = |text| io::Error::new(io::ErrorKind::InvalidData, text);
    if kind != M::KIND {
        return Err(wrong(format!("{kind} came where {} was expected", M::KIND)));
    }
    let malformed = || {
        let text = "is too short, or a number in it is out of range or contradicts another";
        wrong(format!(
            "{kind} came with {} bytes of payload: it {text}",
            payload.len()
        ))
    };
    M::decode(&payload).map(Ok).ok_or_else(malformed)
}

/// Reads a frame that is none of lines: nobody is given memory for lines before they are known.
pub(crate) fn control(reader: &mut dyn Read) -> io::Result<(Kind, Vec<u8>)> {
    let mut payload = Vec::new();
    let header = frame::read_within(&mut { reader }, &mut payload, MAX_CONTROL)?;
    let header = header.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok((header.kind, payload))
}
