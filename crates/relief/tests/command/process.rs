//! Running the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a process ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// What it wrote, having said nothing else.
    #[track_caller]
    pub(crate) fn done(self) -> Vec<u8> {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""));
        self.out
    }

    /// What it wrote where it ended with this code, having said nothing else.
    #[track_caller]
    pub(crate) fn text_of(&self, code: i32) -> &str {
        assert_eq!((self.code, self.err.as_str()), (Some(code), ""));
        self.text()
    }

    #[track_caller]
    pub(crate) fn failed(&self, code: i32, says: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        // Long lines are wrapped, with a bar before what follows.
        let words: Vec<&str> = self.err.split_whitespace().filter(|word| *word != "│").collect();
        assert!(
            self.err.contains(says) || words.join(" ").contains(says),
            "{says:?} is not in {}",
            self.err
        );
    }
}

/// The binary, in the folder of examples.
pub(crate) fn relief(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relief"));
    command
        .args(arguments)
        .current_dir(examples())
        .env_remove("RELIEF_LOG")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(arguments: &[&str]) -> Ended {
    ended(relief(arguments))
}

pub(crate) fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The binary with this text on its standard input.
pub(crate) fn run_with(arguments: &[&str], input: &str) -> Ended {
    let mut child = relief(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments need not read what it is given.
    let given = child.stdin.take().unwrap().write_all(input.as_bytes());
    assert!(given.is_ok() || given.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe));
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A design in a folder of its own.
pub(crate) fn written(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("design.kdl");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The names in a folder, hidden ones too.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
