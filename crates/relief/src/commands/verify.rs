//! `relief verify`: whether files hold what a manifest says was executed.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use relief_machine::{Manifest, verify};

use crate::arguments::Reading;
use crate::failure::Failure;
use crate::quantity::counted;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The manifest of the job
    manifest: PathBuf,
    /// What was executed; several files are read one after the other
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Take a job that is not complete, too: compare the lines whose digests the manifest has
    #[arg(long)]
    incomplete: bool,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let program = super::stream::program_of(&manifest, &arguments.manifest, &arguments.reading)?;
    let verified = verify(&manifest, &program, &arguments.files)?;
    let state = if manifest.complete {
        "complete"
    } else {
        "not complete"
    };
    writeln!(
        io::stdout(),
        "{} of {} {} in {}; {} in the files; the job is {state}",
        verified.compared,
        counted(manifest.lines, "line"),
        if manifest.lines == 1 { "agrees" } else { "agree" },
        counted(verified.bands, "band"),
        counted(verified.lines, "line")
    )?;
    // What was not compared may be anything.
    if verified.compared == manifest.lines || (arguments.incomplete && verified.compared > 0) {
        return Ok(());
    }
    let left = manifest.lines - verified.compared;
    let more = if arguments.incomplete {
        "the manifest has no digest yet"
    } else {
        "relief stream --resume takes the job to its end; --incomplete accepts what agrees so far"
    };
    Err(Failure::Unverified(format!(
        "{left} of {} lines could not be compared: the job is {state}; {more}",
        manifest.lines
    )))
}
