//! A sink that keeps a raster and holds the engine to the order of bands.

use std::io;

use relief_engine::{Band, Raster, Samples, Sink};

/// Keeps all samples, and checks that bands come as promised: whole rows, or parts of one row, without a gap.
#[derive(Debug, Default)]
pub(crate) struct Collect {
    pub(crate) samples: Vec<u16>,
    pub(crate) bands: usize,
    pub(crate) finished: bool,
    raster: Option<Raster>,
}

impl Collect {
    pub(crate) fn take(&mut self, band: &Band<'_>) {
        let raster = self.raster.expect("bands come after the beginning");
        assert!(!self.finished, "no band comes after the end");
        let (width, next) = (raster.width, self.samples.len() as u64);
        let (column, row) = (next % width, next / width);
        assert_eq!(
            (band.rect.x(), band.rect.y()),
            (column as i64, row as i64),
            "a band out of order"
        );
        assert!(
            band.rect.width() == width || band.rect.height() == 1,
            "a band is whole rows or part of one"
        );
        assert!(band.rect.right() as u64 <= width && band.rect.bottom() as u64 <= raster.height);
        assert_eq!(band.samples.len() as u128, band.rect.area());
        match band.samples {
            Samples::Eight(samples) => {
                assert_eq!(raster.depth.bits(), 8);
                self.samples
                    .extend(samples.iter().map(|sample| u16::from(*sample)));
            }
            Samples::Sixteen(samples) => {
                assert_eq!(raster.depth.bits(), 16);
                self.samples.extend(samples);
            }
        }
        self.bands += 1;
    }
}

impl Sink for Collect {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        assert!(self.raster.is_none(), "a sink begins once");
        self.raster = Some(*raster);
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        self.take(band);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let raster = self.raster.expect("an end comes after the beginning");
        assert_eq!(self.samples.len() as u64, raster.width * raster.height);
        self.finished = true;
        Ok(())
    }
}
