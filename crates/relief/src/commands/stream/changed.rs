//! `--only-changed`: the rows of a job in which a design can differ from the one that was executed before.

use std::path::{Path, PathBuf};

use relief_engine::differing;
use relief_raster::Rect;
use relief_scan::Halftone;

use crate::arguments::Reading;
use crate::commands::diff::same_pictures;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;

use super::scan::ScanArguments;

/// The rows of the canvas of `file`, from edge to edge, in which it can differ from `before`; `None` where they compute the same. They begin
/// at an even row, so that lines which alternate go as they did.
///
/// # Errors
/// Where lines of these rows alone would not be those of the whole job.
pub(super) fn rows(
    file: &Path,
    before: &Path,
    reading: &Reading,
    lines: &ScanArguments,
    silent: bool,
) -> Result<Option<Rect>, Failure> {
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
    let Some(hull) = rects.into_iter().reduce(|all, rect| all.union(&rect)) else {
        return Ok(None);
    };
    let top = hull.y() - hull.y() % 2;
    Ok(Rect::new(0, top, one.width, hull.bottom().abs_diff(top)))
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
