//! Tells the program which revision of the sources it was built from, for the records of the lab: `RELIEF_REVISION` where it is set, else what git's own files say. It
//! runs no program, so that nobody needs git to build; where there is neither, nothing is told.
//!
//! Git's files say nothing of changes that are not committed.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-env-changed=RELIEF_REVISION");
    let told = env::var("RELIEF_REVISION").ok().filter(|told| !told.is_empty());
    if let Some(revision) = told.or_else(of_git) {
        println!("cargo::rustc-env=RELIEF_BUILT_REVISION={revision}");
    }
}

/// The commit that is checked out, its first 12 digits.
fn of_git() -> Option<String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("../..");
    let mut git = root.join(".git");
    // A work tree beside the first has a file that says where.
    if git.is_file() {
        let text = fs::read_to_string(&git).ok()?;
        git = root.join(text.strip_prefix("gitdir:")?.trim());
    }
    let shared = match fs::read_to_string(git.join("commondir")) {
        Ok(text) => git.join(text.trim()),
        Err(_) => git.clone(),
    };
    // A commit moves the branch, whose file may be a new one; the log of the head tells of all.
    let _ = read(&git.join("logs/HEAD"));
    let head = read(&git.join("HEAD"))?;
    let commit = match head.trim().strip_prefix("ref: ") {
        Some(name) => match read(&shared.join(name)) {
            Some(commit) => commit,
            None => packed(&read(&shared.join("packed-refs"))?, name)?,
        },
        None => head,
    };
    let digits: String = commit.trim().chars().take(12).collect();
    let whole = digits.len() == 12 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    whole.then_some(digits)
}

/// A file, whose changes run this again; cargo takes one that is not there for changed always, so only those that are.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}

/// The commit of a branch that git has packed with others: lines of a commit and a name.
fn packed(all: &str, name: &str) -> Option<String> {
    let mut lines = all.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(_, known)| *known == name)
        .map(|(commit, _)| commit.to_owned())
}
