//! Which processor a thread runs on.
//!
//! A thread that is woken for its part of a call may be put beside the one that woke it, while another processor has nothing to do; and as both yield to each other
//! until the call has ended, nobody sees that one is too many. (Distances of 1 024² in two halves: 530 µs a call in place of 385, two cores of an
//! AMD EPYC, Zen 4, 2026-11-25; `perf record -e sched:sched_switch` shows them take turns.)

/// A processor for each of so many threads, where there are no more and no fewer.
#[cfg(target_os = "linux")]
pub(crate) fn of(threads: usize) -> Option<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).ok()?;
    let places: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    (places.len() == threads).then_some(places)
}

/// Not asked for here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of(_: usize) -> Option<Vec<usize>> {
    None
}

/// Keeps this thread on a processor, if the system lets it.
#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
pub(crate) fn stay(place: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut set = rustix::thread::CpuSet::new();
        set.set(place);
        // Without it, times are noisier, and still times.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::{of, stay};

    #[test]
    fn a_thread_stays_on_the_processor_it_was_given() {
        std::thread::spawn(|| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            // A quota may allow fewer threads than there are processors.
            let Some(places) = of(threads) else { return };
            let last = places[places.len() - 1];
            stay(last);
            let allowed = sched_getaffinity(None).unwrap();
            assert_eq!((allowed.count(), allowed.is_set(last)), (1, true));
        })
        .join()
        .unwrap();
    }
}
