//! What of a raster the lines of a machine have covered.

use relief_raster::Rect;

use crate::program::Program;

/// A part of the raster of which some lines are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Area {
    /// The pixels, in coordinates of the raster.
    pub rect: Rect,
    /// The machine's lines over them in this pass.
    pub lines: u64,
    /// How many of these are executed: all, or some that lie apart from each other (`interleave`).
    pub executed: u64,
}

/// How far a pass is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Covered {
    /// The pass, counted from 0. All before it have covered the raster.
    pub pass: u32,
    /// The parts that this pass has covered, at most two.
    pub areas: Vec<Area>,
}

impl Program {
    /// What the first `executed` lines of the job cover: whole stripes as one part, then the stripe that is being executed.
    #[must_use]
    pub fn covered(&self, executed: u64) -> Covered {
        let executed = executed.min(self.lines());
        let (travels, path) = (self.path.travels, &self.path);
        let of_pass = self.lines() / u64::from(self.passes()).max(1);
        // After the last line the last pass is over, and not another one begun.
        let pass = (executed / of_pass.max(1)).min(u64::from(self.passes()) - 1);
        let rest = executed - pass * of_pass;
        let (stripes, lines) = (rest / travels, rest % travels);
        let size = (self.raster.width, self.raster.height);
        let part = |pixels, rows| self.symmetry.window(size, pixels, rows);
        let mut areas = Vec::new();
        let last = |number: u64| {
            let travel = path.travel(number);
            (travel.pixels.start, travel.pixels.end)
        };
        if stripes > 0 {
            let right = last(stripes * travels - 1).1;
            areas.push(Area {
                rect: part((0, right), (0, path.rows)),
                lines: stripes * travels,
                executed: stripes * travels,
            });
        }
        if lines > 0 {
            let pixels = last(stripes * travels);
            let whole = !path.is_plain();
            let bottom = if whole {
                path.rows
            } else {
                path.travel(lines - 1).lines.end
            };
            areas.push(Area {
                rect: part(pixels, (0, bottom)),
                lines: if whole { travels } else { lines },
                executed: lines,
            });
        }
        Covered {
            // There are at most 65 536 passes.
            pass: pass as u32,
            areas,
        }
    }
}

#[cfg(test)]
mod tests {
    use relief_design::scan::{Axis, Corner, Interleave, Passes, Quarters, Scan, Stripe};
    use relief_engine::Raster;
    use relief_raster::Depth;

    use super::*;
    use crate::Tables;

    /// Which pixels of the raster the lines of a pass cover, one by one.
    fn brute(program: &Program, lines: std::ops::Range<u64>) -> Vec<bool> {
        let (width, height) = (program.raster.width, program.raster.height);
        let mut pixels = vec![false; (width * height) as usize];
        for line in lines {
            let travel = program.travel(line).expect("a line");
            let rect = program.symmetry.window(
                (width, height),
                (travel.pixels.start, travel.pixels.end),
                (travel.lines.start, travel.lines.end),
            );
            for y in rect.y()..rect.bottom() {
                for x in rect.x()..rect.right() {
                    pixels[(y as u64 * width + x as u64) as usize] = true;
                }
            }
        }
        pixels
    }

    #[test]
    fn areas_are_the_pixels_of_the_lines_executed() {
        for (axis, start, rotate) in [
            (Axis::Row, Corner::TopLeft, Quarters::None),
            (Axis::Column, Corner::BottomRight, Quarters::None),
            (Axis::Row, Corner::BottomLeft, Quarters::One),
        ] {
            for stripe in [None, Some(Stripe { width: 4, overlap: 1 })] {
                for interleave in [1, 3] {
                    let scan = Scan {
                        axis,
                        start,
                        rotate,
                        stripe,
                        interleave: Interleave(interleave),
                        passes: Passes::Share { count: 2 },
                        ..Scan::default()
                    };
                    let raster = Raster::new(9, 7, Depth::Eight);
                    let program = Program::new(&scan, &Tables::default(), &raster).expect("a program");
                    for executed in 0..=program.lines() {
                        let covered = program.covered(executed);
                        let of_pass = program.lines() / 2;
                        let first = u64::from(covered.pass) * of_pass;
                        let right = brute(&program, first..executed);
                        for (at, right) in right.into_iter().enumerate() {
                            let (x, y) = ((at % 9) as i64, (at / 9) as i64);
                            let pixel = Rect::new(x, y, 1, 1).expect("a pixel");
                            let of = covered.areas.iter().filter(|area| area.rect.contains(&pixel));
                            let all = of.clone().any(|area| area.executed == area.lines);
                            let some = of.count() > 0;
                            assert!(
                                if right { some } else { !all },
                                "{executed} of {scan:?}: {covered:?}"
                            );
                        }
                        let told: u64 = covered.areas.iter().map(|area| area.executed).sum();
                        assert_eq!(told + first, executed);
                    }
                }
            }
        }
    }
}
