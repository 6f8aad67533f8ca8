//! What the hardware allows, measured in the same run as the variants.

use crate::family::Work;
use crate::record::{Bound, Ceilings, Point};

/// The ceiling that binds some work, where one was measured: the one that allows it the most seconds.
#[must_use]
pub fn bound(ceilings: &Ceilings, work: &Work) -> Option<Bound> {
    let memory = memory(ceilings, work);
    let operations = work.operations.and_then(|(operation, count)| {
        let rate = ceilings.rates.get(&operation)?;
        Some(Bound {
            ceiling: operation.name().to_owned(),
            seconds: count as f64 / rate,
        })
    });
    let bounds = memory.into_iter().chain(operations);
    bounds.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// The seconds that memory allows: of a copy where as much is read as written, else between those of a copy and of a
/// read or a write alone.
fn memory(ceilings: &Ceilings, work: &Work) -> Option<Bound> {
    let bytes = work.moved();
    if bytes == 0 {
        return None;
    }
    let written = work.written as f64 / bytes as f64;
    let copy = at(&ceilings.copy, bytes);
    let (name, pure, share) = if written < 0.5 {
        ("read", at(&ceilings.read, bytes), 1.0 - 2.0 * written)
    } else {
        ("write", at(&ceilings.write, bytes), 2.0 * written - 1.0)
    };
    // Seconds of a byte add up, not rates.
    let pure = pure.or(copy)?;
    let copy = copy.unwrap_or(pure);
    let second = share / pure + (1.0 - share) / copy;
    Some(Bound {
        ceiling: if share > 0.5 { name } else { "copy" }.to_owned(),
        seconds: bytes as f64 * second,
    })
}

/// The bandwidth at so many bytes, between the points measured, over the logarithm of the bytes.
fn at(points: &[Point], bytes: u64) -> Option<f64> {
    let next = points.iter().position(|point| point.bytes >= bytes);
    match next {
        None => points.last().map(|point| point.rate),
        Some(0) => points.first().map(|point| point.rate),
        Some(next) => {
            let (low, high) = (points[next - 1], points[next]);
            let log = |bytes: u64| (bytes as f64).ln();
            let part = (log(bytes) - log(low.bytes)) / (log(high.bytes) - log(low.bytes));
            Some(low.rate + (high.rate - low.rate) * part)
        }
    }
}
