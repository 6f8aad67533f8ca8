//! `relief pack`: a design with all files that it names, in one file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use relief_atomic::{Cleanup, Opened};
use relief_engine::Cancel;
use relief_io::pack;

use crate::arguments::Reading;
use crate::design::Warnings;
use crate::failure::Failure;
use crate::{design, interrupt};

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The design file
    file: PathBuf,
    /// Where to write; every command reads the file in place of a design
    #[arg(long, short, value_name = "PATH")]
    output: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Pack) -> Result<(), Failure> {
    let opened = design::open(&arguments.file, &arguments.reading, Warnings::Counted)?;
    opened.spare_inputs("--output", &arguments.output)?;
    let mut job = pack::Job::new(
        opened.title.clone(),
        opened.text.clone(),
        opened.digest.to_string(),
    );
    job.parameters = opened
        .settings
        .iter()
        .map(|setting| (setting.name.clone(), setting.value.clone()))
        .collect();
    let cleanup = Cleanup::default();
    let _guard = interrupt::watch(&Cancel::new(), Some(cleanup.clone()));
    let failed = |source| Failure::File {
        action: "cannot write",
        path: arguments.output.display().to_string(),
        source,
    };
    let whole = |error: relief_atomic::Error| {
        let (reason, source) = error.into_parts();
        failed(source.unwrap_or_else(|| io::Error::other(reason)))
    };
    let write = |out: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        // What cannot be read is named; all else is of the output.
        let mut unreadable = None;
        let packed = pack::pack(&mut out, &job, &opened.named, &mut |path| {
            opened.files.reader(path).inspect_err(|error| {
                unreadable = Some((path.to_owned(), io::Error::new(error.kind(), error.to_string())));
            })
        });
        match (packed.and_then(|()| out.flush()), unreadable) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some((path, source))) => Err(Failure::File {
                action: "cannot read",
                path,
                source,
            }),
            (Err(source), None) => Err(failed(source)),
        }
    };
    match relief_atomic::open(&arguments.output, &cleanup).map_err(whole)? {
        Opened::Stream(mut file) => write(&mut file),
        Opened::Whole(file) => {
            write(&mut file.file())?;
            file.complete().map_err(whole)
        }
    }
}
