//! `relief fmt`: lays designs out anew.

use std::io::{self, Write};
use std::path::Path;

use relief_io::pack::Pack;

use crate::arguments::Fmt;
use crate::design;
use crate::failure::Failure;
use crate::replace::replace;

pub(crate) fn run(fmt: &Fmt) -> Result<(), Failure> {
    if fmt.json {
        let [path] = fmt.files.as_slice() else {
            return Err(Failure::Usage(
                "--json prints one design; name one file".to_owned(),
            ));
        };
        let design::Source { name, text, .. } = design::source(path)?;
        let json = relief_design::to_json(&name, &text).map_err(Box::new)?;
        writeln!(io::stdout(), "{json:#}")?;
        return Ok(());
    }
    let mut changed = None;
    for path in &fmt.files {
        if Pack::is_at(path) {
            return Err(Failure::Usage(format!(
                "{} is a packed job; lay out the design that it was made of",
                path.display()
            )));
        }
        if path.extension().is_some_and(|extension| extension == "json") {
            return Err(Failure::Usage(format!(
                "{} is a design in JSON, which has no layout of its own",
                path.display()
            )));
        }
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
