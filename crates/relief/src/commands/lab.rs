//! `relief lab`: hands over to the program `relief-lab`, which is built and installed apart.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{env, io};

use clap::Args;

use crate::failure::Failure;

const PROGRAM: &str = "relief-lab";

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Lab {
    /// What relief-lab takes; 'relief lab --help' lists it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs `relief-lab` with the same arguments, and ends as it ends.
pub(crate) fn run(lab: &Lab) -> Result<ExitCode, Failure> {
    let program = beside().unwrap_or_else(|| PROGRAM.into());
    let status = Command::new(&program).args(&lab.arguments).status();
    match status {
        // A signal leaves no code; 1 says that the command failed.
        Ok(status) => Ok(ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        )),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Err(Failure::NoLab),
        Err(source) => Err(Failure::File {
            action: "cannot run",
            path: program.display().to_string(),
            source,
        }),
    }
}

/// The program of the lab in the folder of this one, where both were installed or built together.
fn beside() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let path = env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}
