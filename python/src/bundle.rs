//! A design with all files that it names, as bytes: what `relief pack` writes.

use std::io::{self, Read, Write};

use relief_design::visible;
use relief_engine::Cancel;
use relief_io::pack;

use crate::design::Opened;
use crate::errors::Failure;

/// Bytes that grow up to a limit.
struct Bounded<'c> {
    bytes: Vec<u8>,
    limit: u64,
    /// Whether more would have come.
    full: bool,
    cancel: &'c Cancel,
}

impl Write for Bounded<'_> {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        if (self.bytes.len() + more.len()) as u64 > self.limit {
            self.full = true;
            return Err(io::Error::other("the limit is reached"));
        }
        self.bytes.try_reserve(more.len())?;
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The design with its values and all files that it names, in at most `limit` bytes.
///
/// # Errors
/// Where it takes more, names what is an array, or a file cannot be read.
pub(crate) fn packed(opened: &Opened, limit: u64, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
    if let Some(name) = opened.named.iter().find(|name| opened.source.is_array(name)) {
        return Err(Failure::Option(
            "images",
            format!(
                "{} is an array, and a bundle holds files; a pickle of the surface holds its arrays",
                visible(name)
            ),
        ));
    }
    let mut job = pack::Job::new(
        opened.title.clone(),
        opened.text.clone(),
        opened.digest.to_string(),
    );
    job.parameters.clone_from(&opened.settings);
    let mut out = Bounded {
        bytes: Vec::new(),
        limit,
        full: false,
        cancel,
    };
    let mut unreadable = None;
    let mut open = |path: &str| -> io::Result<Box<dyn Read>> {
        opened
            .source
            .content(path)
            .inspect_err(|_| unreadable = Some(path.to_owned()))
    };
    let packed = pack::pack(&mut out, &job, &opened.named, &mut open);
    match packed {
        Ok(()) => Ok(out.bytes),
        Err(_) if out.full => Err(Failure::Option(
            "limit",
            format!(
                "the design and its files take more than {limit} bytes; allow more, or write a file by relief pack"
            ),
        )),
        Err(error) => {
            let what = unreadable.unwrap_or_else(|| opened.name.clone());
            Err(Failure::File(format!("cannot pack {}", visible(&what)), error))
        }
    }
}
