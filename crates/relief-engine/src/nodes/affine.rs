//! `affine`: a source turned by any angle, scaled, sheared and moved.

use relief_design::kinds::{self, Resampling, Taps};
use relief_design::tree;
use relief_kernels::affine::{Line, cpu};
use relief_kernels::edge::Edge;
use relief_kernels::resample::Axis;
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Node, Request, Resources, Tile, framed, part,
    read_padded, scratch,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Affine {
    across: Line,
    down: Line,
    taps: Axis,
    /// Columns and rows of the source.
    source: (u64, u64),
    /// Whether no weight is below 0.
    is_mean: bool,
    edge: Edge,
}

/// The columns or rows that a rectangle reads, and where in a block what counts for them stands.
struct Side {
    /// The first that is read and the one after the last; they may lie beyond the source.
    reads: (i64, i64),
    /// Runs of the source, each with where it stands in the block.
    runs: [(i64, i64); 2],
    edge: Edge,
    /// Samples of the source.
    len: u64,
}

impl Side {
    fn new(reads: std::ops::Range<i64>, edge: Edge, len: u64) -> Self {
        let (from, to) = (reads.start, reads.end);
        let side = len.cast_signed();
        let runs = if edge == Edge::Wrap && to - from < side {
            // What runs over the end goes on at the beginning.
            let first = from.rem_euclid(side);
            let end = (first + to - from).min(side);
            [(first, end), (0, to - from - (end - first))]
        } else {
            [inside(from, to, edge, side), (0, 0)]
        };
        Self {
            reads: (from, to),
            runs,
            edge,
            len,
        }
    }

    /// Samples of the block.
    fn count(&self) -> usize {
        self.runs.iter().map(|(from, to)| (to - from) as usize).sum()
    }

    /// Whether some of what is read is 0 since it lies beyond the source.
    fn is_beyond(&self) -> bool {
        self.edge == Edge::Zero && (self.reads.0 < 0 || self.reads.1 > self.len.cast_signed())
    }

    /// The samples of the source that count, and what lies between them.
    fn hull(&self) -> (i64, i64) {
        match self.runs {
            [(_, to), (_, rest)] if rest > 0 => (0, to),
            [run, _] => run,
        }
    }

    /// For each that is read its place in the block; that behind all samples of the block is 0.
    fn places(&self, places: &mut [u32]) {
        let (first, count) = (self.runs[0].0, self.count());
        let is_wrapped = self.edge == Edge::Wrap && self.reads.1 - self.reads.0 < self.len.cast_signed();
        for (i, place) in places.iter_mut().enumerate() {
            *place = if is_wrapped {
                i as u32
            } else {
                let inside = self.edge.inside(self.reads.0 + i as i64, self.len);
                inside.map_or(count as u32, |at| (at.cast_signed() - first) as u32)
            };
        }
    }
}

/// The samples of 0…`side` − 1 that count for those of `from`…`to` − 1, and what lies between them.
fn inside(from: i64, to: i64, edge: Edge, side: i64) -> (i64, i64) {
    let last = side - 1;
    match edge {
        Edge::Zero => {
            let (from, to) = (from.clamp(0, side), to.clamp(0, side));
            if from < to { (from, to) } else { (0, 0) }
        }
        Edge::Clamp => (from.clamp(0, last), (to - 1).clamp(0, last) + 1),
        Edge::Wrap => (0, side),
        Edge::Mirror if last == 0 => (0, 1),
        Edge::Mirror => {
            let folded = |at: i64| edge.inside(at, side.unsigned_abs()).map_or(0, u64::cast_signed);
            let ends = (folded(from), folded(to - 1));
            // Between the ends it turns round at every multiple of the last, at the first sample and the last by turns.
            let first_turn = (from + last - 1).div_euclid(last);
            let turns = (to - 1).div_euclid(last) - first_turn + 1;
            let is_at = |parity: i64| turns >= 2 || (turns == 1 && first_turn.rem_euclid(2) == parity);
            let least = if is_at(0) { 0 } else { ends.0.min(ends.1) };
            let greatest = if is_at(1) { last } else { ends.0.max(ends.1) };
            (least, greatest + 1)
        }
    }
}

