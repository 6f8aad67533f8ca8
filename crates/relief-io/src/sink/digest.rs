//! The BLAKE3 of the raster: row-major, every sample as u16 little-endian whatever its depth.
//!
//! It names the raster: designs with the same samples have the same digest on every machine.

use std::io;

use relief_engine::Workers;
use relief_engine::sink::{Band, Raster, Samples, Sink};

use super::SinkError;
use super::order::Order;

/// The samples widened and hashed at once: 512 KiB, enough for BLAKE3 to use several threads.
const PART: usize = 256 * 1024;

/// Hashes the bands of a raster, on the threads of the job that computes it.
#[derive(Debug, Default)]
pub struct DigestSink {
    order: Option<Order>,
    workers: Option<Workers>,
    hasher: blake3::Hasher,
    /// Samples as u16 little-endian.
    widened: Vec<u16>,
    digest: Option<blake3::Hash>,
}

impl DigestSink {
    /// A sink that has hashed nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The digest, once the raster is complete. Its `Display` is 64 lower-case hexadecimal digits.
    #[must_use]
    pub const fn digest(&self) -> Option<blake3::Hash> {
        self.digest
    }

    fn widen(&mut self, samples: impl Iterator<Item = u16>) {
        self.widened.clear();
        self.widened.extend(samples.map(u16::to_le));
        hash(
            &mut self.hasher,
            self.workers.as_ref(),
            bytemuck::cast_slice(&self.widened),
        );
    }
}

/// Hashes on the threads of a job, or on this one where there is no other.
fn hash(hasher: &mut blake3::Hasher, workers: Option<&Workers>, bytes: &[u8]) {
    match workers {
        Some(workers) if workers.threads() > 1 => workers.run(|| {
            hasher.update_rayon(bytes);
        }),
        _ => {
            hasher.update(bytes);
        }
    }
}

impl Sink for DigestSink {
    fn use_workers(&mut self, workers: &Workers) {
        self.workers = Some(workers.clone());
    }

    fn memory(&self, _: &Raster) -> u64 {
        2 * PART as u64
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        self.order = Some(Order::new(raster)?);
        self.hasher.reset();
        self.digest = None;
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let order = self.order.as_mut().ok_or(SinkError::State {
            call: "write",
            state: "has not begun",
        })?;
        order.accept(band)?;
        match band.samples {
            Samples::Eight(samples) => {
                samples
                    .chunks(PART)
                    .for_each(|part| self.widen(part.iter().map(|&sample| u16::from(sample))));
            }
            Samples::Sixteen(samples) if cfg!(target_endian = "little") => {
                hash(
                    &mut self.hasher,
                    self.workers.as_ref(),
                    bytemuck::cast_slice(samples),
                );
            }
            Samples::Sixteen(samples) => {
                samples
                    .chunks(PART)
                    .for_each(|part| self.widen(part.iter().copied()));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let order = self.order.take().ok_or(SinkError::State {
            call: "finish",
            state: "has not begun",
        })?;
        order.complete()?;
        self.digest = Some(self.hasher.finalize());
        Ok(())
    }
}
