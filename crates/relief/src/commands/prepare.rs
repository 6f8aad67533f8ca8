//! `relief prepare`: what must be known of whole sources, computed once for many jobs.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use relief_atomic::{Cleanup, Opened as Output};
use relief_engine::{Cancel, Prepared};
use relief_machine::PreparedTable;
use serde::{Deserialize, Serialize};

use crate::arguments::{Job, Watch};
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;
use crate::{interrupt, job};

/// The version of the file.
const FORMAT: u32 = 1;

/// The longest file that is read, in bytes: of 16 bits a table takes a quarter of a mebibyte.
const MAX_FILE: u64 = 256 << 20;

#[derive(Debug, Args)]
pub(crate) struct Prepare {
    #[command(flatten)]
    job: Job,
    /// Where to write; other commands take it by --prepared
    #[arg(long, short, value_name = "PATH")]
    output: PathBuf,
    #[command(flatten)]
    watch: Watch,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    /// The name of the design with its values and pictures.
    design: String,
    tables: Vec<PreparedTable>,
}

pub(crate) fn run(arguments: &Prepare) -> Result<(), Failure> {
    let opened = design::open(
        &arguments.job.file,
        &arguments.job.reading(),
        Warnings::unless(arguments.watch.is_silent()),
    )?;
    opened.spare_inputs("--output", &arguments.output)?;
    let name = job::name(&opened)?;
    let plan = job::plan(&opened, &arguments.job, 0)?;
    let (cancel, cleanup) = (Cancel::new(), Cleanup::default());
    let guard = interrupt::watch(&cancel, Some(cleanup.clone()));
    let renderer = job::renderer(&opened, plan, None, &arguments.watch, &cancel)?;
    let stored = Stored {
        format: FORMAT,
        design: name.to_string(),
        tables: PreparedTable::all_of(&renderer.prepared()),
    };
    let failed = |source| Failure::File {
        action: "cannot write",
        path: arguments.output.display().to_string(),
        source,
    };
    let whole = |error: relief_atomic::Error| {
        let (reason, source) = error.into_parts();
        failed(source.unwrap_or_else(|| io::Error::other(reason)))
    };
    let mut text = serde_json::to_vec_pretty(&stored).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    match relief_atomic::open(&arguments.output, &cleanup).map_err(whole)? {
        Output::Stream(mut file) => file.write_all(&text).map_err(failed)?,
        Output::Whole(file) => {
            file.file().write_all(&text).map_err(failed)?;
            file.complete().map_err(whole)?;
        }
    }
    drop(guard);
    if stored.tables.is_empty() && !arguments.watch.is_silent() {
        writeln!(
            io::stderr(),
            "nothing of this design follows from a whole source: --prepared brings nothing"
        )?;
    }
    Ok(())
}

/// What a file says of the whole sources of this design.
///
/// # Errors
/// Where it cannot be read, or is that of another design.
pub(crate) fn read(path: &Path, opened: &Opened) -> Result<Prepared, Failure> {
    let failed = |source| Failure::File {
        action: "cannot read",
        path: path.display().to_string(),
        source,
    };
    let wrong = |what: String| failed(io::Error::new(io::ErrorKind::InvalidData, what));
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| failed(design::missing(path, error)))?;
    file.take(MAX_FILE + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE {
        return Err(wrong(format!(
            "it is longer than {MAX_FILE} bytes, which no file of 'relief prepare' is"
        )));
    }
    let stored: Stored = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("it is not what 'relief prepare' writes: {error}")))?;
    if stored.format != FORMAT {
        return Err(wrong(format!(
            "its format is {}, and this program reads {FORMAT}",
            stored.format
        )));
    }
    if stored.design != job::name(opened)?.to_string() {
        return Err(wrong(
            "it was prepared for another design, other values or other pictures; run 'relief prepare' again"
                .to_owned(),
        ));
    }
    PreparedTable::prepared(&stored.tables)
        .ok_or_else(|| wrong("a table in it is not four hexadecimal digits a sample".to_owned()))
}
