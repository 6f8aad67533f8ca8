//! What of a raster the lines of a machine have covered.

use relief_raster::Rect;

use crate::program::{Layout, Program};

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
        let (pass, rest) = if executed < self.lines() {
            self.place(executed)
        } else {
            // After the last line the last pass is over, and not another one begun.
            let last = self.passes().saturating_sub(1);
            (last, self.layout(last).path.total)
        };
        let Layout { symmetry, path } = self.layout(pass);
        let travels = path.travels;
        let (stripes, lines) = (rest / travels, rest % travels);
        let size = (self.raster.width, self.raster.height);
        let part = |pixels, rows| symmetry.window(size, pixels, rows);
        let mut areas = Vec::new();
        let last = |number: u64| {
            let travel = path.travel(pass, number);
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
                path.travel(pass, lines - 1).lines.end
            };
            areas.push(Area {
                rect: part(pixels, (0, bottom)),
                lines: if whole { travels } else { lines },
                executed: lines,
            });
        }
        Covered { pass, areas }
    }
}

#[cfg(test)]
mod tests {
    use relief_design::scan::{Axis, Corner, Interleave, PassAxes, Passes, Quarters, Scan, Stripe};
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
            let rect = program.layout(travel.pass).symmetry.window(
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
        for (axis, start, rotate, pass_axes) in [
            (Axis::Row, Corner::TopLeft, Quarters::None, PassAxes::Same),
            (Axis::Column, Corner::BottomRight, Quarters::None, PassAxes::Same),
            (Axis::Row, Corner::BottomLeft, Quarters::One, PassAxes::Alternate),
        ] {
            for stripe in [None, Some(Stripe { width: 4, overlap: 1 })] {
                for interleave in [1, 3] {
                    let scan = Scan {
                        axis,
                        start,
                        rotate,
                        stripe,
                        interleave: Interleave(interleave),
                        passes: Passes::Share { count: 3 },
                        pass_axes,
                        ..Scan::default()
                    };
                    let raster = Raster::new(9, 7, Depth::Eight);
                    let program = Program::new(&scan, &Tables::default(), &raster).expect("a program");
                    for executed in 0..=program.lines() {
                        let covered = program.covered(executed);
                        let of_passes_before = |&line: &u64| {
                            program
                                .travel(line)
                                .is_some_and(|travel| travel.pass < covered.pass)
                        };
                        let first = (0..program.lines()).filter(of_passes_before).count() as u64;
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