impl Affine {
    /// The columns and rows that count for `rect`, which is not empty.
    fn sides(&self, rect: Rect) -> (Side, Side) {
        (
            Side::new(self.across.reads(rect, &self.taps), self.edge, self.source.0),
            Side::new(self.down.reads(rect, &self.taps), self.edge, self.source.1),
        )
    }

    /// The part of the source that counts for `rect`.
    fn part(&self, rect: Rect) -> Rect {
        if rect.is_empty() {
            return Rect::EMPTY;
        }
        let (across, down) = self.sides(rect);
        let ((left, right), (top, bottom)) = (across.hull(), down.hull());
        Rect::between(left, top, right, bottom)
    }

    /// The most columns and rows that a request reads, within the source and beyond.
    fn span(&self, request: &Request) -> (u64, u64) {
        let span = |line: &Line| line.span(request.width, request.height, &self.taps);
        (span(&self.across), span(&self.down))
    }
}

impl Node for Affine {
    fn footprint(&self, _: &Link, _: usize) -> Footprint {
        Footprint::Anywhere
    }

    fn reads(&self, link: &Link, _: usize, rect: Rect) -> Rect {
        link.local(self.part(rect))
    }

    fn asks(&self, link: &Link, _: usize, request: &Request) -> Request {
        let (width, height) = self.span(request);
        Request {
            width: width.min(link.extent.width()),
            height: height.min(link.extent.height()),
        }
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        let (width, height) = self.span(request);
        // One more of each for what is 0.
        let columns = width.min(self.source.0).saturating_add(1);
        let rows = height.min(self.source.1).saturating_add(1);
        scratch::words(columns.saturating_mul(rows), bytes)
            .saturating_add(scratch::words(width, 4))
            .saturating_add(scratch::words(height, 4))
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        if rect.is_empty() {
            return Bounds::ZERO;
        }
        let (across, down) = self.sides(rect);
        let inside = known.child(&links[0], self.part(rect));
        let source = if across.is_beyond() || down.is_beyond() {
            inside.or(Bounds::ZERO)
        } else {
            inside
        };
        // Weights sum to one: a mean lies between its samples, and that of equal ones is what they are.
        if self.is_mean || source.least == source.greatest {
            source
        } else {
            known.anything()
        }
    }

    fn is_turned(&self) -> bool {
        !self.down.is_level()
    }

    fn cost(&self) -> u64 {
        let taps = self.taps.taps() as u64;
        12 + 2 * taps * taps
    }

