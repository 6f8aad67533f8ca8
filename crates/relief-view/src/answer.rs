//! Samples and other bytes that were made for a request, counted until the last of them is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use relief_engine::{Exactness, OwnedSamples};

/// What was made for a request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) bytes: Bytes,
    /// Its media type.
    pub(crate) media: &'static str,
    /// What is proved of samples.
    pub(crate) exactness: Exactness,
    /// Columns, rows and bits of samples.
    pub(crate) samples: Option<(u64, u64, u32)>,
}

/// The media type of raw samples.
pub(crate) const RAW: &str = "application/octet-stream";

/// The bytes that answers hold together.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    bytes: Arc<AtomicU64>,
    limit: u64,
}

impl Held {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            bytes: Arc::default(),
            limit,
        }
    }

    /// The most bytes of one answer.
    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Counts so many bytes more, where there is room for them. An answer alone always has room.
    pub(crate) fn take(&self, bytes: u64) -> Option<Reservation> {
        let fits = |held: u64| {
            let sum = held.saturating_add(bytes);
            (held == 0 || sum <= self.limit).then_some(sum)
        };
        self.bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, fits)
            .ok()?;
        Some(Reservation {
            held: Arc::clone(&self.bytes),
            bytes,
        })
    }
}

/// Bytes that are counted as long as this lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    held: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Bytes with what counts them.
struct Counted<T> {
    content: T,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Counted<Vec<u8>> {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl AsRef<[u8]> for Counted<Vec<u16>> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.content)
    }
}

/// Samples as they are sent: 16 bits little-endian.
pub(crate) fn little_endian(samples: OwnedSamples, reservation: Reservation) -> Bytes {
    match samples {
        OwnedSamples::Eight(samples) => counted(samples, reservation),
        OwnedSamples::Sixteen(mut samples) => {
            if cfg!(target_endian = "big") {
                for sample in &mut samples {
                    *sample = sample.swap_bytes();
                }
            }
            Bytes::from_owner(Counted {
                content: samples,
                _reservation: reservation,
            })
        }
    }
}

/// Bytes that are counted until they are sent.
pub(crate) fn counted(content: Vec<u8>, reservation: Reservation) -> Bytes {
    Bytes::from_owner(Counted {
        content,
        _reservation: reservation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_last_clone_is_gone_and_one_answer_always_fits() {
        let held = Held::new(100);
        let bytes = counted(vec![0; 60], held.take(60).expect("there is room"));
        let clone = bytes.clone();
        assert!(held.take(41).is_none());
        drop(bytes);
        assert!(held.take(41).is_none());
        drop(clone);
        let large = held.take(1_000).expect("it is alone");
        assert!(held.take(1).is_none());
        drop(large);
        assert!(held.take(100).is_some());
    }

    #[test]
    fn samples_of_16_bits_are_little_endian() {
        let held = Held::new(100);
        let samples = OwnedSamples::Sixteen(vec![0x1234, 7]);
        let bytes = little_endian(samples, held.take(4).expect("there is room"));
        assert_eq!(bytes[..], [0x34, 0x12, 7, 0]);
    }
}
