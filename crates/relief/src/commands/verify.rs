//! `relief verify`: whether files hold what a manifest says was executed.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use relief_machine::{Manifest, verify};

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The manifest of the job
    manifest: PathBuf,
    /// What was executed; several files are read one after the other
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let program = super::stream::program_of(&manifest, &arguments.manifest)?;
    let verified = verify(&manifest, &program, &arguments.files)?;
    let state = if manifest.complete {
        "complete"
    } else {
        "not complete"
    };
    writeln!(
        io::stdout(),
        "{} of {} lines agree in {} bands; {} lines in the files; the job is {state}",
        verified.compared,
        manifest.lines,
        verified.bands,
        verified.lines
    )?;
    Ok(())
}
