//! `convolve`: weighted sums.

use super::edge::{EDGE, SOURCE};
use super::{Edge, NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::{Span, shortened};
use crate::tree::Axis;
use crate::validate::Rules;

/// The most columns and rows of a kernel.
const MAX_SIDE: usize = 15;

/// The greatest weight.
const MAX_WEIGHT: i32 = 32_767;

/// The greatest divisor.
const MAX_DIVISOR: u32 = 1 << 30;

/// The greatest offset.
const MAX_OFFSET: i32 = 65_535;

/// ⌊S / D + offset + ½⌋, taken to 0…M, of S = Σ w(i, j)·v(x + i, y + j) of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolve {
    /// The weights, row by row from the upper left, −32 767…32 767 each.
    pub weights: Vec<i32>,
    /// Columns of the kernel. Columns and rows are odd, and at most 15.
    pub columns: usize,
    /// D, 1…2^30.
    pub divisor: u32,
    /// What is added, −65 535…65 535.
    pub offset: i32,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for Convolve {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "convolve",
        meaning: "Sums of the source around the pixel, weighted by a kernel of whole numbers: ⌊S / D + offset + ½⌋, taken to 0…M, \
                  of S = Σ w(i, j)·v(x + i, y + j). The kernel lies over the samples as it is written: its upper left weight \
                  counts for the sample up and to the left. Within this node's extent the source is 0 where it is not; \
                  beyond it, what `edge` says.",
        arguments: &[required(
            "kernel",
            ValueType::Text,
            "the weights, each −32767 to 32767, with spaces between them and `;` between rows; columns and rows are odd, at most 15 each",
        )],
        properties: &[
            optional(
                "divisor",
                ValueType::Count {
                    least: 1,
                    greatest: MAX_DIVISOR as i64,
                },
                DefaultValue::Absent("the sum of all weights, or 1 where that is not above 0"),
                "D: what the sum is divided by",
            ),
            optional(
                "offset",
                ValueType::Count {
                    least: -(MAX_OFFSET as i64),
                    greatest: MAX_OFFSET as i64,
                },
                DefaultValue::Number(0),
                "what is added to the quotient",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "convolve \"-2 -1 0; -1 1 1; 0 1 2\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let (text, span) = source.values.text("kernel")?;
        let (weights, columns) = match kernel(text) {
            Ok(kernel) => kernel,
            Err(wrong) => {
                checker.note(wrong.problem(span));
                return None;
            }
        };
        let divisor = match source.values.choice("divisor") {
            Some(divisor) => u32::try_from(divisor).ok()?,
            None => {
                let sum: i64 = weights.iter().copied().map(i64::from).sum();
                u32::try_from(sum).unwrap_or(1).max(1)
            }
        };
        Some(Self {
            weights,
            columns,
            divisor,
            offset: i32::try_from(source.values.choice("offset")?).ok()?,
            edge: Edge::of(source)?,
        })
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let rows = self.weights.len() / self.columns.max(1);
        let across = match seam.axis {
            Axis::X => self.columns,
            Axis::Y => rows,
        };
        seam.filter((across / 2) as u32, self.edge);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        let rows = self.weights.len().checked_div(self.columns).unwrap_or(0);
        let is_side = |side: usize| side % 2 == 1 && side <= MAX_SIDE;
        if !is_side(self.columns) || !is_side(rows) || rows * self.columns != self.weights.len() {
            return Err(format!(
                "its {} weights in rows of {} are no kernel of odd sides up to {MAX_SIDE}",
                self.weights.len(),
                self.columns
            ));
        }
        let beyond = |weight: &&i32| weight.unsigned_abs() > MAX_WEIGHT.unsigned_abs();
        if let Some(weight) = self.weights.iter().find(beyond) {
            return Err(format!(
                "its weight {weight} is not −{MAX_WEIGHT} to {MAX_WEIGHT}"
            ));
        }
        if !(1..=MAX_DIVISOR).contains(&self.divisor) {
            return Err(format!(
                "its divisor, {}, is not 1 to {MAX_DIVISOR}",
                self.divisor
            ));
        }
        if self.offset.unsigned_abs() > MAX_OFFSET.unsigned_abs() {
            return Err(format!(
                "its offset, {}, is not −{MAX_OFFSET} to {MAX_OFFSET}",
                self.offset
            ));
        }
        Ok(())
    }
}

/// What is wrong with the text of a kernel.
#[derive(Debug, PartialEq)]
enum Wrong {
    /// It has so many columns, or rows.
    Side(&'static str, usize),
    /// Row `row`, from 1, has other columns than the first.
    Row {
        row: usize,
        columns: usize,
        first: usize,
    },
    /// This is no weight.
    Weight(String),
}

impl Wrong {
    fn problem(self, span: Span) -> Problem {
        let (message, help) = match self {
            Self::Side(what, count) => (
                format!("a kernel of {count} {what}; there are an odd number of them, at most {MAX_SIDE}"),
                format!("write 1, 3, 5 … {MAX_SIDE} {what}: weights of 0 fill what is missing"),
            ),
            Self::Row { row, columns, first } => (
                format!("row {row} of this kernel has {columns} weights, the first has {first}"),
                "rows are parted by `;` and have the same number of weights each".to_owned(),
            ),
            Self::Weight(weight) => (
                format!("`{weight}` is not a weight"),
                format!("weights are whole numbers, −{MAX_WEIGHT} to {MAX_WEIGHT}, with spaces between them"),
            ),
        };
        Problem::new("E402", message)
            .label(span, "this kernel")
            .help(help)
    }
}

/// The weights of a kernel, row by row, and its columns.
fn kernel(text: &str) -> Result<(Vec<i32>, usize), Wrong> {
    let (mut weights, mut columns, mut rows) = (Vec::new(), 0, 0);
    for row in text.split(';') {
        let before = weights.len();
        for word in row.split_whitespace() {
            let weight = word
                .parse()
                .ok()
                .filter(|weight: &i32| weight.unsigned_abs() <= MAX_WEIGHT.unsigned_abs());
            weights.push(weight.ok_or_else(|| Wrong::Weight(shortened(word).to_string()))?);
        }
        let found = weights.len() - before;
        rows += 1;
        if rows == 1 {
            columns = found;
        }
        if found != columns {
            return Err(Wrong::Row {
                row: rows,
                columns: found,
                first: columns,
            });
        }
    }
    for (what, side) in [("columns", columns), ("rows", rows)] {
        if side % 2 == 0 || side > MAX_SIDE {
            return Err(Wrong::Side(what, side));
        }
    }
    Ok((weights, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_rows_of_weights() {
        assert_eq!(kernel("5"), Ok((vec![5], 1)));
        assert_eq!(
            kernel(" 1 2\t1 ;2  4 2;\n1 2 1"),
            Ok((vec![1, 2, 1, 2, 4, 2, 1, 2, 1], 3))
        );
        assert_eq!(kernel("-1; +0; 32767"), Ok((vec![-1, 0, 32_767], 1)));
        assert_eq!(kernel(""), Err(Wrong::Side("columns", 0)));
        assert_eq!(kernel("1 2"), Err(Wrong::Side("columns", 2)));
        assert_eq!(kernel("1;2"), Err(Wrong::Side("rows", 2)));
        assert_eq!(kernel(&"1 ".repeat(17)), Err(Wrong::Side("columns", 17)));
        let row = |row, columns, first| Err(Wrong::Row { row, columns, first });
        assert_eq!(kernel("1 2 1;"), row(2, 0, 3));
        assert_eq!(kernel("1;;1"), row(2, 0, 1));
        assert_eq!(kernel("1 2 1; 1 2 1; 1 2"), row(3, 2, 3));
        for word in ["1.5", "1,2", "32768", "-32768", "99999999999", "a", "−1"] {
            assert_eq!(
                kernel(&format!("1 {word} 1")),
                Err(Wrong::Weight(word.to_owned()))
            );
        }
    }
}
