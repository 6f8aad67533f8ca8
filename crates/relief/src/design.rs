//! Reading a design file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use relief_design::Design;
use relief_io::Files;

use crate::failure::Failure;

/// A design with where its pictures are.
pub(crate) struct Opened {
    /// What the file is called in messages.
    pub(crate) name: String,
    pub(crate) design: Design,
    pub(crate) files: Files,
    /// The BLAKE3 of its text.
    pub(crate) digest: blake3::Hash,
}

/// Reads and checks a design; '-' is the standard input, whose pictures lie in the working folder.
pub(crate) fn open(path: &Path) -> Result<Opened, Failure> {
    let (name, text) = read(path)?;
    let base = match path.parent() {
        _ if path == Path::new("-") => PathBuf::from("."),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let files = Files::new(base);
    let design = relief_design::parse(&name, &text, &files).map_err(Box::new)?;
    let digest = blake3::hash(text.as_bytes());
    Ok(Opened {
        name,
        design,
        files,
        digest,
    })
}

/// The name and the text of a design file. No more is read than a design may have.
pub(crate) fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = if path == Path::new("-") {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    };
    let failed = |source| Failure::File {
        action: "cannot read",
        path: name.clone(),
        source,
    };
    let mut bytes = Vec::new();
    // One byte more than a design may have lets the parser say that it is too long.
    let most = relief_design::MAX_TEXT as u64 + 1;
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    input.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        failed(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("byte {at} is not UTF-8; a design is UTF-8 text"),
        ))
    })?;
    Ok((name, text))
}
