//! Sums, least and greatest samples of blocks of a plane that is held, over eight levels of eight.

use relief_raster::{Rect, Sample, View};

use crate::node::Summary;

/// Columns and rows of the smallest blocks, in samples, and of all others, in blocks of the level below.
const SIDE: u64 = 8;

/// What is known of a block.
#[derive(Clone, Copy)]
struct Block {
    sum: u64,
    /// A plane has fewer samples than that.
    zeros: u32,
    least: u16,
    greatest: u16,
}

struct Level {
    columns: u64,
    blocks: Vec<Block>,
}

/// The blocks of a plane, the smallest first.
pub(crate) struct Pyramid {
    width: u64,
    height: u64,
    levels: Vec<Level>,
}

impl Pyramid {
    /// The bytes of that of a plane with so many columns and rows.
    pub(crate) fn bytes(width: u64, height: u64) -> u64 {
        let (mut columns, mut rows, mut bytes) = (width, height, 0_u64);
        while columns > 1 || rows > 1 {
            (columns, rows) = (columns.div_ceil(SIDE), rows.div_ceil(SIDE));
            let blocks = columns.saturating_mul(rows);
            bytes = bytes.saturating_add(blocks.saturating_mul(size_of::<Block>() as u64));
        }
        bytes
    }

    /// That of a plane.
    pub(crate) fn of<S: Sample>(plane: View<'_, S>) -> Self {
        let (width, height) = (plane.width() as u64, plane.height() as u64);
        let mut levels: Vec<Level> = Vec::new();
        let (mut columns, mut rows) = (width, height);
        while columns > 1 || rows > 1 {
            let below = (columns, rows);
            (columns, rows) = (columns.div_ceil(SIDE), rows.div_ceil(SIDE));
            let mut blocks = Vec::with_capacity((columns * rows) as usize);
            for row in 0..rows {
                for column in 0..columns {
                    let across = column * SIDE..((column + 1) * SIDE).min(below.0);
                    let down = row * SIDE..((row + 1) * SIDE).min(below.1);
                    let mut block = Block {
                        sum: 0,
                        zeros: 0,
                        least: u16::MAX,
                        greatest: 0,
                    };
                    let mut add = |sum: u64, zeros: u32, least: u16, greatest: u16| {
                        block.sum += sum;
                        block.zeros += zeros;
                        block.least = block.least.min(least);
                        block.greatest = block.greatest.max(greatest);
                    };
                    for y in down {
                        match levels.last() {
                            None => {
                                let row = &plane.row(y as usize)[across.start as usize..across.end as usize];
                                for sample in row {
                                    let sample = sample.to_u16();
                                    add(sample.into(), u32::from(sample == 0), sample, sample);
                                }
                            }
                            Some(level) => {
                                let start = y * level.columns;
                                let places = (start + across.start) as usize..(start + across.end) as usize;
                                for block in &level.blocks[places] {
                                    add(block.sum, block.zeros, block.least, block.greatest);
                                }
                            }
                        }
                    }
                    blocks.push(block);
                }
            }
            levels.push(Level { columns, blocks });
        }
        Self {
            width,
            height,
            levels,
        }
    }

    /// The samples of `rect`, which lies in the plane, in the plane's own places.
    pub(crate) fn summary<S: Sample>(&self, plane: View<'_, S>, rect: Rect) -> Summary {
        let rect = rect.intersection(&Rect::sized(self.width, self.height));
        self.blocks(plane, self.levels.len(), rect, (0, 0))
    }

    /// The samples of `rect` within the block (column, row) of the blocks below `level`; 0 are the samples themselves.
    fn blocks<S: Sample>(
        &self,
        plane: View<'_, S>,
        level: usize,
        rect: Rect,
        (column, row): (u64, u64),
    ) -> Summary {
        let Some(below) = level.checked_sub(1) else {
            return direct(plane, rect);
        };
        let side = SIDE.pow(below as u32 + 1);
        let (x, y) = ((column * side).cast_signed(), (row * side).cast_signed());
        let all = Rect::between(x, y, x + side.cast_signed(), y + side.cast_signed())
            .intersection(&Rect::sized(self.width, self.height));
        let part = all.intersection(&rect);
        if part.is_empty() {
            return Summary::EMPTY;
        }
        if part == all {
            let level = &self.levels[below];
            let block = level.blocks[(row * level.columns + column) as usize];
            return Summary::exact(
                part.area(),
                block.sum.into(),
                block.zeros.into(),
                block.least,
                block.greatest,
            );
        }
        if below == 0 {
            return direct(plane, part);
        }
        let step = side / SIDE;
        let first = |from: i64| from.unsigned_abs() / step;
        let last = |to: i64| (to.unsigned_abs() - 1) / step;
        let mut sum = Summary::EMPTY;
        for row in first(part.y())..=last(part.bottom()) {
            for column in first(part.x())..=last(part.right()) {
                sum = sum.and(self.blocks(plane, below, part, (column, row)));
            }
        }
        sum
    }
}

/// The samples of `rect`, one by one.
pub(crate) fn direct<S: Sample>(plane: View<'_, S>, rect: Rect) -> Summary {
    let (mut sum, mut zeros, mut least, mut greatest) = (0_u64, 0_u64, u16::MAX, 0_u16);
    for y in rect.y()..rect.bottom() {
        for sample in &plane.row(y as usize)[rect.x() as usize..rect.right() as usize] {
            let sample = sample.to_u16();
            sum += u64::from(sample);
            zeros += u64::from(sample == 0);
            least = least.min(sample);
            greatest = greatest.max(sample);
        }
    }
    Summary::exact(rect.area(), sum.into(), zeros.into(), least, greatest)
}