    #[cfg(feature = "gpu")]
    fn of_nothing(&self) -> Option<u16> {
        Some(0)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Affine {
    type Design = kinds::Affine;

    fn new(kind: &kinds::Affine, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let Taps { first, weights, .. } = kind.taps();
        let line = |[right, down]: [i64; 2], side: u64| {
            // The middle of the node lies on that of the source, but for the shift.
            let [right, down] = [right, down].map(i128::from);
            let [s, t] = kind.shift.map(i128::from);
            let corner = |side: u64| 1 - i128::from(side);
            let origin = right * corner(node.width) + down * corner(node.height)
                - ((right * s + down * t) >> 15)
                - (corner(side) << 40);
            let step = |coefficient: i128| i64::try_from(2 * coefficient).ok();
            Line::new(step(right)?, step(down)?, origin)
        };
        let [across, down] = kind.inverse;
        let made = line(across, kind.source.0)
            .zip(line(down, kind.source.1))
            .zip(Axis::new(1, 1, first, weights));
        let ((across, down), taps) =
            made.ok_or_else(|| Error::defect(Rect::EMPTY, "a matrix is none that a design can have"))?;
        Ok(Self {
            across,
            down,
            taps,
            source: kind.source,
            is_mean: matches!(kind.by, Resampling::Box | Resampling::Linear),
            edge: framed::edge(kind.edge),
        })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let (across, down) = self.sides(rect);
        if across.count() == 0 || down.count() == 0 {
            return Ok(Filled::Uniform(S::ZERO));
        }
        let (width, height) = (across.count() + 1, down.count() + 1);
        let words = |side: &Side| scratch::words((side.reads.1 - side.reads.0).unsigned_abs(), 4) as usize;
        let (columns, scratch) = scratch.split_at_mut(words(&across));
        let (rows, scratch) = scratch.split_at_mut(words(&down));
        let (samples, rest) = scratch::carve::<S>(scratch, width * height);
        let mut block = ViewMut::packed(samples, width, height);

        // Up to two runs each way; of most tiles one.
        let mut filled = [(Rect::EMPTY, Filled::Written); 4];
        let mut parts = 0;
        let mut y = 0;
        for (top, bottom) in down.runs {
            let mut x = 0;
            for (left, right) in across.runs {
                let from = Rect::between(left, top, right, bottom);
                if !from.is_empty() {
                    let here = Rect::sized(from.width(), from.height()).translated(x, y);
                    let read = read_padded(inputs, &links[0], from, part(&mut block, here), rest)?;
                    filled[parts] = (here, read);
                    parts += 1;
                }
                x += right - left;
            }
            y += bottom - top;
        }
        let filled = &filled[..parts];
        let first = filled
            .first()
            .map_or(Filled::Uniform(S::ZERO), |(_, first)| *first);
        let is_beyond = across.is_beyond() || down.is_beyond();
        if first != Filled::Written
            && filled.iter().all(|(_, filled)| *filled == first)
            && (!is_beyond || first == Filled::Uniform(S::ZERO))
        {
            return Ok(first);
        }
        for (here, filled) in filled {
            filled.write(part(&mut block, *here));
        }
        if is_beyond {
            block.row_mut(height - 1).fill(S::ZERO);
            for row in 0..height {
                block.row_mut(row)[width - 1] = S::ZERO;
            }
        }

        let columns =
            &mut bytemuck::cast_slice_mut::<u64, u32>(columns)[..(across.reads.1 - across.reads.0) as usize];
        let rows = &mut bytemuck::cast_slice_mut::<u64, u32>(rows)[..(down.reads.1 - down.reads.0) as usize];
        across.places(columns);
        down.places(rows);
        let block = cpu::Block {
            samples: View::packed(samples, width, height),
            at: (across.reads.0, down.reads.0),
            columns,
            rows,
        };
        cpu::transform(
            block,
            (&self.across, &self.down),
            &self.taps,
            (rect.x(), rect.y()),
            out,
        );
        Ok(Filled::Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_the_hull_of_what_every_place_reads() {
        for edge in [Edge::Clamp, Edge::Mirror, Edge::Zero] {
            for side in 1..7 {
                for from in -20..20 {
                    for to in from + 1..from + 16 {
                        let all: Vec<i64> = (from..to)
                            .filter_map(|at| edge.inside(at, side))
                            .map(u64::cast_signed)
                            .collect();
                        let least = all.iter().min().copied().unwrap_or(0);
                        let end = all.iter().max().map_or(0, |greatest| greatest + 1);
                        assert_eq!(
                            inside(from, to, edge, side.cast_signed()),
                            (least, end),
                            "{edge:?} {from} {to} {side}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn each_place_finds_its_sample_in_the_block() {
        for edge in [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Zero] {
            for (from, to, len) in [
                (-9, 4, 7),
                (3, 8, 7),
                (-3, 2, 7),
                (12, 16, 7),
                (-20, 40, 7),
                (0, 7, 7),
            ] {
                let side = Side::new(from..to, edge, len);
                let block: Vec<i64> = side.runs.iter().flat_map(|(from, to)| *from..*to).collect();
                let mut places = vec![u32::MAX; (to - from) as usize];
                side.places(&mut places);
                for (at, place) in (from..to).zip(places) {
                    let found = block.get(place as usize).copied();
                    assert_eq!(
                        found,
                        edge.inside(at, len).map(u64::cast_signed),
                        "{edge:?} {from} {to}: {at}"
                    );
                }
            }
        }
    }
}
