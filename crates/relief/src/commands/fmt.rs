//! `relief fmt`: lays designs out anew.

use std::io::{self, Write};
use std::path::Path;

use crate::arguments::Fmt;
use crate::design;
use crate::failure::Failure;
use crate::replace::replace;

pub(crate) fn run(fmt: &Fmt) -> Result<(), Failure> {
    let mut changed = None;
    for path in &fmt.files {
        let (name, text) = design::read(path)?;
        let formatted = relief_design::format(&name, &text).map_err(Box::new)?;
        if path == Path::new("-") && !fmt.check {
            io::stdout().write_all(formatted.as_bytes())?;
        } else if formatted != text {
            if fmt.check {
                writeln!(io::stdout(), "{}", relief_design::visible(&name))?;
                changed = changed.or(Some(name));
            } else {
                replace(path, &formatted).map_err(|source| Failure::File {
                    action: "cannot write",
                    path: name,
                    source,
                })?;
            }
        }
    }
    changed.map_or(Ok(()), |name| Err(Failure::Unformatted(name)))
}
