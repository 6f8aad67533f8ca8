//! `--only-changed`: the rows of a job in which a design can differ from the one that was executed before.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use relief_engine::differing;
use relief_raster::Rect;
use relief_scan::Halftone;

use crate::arguments::Reading;
use crate::commands::diff::same_pictures;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;

use super::scan::ScanArguments;

/// The most stripes that are sent: each is a job of its own.
const MOST_STRIPES: usize = 64;

/// The stripes of rows of the canvas of `file`, from edge to edge and from the top, in which it can differ from `before`; none where both
/// compute the same. Each begins at an even row, so that lines which alternate go as they did. Of more than [`MOST_STRIPES`] the nearest are
/// one, with what lies between them.
///
/// # Errors
/// Where lines of these rows alone would not be those of the whole job.
pub(super) fn stripes(
    file: &Path,
    before: &Path,
    reading: &Reading,
    lines: &ScanArguments,
    silent: bool,
) -> Result<Vec<Rect>, Failure> {
    let refused = |problem: String| {
        Err(Failure::Usage(format!(
            "--only-changed {}: {problem}",
            before.display()
        )))
    };
    let new = design::open(file, reading, Warnings::unless(silent))?;
    let old = design::open(before, reading, Warnings::Silent)?;
    let (one, other) = (new.design.canvas(), old.design.canvas());
    if (one.width, one.height, one.depth, one.pixel) != (other.width, other.height, other.depth, other.pixel)
    {
        return refused(format!(
            "the canvas has {} × {} pixels of {} there and {} × {} of {} here, so that all lines are others",
            other.width, other.height, other.depth, one.width, one.height, one.depth
        ));
    }
    if new.design.scan() != old.design.scan() || tables(&new)? != tables(&old)? {
        return refused(
            "its `scan` or a table of it is another one, so that all lines are others".to_owned(),
        );
    }
    let node = new.design.scan().cloned().unwrap_or_default();
    if !matches!(
        lines.over(&node.scan, new.design.canvas().pixel)?.halftone,
        None | Some(Halftone::Threshold { .. })
    ) {
        return refused(
            "a halftone begins anew with the rows that are sent, so that its dots would not fit those around them; \
             send the whole job"
                .to_owned(),
        );
    }
    let same = same_pictures(&new, &old)?;
    let rects = differing(&old.design, &new.design, &|name| same.contains(name))?;
    let rows = rects
        .iter()
        .map(|rect| (rect.y() - rect.y().rem_euclid(2), rect.bottom()))
        .collect();
    Ok(joined(rows, MOST_STRIPES)
        .into_iter()
        .filter_map(|(top, bottom)| Rect::new(0, top, one.width, bottom.abs_diff(top)))
        .collect())
}

/// Ranges that neither meet nor touch, in their order, at most so many: of more those with the fewest rows between them are one.
fn joined(mut rows: Vec<(i64, i64)>, most: usize) -> Vec<(i64, i64)> {
    rows.retain(|(top, bottom)| top < bottom);
    rows.sort_unstable();
    let mut all: Vec<(i64, i64)> = Vec::new();
    for (top, bottom) in rows {
        match all.last_mut() {
            Some(last) if top <= last.1 => last.1 = last.1.max(bottom),
            _ => all.push((top, bottom)),
        }
    }
    let mut gaps: Vec<(u64, usize)> = (all.windows(2).enumerate())
        .map(|(number, pair)| (pair[0].1.abs_diff(pair[1].0), number))
        .collect();
    gaps.sort_unstable();
    gaps.truncate(all.len().saturating_sub(most));
    let closed: HashSet<usize> = gaps.into_iter().map(|(_, number)| number).collect();
    let mut few: Vec<(i64, i64)> = Vec::new();
    for (number, rows) in all.into_iter().enumerate() {
        match few.last_mut() {
            Some(last) if number > 0 && closed.contains(&(number - 1)) => last.1 = rows.1,
            _ => few.push(rows),
        }
    }
    few
}

/// The digests of the tables that the scan of a design names.
fn tables(opened: &Opened) -> Result<Vec<blake3::Hash>, Failure> {
    let scan = opened.design.scan().into_iter();
    let named = scan.flat_map(|node| [&node.material, &node.machine]).flatten();
    named
        .map(|name| {
            opened.files.digest(name).map_err(|source| Failure::File {
                action: "cannot read",
                path: PathBuf::from(&**name).display().to_string(),
                source,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn stripes_that_touch_are_one_and_of_too_many_the_nearest() {
        assert_eq!(joined(vec![], 3), vec![]);
        assert_eq!(
            joined(vec![(8, 9), (2, 4), (4, 6), (2, 3), (5, 5)], 3),
            vec![(2, 6), (8, 9)]
        );
        let many: Vec<(i64, i64)> = [0, 10, 12, 30, 33].map(|top| (top, top + 1)).to_vec();
        assert_eq!(joined(many.clone(), 5), many);
        assert_eq!(joined(many.clone(), 3), vec![(0, 1), (10, 13), (30, 34)]);
        assert_eq!(joined(many, 1), vec![(0, 34)]);
    }
}
