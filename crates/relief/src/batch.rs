//! Many jobs of one design: a row of a CSV file for each.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use relief_design::{MAX_DATA, Rows, Setting};
use relief_io::read_bounded;

use crate::arguments::{Each, Reading};
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;

/// The rows of a file, each of which gives values to parameters.
pub(crate) struct Batch {
    file: PathBuf,
    rows: Rows,
}

impl Batch {
    /// The jobs of this design that were asked for, where it is to have many.
    pub(crate) fn of(each: &Each, design: &Path) -> Result<Option<Self>, Failure> {
        let Some(file) = each.each.clone() else {
            return Ok(None);
        };
        let stdin = Path::new("-");
        if design == stdin {
            return Err(Failure::Usage(
                "a design from the standard input is read once, and --each needs it for every row; give its file"
                    .to_owned(),
            ));
        }
        let read = if file == stdin {
            // One byte more than rows may have lets them be refused.
            let mut bytes = Vec::new();
            let read = io::stdin().take(MAX_DATA + 1).read_to_end(&mut bytes);
            read.map(|_| bytes)
        } else {
            read_bounded(&file, MAX_DATA)
        };
        let file = if file == stdin { "<stdin>".into() } else { file };
        let bytes = read.map_err(|error| Failure::File {
            action: "cannot read",
            path: file.display().to_string(),
            source: design::missing(&file, error),
        })?;
        let wrong = |why: &str| Failure::Usage(format!("--each {}: {why}", file.display()));
        if bytes.len() as u64 > MAX_DATA {
            return Err(wrong(&format!("it has more than {MAX_DATA} bytes")));
        }
        let rows = Rows::parse(&bytes).map_err(|why| wrong(&why))?;
        if rows.is_empty() {
            return Err(wrong("it has no row below its header, and so no job"));
        }
        Ok(Some(Self { file, rows }))
    }

    /// The numbers of its rows.
    pub(crate) fn jobs(&self) -> std::ops::Range<usize> {
        0..self.rows.len()
    }

    /// What messages call a row.
    pub(crate) fn place(&self, row: usize) -> String {
        format!("row {} of {}", row + 1, self.file.display())
    }

    /// The values of a row: `serial=7 label=a`.
    pub(crate) fn values(&self, row: usize) -> String {
        let values: Vec<String> = self
            .rows
            .row(row)
            .map(|(name, cell)| format!("{name}={cell}"))
            .collect();
        values.join(" ")
    }

    /// How the design is read for a row: with its values, before which those of `--set` stand.
    pub(crate) fn reading(&self, row: usize, reading: &Reading) -> Reading {
        let mut settings = reading.settings.clone();
        settings.extend(self.rows.row(row).map(|(name, cell)| Setting {
            name: name.to_owned(),
            value: cell.to_owned(),
            origin: self.place(row),
        }));
        Reading {
            settings,
            ..reading.clone()
        }
    }

    /// The design for a row.
    pub(crate) fn open(
        &self,
        row: usize,
        file: &Path,
        reading: &Reading,
        tell: Warnings,
    ) -> Result<Opened, Failure> {
        // What is doubtful in one row is so in most of them.
        let tell = if row > 0 { Warnings::Silent } else { tell };
        design::open(file, &self.reading(row, reading), tell).map_err(|failure| failure.of(self.place(row)))
    }

    /// The names that a template has for all rows, which are all different.
    pub(crate) fn names(&self, option: &str, template: &str) -> Result<Vec<String>, Failure> {
        let names: Vec<String> = self
            .jobs()
            .map(|row| self.name(option, template, row))
            .collect::<Result<_, _>>()?;
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (row, name) in names.iter().enumerate() {
            if let Some(other) = first.insert(name, row) {
                let columns: Vec<String> = self
                    .rows
                    .header()
                    .iter()
                    .map(|name| format!("{{{name}}}"))
                    .collect();
                return Err(Failure::Usage(format!(
                    "{option} {template}: rows {} and {} of {} would both be written to {name}; name it by columns \
                     that differ: {}",
                    other + 1,
                    row + 1,
                    self.file.display(),
                    columns.join(", ")
                )));
            }
        }
        Ok(names)
    }

    /// A template with the cells of a row in the places of their columns.
    pub(crate) fn name(&self, option: &str, template: &str, row: usize) -> Result<String, Failure> {
        let wrong = |why: String| Failure::Usage(format!("{option} {template}: {why}"));
        let mut name = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            name.push_str(&rest[..at]);
            let (mark, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(mark) {
                name.push_str(mark);
                rest = after;
                continue;
            }
            let column = after.split_once('}').filter(|_| mark == "{");
            let Some((column, after)) = column else {
                return Err(wrong(
                    "a brace stands alone; {{ and }} are braces themselves".to_owned(),
                ));
            };
            let Some((_, cell)) = self.rows.row(row).find(|(name, _)| *name == column) else {
                return Err(wrong(format!(
                    "{} has no column {column}; its columns are {}",
                    self.file.display(),
                    self.rows.header().join(", ")
                )));
            };
            // A cell is a part of a name, and no way to another folder.
            if cell.is_empty() || cell.contains(['/', '\\', '\0']) || cell.starts_with('.') {
                return Err(wrong(format!(
                    "the cell {cell:?} in column {column} of row {} is not a part of a file's name",
                    row + 1
                )));
            }
            name.push_str(cell);
            rest = after;
        }
        name.push_str(rest);
        Ok(name)
    }
}
