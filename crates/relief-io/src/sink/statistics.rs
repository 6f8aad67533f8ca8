//! Figures of a raster as it streams: its histogram, and its runs of set pixels.

use std::io;

use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_raster::Sample;

use super::SinkError;
use super::order::Order;

/// Counts the samples of a raster and the runs of those that are not 0 along its rows.
#[derive(Debug, Default)]
pub struct StatisticsSink {
    order: Option<Order>,
    width: u64,
    counts: Vec<u64>,
    runs: u128,
    longest: u64,
    /// The pixels of the run that the last pixel of the last band belongs to.
    run: u64,
}

impl StatisticsSink {
    /// A sink that has counted nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How often each sample stands there, from 0 to the greatest of the depth; empty before the raster begins.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The runs of pixels along rows whose samples are not 0.
    #[must_use]
    pub const fn runs(&self) -> u128 {
        self.runs
    }

    /// The pixels of the longest run.
    #[must_use]
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    /// Counts samples of rows, the first of which is in this column.
    fn take<S: Sample>(&mut self, column: u64, samples: &[S]) {
        let columns = (self.width - column).max(1);
        let mut left = usize::try_from(columns).unwrap_or(usize::MAX);
        let mut rest = samples;
        if column == 0 {
            self.run = 0;
        }
        while !rest.is_empty() {
            let (row, next) = rest.split_at(left.min(rest.len()));
            for sample in row {
                self.counts[usize::from(sample.to_u16())] += 1;
                if *sample == S::ZERO {
                    self.run = 0;
                } else {
                    self.runs += u128::from(self.run == 0);
                    self.run += 1;
                    self.longest = self.longest.max(self.run);
                }
            }
            if row.len() == left {
                self.run = 0;
            }
            (rest, left) = (next, usize::try_from(self.width).unwrap_or(usize::MAX));
        }
    }
}

impl Sink for StatisticsSink {
    fn memory(&self, raster: &Raster) -> u64 {
        (u64::from(raster.depth.max()) + 1) * 8
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        *self = Self {
            order: Some(Order::new(raster)?),
            width: raster.width,
            counts: vec![0; usize::from(raster.depth.max()) + 1],
            ..Self::default()
        };
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let order = self.order.as_mut().ok_or(SinkError::State {
            call: "write",
            state: "has not begun",
        })?;
        order.accept(band)?;
        let column = band.rect.x().unsigned_abs();
        match band.samples {
            Samples::Eight(samples) => self.take(column, samples),
            Samples::Sixteen(samples) => self.take(column, samples),
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let order = self.order.take().ok_or(SinkError::State {
            call: "finish",
            state: "has not begun",
        })?;
        Ok(order.complete()?)
    }
}
