//! The lines of code that make a variant what it is.
//!
//! Sources mark them. A comment `// rung: copy on gpu: none scalar | none pair` stands before the first line and `// end` after
//! the last: these are the lines of two variants of the ladder `copy` on devices. A path such as `map/gray` or `map` is a ladder or
//! all of a family; of several that fit, the longest counts. Several places with the same path and names make one text. Where a
//! variant has no lines of its own, the comment says why, and no `// end` follows:
//! `// rung: matmul on cpu: crate gemm = another program's code`.

use std::path::{Path, PathBuf};

/// The folders of a checkout's `crates` that have marked lines.
const FOLDERS: [&str; 3] = [
    "relief-lab/src/families",
    "relief-kernels/src",
    "relief-numeric/src",
];

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// What a mark that is none should have been.
const EXPECTED: &str =
    "expected 'LADDER on gpu: NAME | NAME' or '… on cpu: …', with ' = WHY' where there are no lines";

/// The most lines that a rung has: more is no longer what changed.
pub const MAX_LINES: usize = 30;

/// The marked lines of some sources.
#[derive(Clone, Debug, Default)]
pub struct Rungs {
    marks: Vec<Rung>,
}

/// The lines of some variants, or why they have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// The ladder or the family.
    pub path: String,
    /// Whether the variants run on devices.
    pub gpu: bool,
    /// The variants.
    pub names: Vec<String>,
    /// What is to be seen.
    pub code: Code,
}

/// What is to be seen of a variant's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Lines, and the file they stand in, from the folder of the sources on.
    Lines {
        /// The file.
        file: String,
        /// Its lines, without the indentation that all of them share.
        text: String,
    },
    /// Why it has no lines of its own.
    None(String),
}

