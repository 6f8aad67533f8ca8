//! Rows of values from a CSV file.

use crate::expression::is_name;
use crate::resolve::MAX_NODES;
use crate::syntax::quoted;

/// The longest file of rows, in bytes: 16 MiB.
pub const MAX_DATA: u64 = 16 << 20;

/// The most columns of a file of rows.
const MAX_COLUMNS: usize = 256;

/// The rows of a CSV file below its header, each with a cell for every column.
///
/// ```
/// let rows = relief_design::Rows::parse(b"serial,label\n7,\"a, b\"\n")?;
/// assert_eq!(rows.header(), ["serial", "label"]);
/// assert_eq!(rows.row(0).collect::<Vec<_>>(), [("serial", "7"), ("label", "a, b")]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Rows {
    header: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

impl Rows {
    /// The names of the columns.
    #[must_use]
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The number of rows below the header.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The cells of a row with the names of their columns, counted from 0; none beyond the last row.
    pub fn row(&self, index: usize) -> impl Iterator<Item = (&str, &str)> {
        let cells = self.rows.get(index).into_iter().flatten();
        self.header.iter().map(String::as_str).zip(cells)
    }

    /// Reads a CSV file in UTF-8: a header of names, then at most 65 536 rows of as many cells, separated by commas. A mark of
    /// the byte order is skipped, and so are spaces around cells.
    ///
    /// # Errors
    /// A sentence with the row, and the column where there is one.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let header = reader.headers().map_err(|error| problem(&error))?.clone();
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        if header.iter().all(String::is_empty) {
            return Err("it is empty; its first row names the columns".to_owned());
        }
        if header.len() > MAX_COLUMNS {
            return Err(format!(
                "it has {} columns, more than the {MAX_COLUMNS} allowed",
                header.len()
            ));
        }
        for (i, name) in header.iter().enumerate() {
            if !is_name(name) {
                let message = format!(
                    "column {} is called {}; names are letters, digits and _, not beginning with a digit",
                    i + 1,
                    quoted(name)
                );
                let other = header.len() == 1 && name.contains([';', '\t']);
                return Err(if other {
                    format!("{message}; cells are separated by commas")
                } else {
                    message
                });
            }
            if header[..i].contains(name) {
                return Err(format!("column {} is called {} as well", i + 1, quoted(name)));
            }
        }
        let mut rows = Vec::new();
        for (number, row) in reader.records().enumerate() {
            let row = row.map_err(|error| problem(&error))?;
            if rows.len() as u64 == MAX_NODES {
                return Err(format!("it has more than {MAX_NODES} rows"));
            }
            if row.len() != header.len() {
                let line = row.position().map_or(0, csv::Position::line);
                return Err(format!(
                    "row {} (line {line}) has {} cells, the header {}",
                    number + 1,
                    row.len(),
                    header.len()
                ));
            }
            rows.push(row);
        }
        Ok(Self { header, rows })
    }
}

/// What the reader of CSV says, in our words.
fn problem(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} is not UTF-8")
        }
        _ => format!("it is not CSV: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_header_and_rows_of_as_many_cells() {
        let table = Rows::parse(b"\xEF\xBB\xBFserial, label\r\n7,\"a, b\"\r\n8,c\n").unwrap();
        assert_eq!(table.header(), ["serial", "label"]);
        let rows: Vec<Vec<&str>> = table.rows.iter().map(|row| row.iter().collect()).collect();
        assert_eq!(rows, [["7", "a, b"], ["8", "c"]]);
        assert!(Rows::parse(b"serial\n").unwrap().rows.is_empty());
    }

    #[test]
    fn a_wrong_table_is_told_with_its_place() {
        for (text, says) in [
            (&b""[..], "empty"),
            (b"a,b\n1\n", "row 1 (line 2) has 1 cells, the header 2"),
            (b"a\n1\n2,3\n", "row 2 (line 3) has 2 cells"),
            (b"a,a\n", "column 2 is called \"a\" as well"),
            (b"a,2b\n", "column 2 is called \"2b\""),
            (b"a;b\n", "separated by commas"),
            (b"a\n\xFF\n", "line 2 is not UTF-8"),
        ] {
            let problem = Rows::parse(text).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
        let many = "a\n".to_owned() + &"1\n".repeat(65_537);
        assert!(
            Rows::parse(many.as_bytes())
                .unwrap_err()
                .contains("more than 65536 rows")
        );
        let wide = vec!["a"; 300].join(",");
        assert!(Rows::parse(wide.as_bytes()).unwrap_err().contains("300 columns"));
    }
}
