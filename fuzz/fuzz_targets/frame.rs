//! Any bytes off the wire are a frame, a part of one, or refused; its payload is a message or refused.
#![no_main]

use relief_machine::frame::{self, Kind};
use relief_machine::message::{self, Accept, Hello, Job, Message, Refusal, Status, Welcome};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut read = Vec::new();
    let streamed = frame::read(&mut &bytes[..], &mut read);
    if let Ok(Some((header, payload, end))) = frame::decode(bytes) {
        assert!(end <= bytes.len() && payload.len() <= header.kind.limit());
        assert_eq!(streamed.ok().flatten(), Some(header));
        assert_eq!(read, payload);
        let _ = header.kind == Kind::Lines;
    }
    // Messages are reached without a checksum that fits.
    let _ = (Hello::decode(bytes), Welcome::decode(bytes), Accept::decode(bytes));
    let _ = (Status::decode(bytes), Refusal::decode(bytes));
    if let Some((head, rest)) = bytes.split_at_checked(240)
        && let Some(job) = Job::decode(head)
        && let Some((lines, ends)) = message::lines(&job, u32::from(rest.first().copied().unwrap_or(0)), rest)
    {
        assert_eq!(ends.end(ends.count() - 1), lines.len());
    }
});
