//! `--only-changed`: the rows of a job in which a design can differ from the one that was executed before.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use relief_engine::{Raster, differing};
use relief_machine::Error;
use relief_raster::Rect;
use relief_scan::{Halftone, Program};

use crate::arguments::Reading;
use crate::commands::diff::same_pictures;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;

use super::inputs;
use super::scan::ScanArguments;

/// The most stripes that are sent: each is a job of its own.
const MOST_STRIPES: usize = 64;

/// The stripes of rows of the canvas of `file`, from edge to edge and from the top, in which it can differ from `before`; none where both
/// compute the same. They are so long that lines which alternate go as they did, and swaths begin where they did. Of more than [`MOST_STRIPES`] the nearest are
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
    let scan = lines.over(&node.scan, one.pixel)?;
    if !matches!(scan.halftone, None | Some(Halftone::Threshold { .. })) {
        return refused(
            "a halftone begins anew with the rows that are sent, so that its dots would not fit those around them; \
             send the whole job"
                .to_owned(),
        );
    }
    let same = same_pictures(&new, &old)?;
    let rects = differing(&old.design, &new.design, &|name| same.contains(name))?;
    let tables = inputs::tables(&new, &node)?;
    let program = |height: u64| {
        let raster = Raster::new(one.width, height, one.depth).with_pixel(one.pixel);
        Program::new(&scan, &tables, &raster).map_err(Error::from)
    };
    let whole = program(one.height)?;
    // From one swath to the next, of which every other may go backwards.
    let step = scan.swath.map_or(1, |swath| {
        u64::from(swath.lines.saturating_sub(swath.overlap).max(1))
    });
    let rows = rects
        .iter()
        .map(|rect| aligned((rect.y(), rect.bottom()), one.height, 2 * step))
        .collect();
    let stripes: Vec<Rect> = joined(rows, MOST_STRIPES)
        .into_iter()
        .filter_map(|(top, bottom)| Rect::new(0, top, one.width, bottom.abs_diff(top)))
        .collect();
    for rows in &stripes {
        let part = program(rows.height())?;
        let (above, below) = (rows.y().unsigned_abs(), one.height - rows.bottom().unsigned_abs());
        if scan.stripe.is_some()
            || !goes_on(&whole, &part, above / step)
            || !goes_on(&whole, &part, below / step)
        {
            return refused(format!(
                "lines of rows {} to {} alone are not those of the whole job, which go along columns, in interleaved passes, or in stripes or \
                 swaths that begin elsewhere; send the whole job",
                rows.y(),
                rows.bottom() - 1
            ));
        }
    }
    Ok(stripes)
}

/// Rows with those around them, so that as many whole units lie above and below them as may be: lines begin at either side.
fn aligned((top, bottom): (i64, i64), height: u64, unit: u64) -> (i64, i64) {
    let whole = |rows: i64| rows - rows.rem_euclid(unit.cast_signed());
    let height = height.cast_signed();
    (whole(top), height - whole(height - bottom))
}

/// Whether lines of a part of the rows are those of the whole job from a line on, in every pass: what they cover and which way they go. They follow
/// each other in one order, so that the first and the last few tell.
fn goes_on(whole: &Program, part: &Program, from: u64) -> bool {
    const FEW: u64 = 8;
    let passes = u64::from(whole.passes().max(1));
    if passes != u64::from(part.passes().max(1)) {
        return false;
    }
    let (of_whole, of_part) = (whole.lines() / passes, part.lines() / passes);
    let first = part.travel(0).zip(whole.travel(from));
    let Some(down) = first.and_then(|(part, whole)| whole.lines.start.checked_sub(part.lines.start)) else {
        return false;
    };
    let some = (0..of_part.min(FEW)).chain(of_part.saturating_sub(FEW)..of_part);
    some.flat_map(|line| [(0, line), (passes - 1, line)])
        .all(|(pass, line)| {
            let both = part
                .travel(pass * of_part + line)
                .zip(whole.travel(pass * of_whole + from + line));
            both.is_some_and(|(mut part, whole)| {
                part.lines = part.lines.start + down..part.lines.end + down;
                part == whole
            })
        })
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