/// Why marks cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RungError {
    /// A file or a folder cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A mark is not written as it has to be.
    #[error("{path}, line {line}: {reason}")]
    Mark {
        /// The file.
        path: String,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl Rungs {
    /// The marks below `crates`, the folder of that name in a checkout.
    ///
    /// # Errors
    /// Where a file cannot be read, and where a mark has no end or is not of the form that the module says.
    pub fn read(crates: &Path) -> Result<Self, RungError> {
        let mut files = Vec::new();
        for folder in FOLDERS {
            sources(&crates.join(folder), &mut files)?;
        }
        files.sort();
        let mut rungs = Self::default();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(|source| file(&path, source))?;
            let name = path.strip_prefix(crates).unwrap_or(&path);
            rungs.add(&name.display().to_string().replace('\\', "/"), &text)?;
        }
        Ok(rungs)
    }

    /// Adds the marks of one file.
    ///
    /// # Errors
    /// [`RungError::Mark`].
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), RungError> {
        let wrong = |line: usize, reason: &str| RungError::Mark {
            path: file.to_owned(),
            line: line + 1,
            reason: reason.to_owned(),
        };
        let mut open: Option<(usize, Rung, Vec<&str>)> = None;
        for (number, line) in text.lines().enumerate() {
            let mark = line.trim().strip_prefix("// rung: ");
            match (mark, &mut open) {
                (Some(_), Some((begun, ..))) => {
                    return Err(wrong(*begun, "this rung has no '// end' before the next begins"));
                }
                (Some(mark), None) => {
                    let rung = parsed(mark).ok_or_else(|| wrong(number, EXPECTED))?;
                    match rung.code {
                        Code::None(_) => self.marks.push(rung),
                        Code::Lines { .. } => open = Some((number, rung, Vec::new())),
                    }
                }
                (None, Some((begun, rung, lines))) if line.trim() == "// end" => {
                    if lines.iter().all(|line| line.trim().is_empty()) {
                        return Err(wrong(*begun, "this rung has no lines"));
                    }
                    rung.code = Code::Lines {
                        file: file.to_owned(),
                        text: aligned(lines),
                    };
                    self.merge(rung.clone());
                    open = None;
                }
                (None, Some((.., lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        match open {
            Some((begun, ..)) => Err(wrong(begun, "this rung has no '// end'")),
            None => Ok(()),
        }
    }

    /// Lines of a rung that has some already follow these.
    fn merge(&mut self, rung: Rung) {
        let key = |rung: &Rung| (rung.path.clone(), rung.gpu, rung.names.clone());
        let same = self.marks.iter_mut().find(|known| key(known) == key(&rung));
        match (same.map(|known| &mut known.code), &rung.code) {
            (Some(Code::Lines { text, .. }), Code::Lines { text: more, .. }) => {
                text.push_str("\n// …\n");
                text.push_str(more);
            }
            _ => self.marks.push(rung),
        }
    }

    /// The rung of a variant of a ladder, if it is marked.
    #[must_use]
    pub fn find(&self, ladder: &str, gpu: bool, variant: &str) -> Option<&Rung> {
        let fits = |rung: &&Rung| {
            rung.gpu == gpu
                && rung.names.iter().any(|name| name == variant)
                && ladder
                    .strip_prefix(&rung.path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.marks.iter().filter(fits).max_by_key(|rung| rung.path.len())
    }

    /// All of them, file by file.
    #[must_use]
    pub fn all(&self) -> &[Rung] {
        &self.marks
    }
}

/// `LADDER on gpu: NAME | NAME` and what follows it.
fn parsed(mark: &str) -> Option<Rung> {
    let (mark, why) = match mark.split_once(" = ") {
        Some((mark, why)) => (mark, Some(why.trim())),
        None => (mark, None),
    };
    let (whose, names) = mark.split_once(": ")?;
    let (path, device) = whose.split_once(" on ")?;
    let gpu = match device {
        "gpu" => true,
        "cpu" => false,
        _ => return None,
    };
    let names: Vec<String> = names.split('|').map(|name| name.trim().to_owned()).collect();
    if path.is_empty() || names.iter().any(String::is_empty) || why.is_some_and(str::is_empty) {
        return None;
    }
    let code = match why {
        Some(why) => Code::None(why.to_owned()),
        None => Code::Lines {
            file: String::new(),
            text: String::new(),
        },
    };
    Some(Rung {
        path: path.to_owned(),
        gpu,
        names,
        code,
    })
}

/// Lines without the indentation that all of them share.
fn aligned(lines: &[&str]) -> String {
    let indent = |line: &&&str| line.len() - line.trim_start_matches(' ').len();
    let blank = |line: &&&str| line.trim().is_empty();
    let least = lines
        .iter()
        .filter(|line| !blank(line))
        .map(|line| indent(&line))
        .min();
    let cut = |line: &&'_ str| {
        line.get(least.unwrap_or(0)..)
            .map_or("", str::trim_end)
            .to_owned()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// The source files below a folder. Links are not followed.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), RungError> {
    let failed = |source| file(folder, source);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if kind.is_dir() {
            sources(&path, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "rs") {
            let length = entry.metadata().map_err(failed)?.len();
            if length > MAX_FILE {
                let long = format!("it has {length} bytes, more than the {MAX_FILE} of any source");
                return Err(file(&path, std::io::Error::other(long)));
            }
            files.push(path);
        }
    }
    Ok(())
}

fn file(path: &Path, source: std::io::Error) -> RungError {
    RungError::File {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn a() {\n    // rung: copy on gpu: none | all, but\n    if place < count {\n        to = from;\n    }\n    // end\n}\n\
                          // rung: copy/words on gpu: none\nfour();\n// end\n\
                          // rung: copy on cpu: gemm = another program's\n\
                          // rung: copy on gpu: none | all, but\nlast();\n// end\n";

    fn read(text: &str) -> Result<Rungs, RungError> {
        let mut rungs = Rungs::default();
        rungs.add("a.rs", text).map(|()| rungs)
    }

    #[test]
    fn marked_lines_are_found_by_ladder_device_and_name() {
        let rungs = read(SOURCE).unwrap();
        let text =
            |ladder: &str, gpu, name: &str| rungs.find(ladder, gpu, name).map(|rung| rung.code.clone());
        let lines = |text: &str| {
            Some(Code::Lines {
                file: "a.rs".to_owned(),
                text: text.to_owned(),
            })
        };
        let two = lines("if place < count {\n    to = from;\n}\n// …\nlast();");
        assert_eq!(text("copy", true, "none"), two);
        assert_eq!(text("copy/bytes", true, "all, but"), two);
        assert_eq!(
            text("copy/words", true, "none"),
            lines("four();"),
            "the longest path counts"
        );
        assert_eq!(text("copying", true, "none"), None, "another family");
        assert_eq!(text("copy", false, "none"), None, "another device");
        let why = Some(Code::None("another program's".to_owned()));
        assert_eq!(text("copy", false, "gemm"), why);
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_told_by_its_line() {
        for (text, line) in [
            ("\n// rung: copy on gpu: a\nb\n", 2),
            ("// rung: copy on gpu: a\nb\n// rung: copy on gpu: c\n// end\n", 1),
            ("// rung: copy on gpu: a\n\n// end\n", 1),
            ("// rung: copy: a\n", 1),
            ("// rung: copy on tpu: a\n", 1),
            ("// rung: copy on gpu: a |\n", 1),
            ("// rung:  on gpu: a\n", 1),
            ("a\n// rung: copy on cpu: a = \n", 2),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(&format!("a.rs, line {line}: ")), "{text}: {error}");
        }
    }
}
