//! What is wrong is found out before it is timed.

use relief_lab::array::{Array, Fill, Layout};
use relief_lab::family::{Failure, Ladder, OnCpu, Outcome, Problem, Scale, Variant, Work};
use relief_lab::sampling::Sampling;
use relief_lab::{Ceilings, Machine, Plan, Row, Verdict, measure};

/// out(i) = in(i) + 1, and how many there are.
struct Increment(usize);

impl Problem for Increment {
    fn label(&self) -> String {
        format!("{} elements", self.0)
    }

    fn elements(&self) -> u64 {
        self.0 as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u16>(self.0), fill, 3)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u16>(self.0), Layout::of::<u32>(1)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        for (i, value) in inputs[0].slice::<u16>().iter().enumerate() {
            outputs[0].slice_mut::<u16>()[i] = value.wrapping_add(1);
            outputs[1].slice_mut::<u32>()[0] += 1;
        }
    }

    fn work(&self) -> Work {
        Work::bytes(2 * self.elements(), 2 * self.elements())
    }
}

/// The right result, with something done to it after.
fn with(call: OnCpu<'_>, spoil: impl Fn(&mut [Array])) -> Outcome {
    for (value, out) in call.inputs[0]
        .slice::<u16>()
        .iter()
        .zip(call.outputs[0].slice_mut::<u16>())
    {
        *out = value.wrapping_add(1);
    }
    call.outputs[1].slice_mut::<u32>()[0] = call.inputs[0].layout().len as u32;
    spoil(call.outputs);
    Ok(())
}

fn rows(variants: Vec<Variant<Increment>>) -> Vec<Row> {
    rows_on(&Machine::cpu(1).unwrap(), variants)
}

fn rows_on(machine: &Machine, variants: Vec<Variant<Increment>>) -> Vec<Row> {
    rows_of(machine, variants, |_| vec![Increment(1_000)])
}

fn rows_of(
    machine: &Machine,
    variants: Vec<Variant<Increment>>,
    cases: fn(Scale) -> Vec<Increment>,
) -> Vec<Row> {
    let ladder = Ladder::new("increment", "out(i) = in(i) + 1", variants)
        .checks(|| vec![Increment(0), Increment(1), Increment(7)])
        .cases(cases);
    let plan = Plan {
        scale: Scale {
            class: machine.class(),
            quick: true,
            size: None,
        },
        sampling: Some(Sampling::QUICK),
        variants: Vec::new(),
        huge: false,
        working_set: 1 << 16,
        least_set: 0,
        end: None,
    };
    measure(machine, &ladder, &plan, &Ceilings::default(), &mut ())
}

/// What is said of a variant, which must not have been timed.
fn reason(spoil: impl Fn(&mut [Array]) + Send + Sync + 'static) -> String {
    let rows = rows(vec![Variant::cpu("spoilt", "", move |_: &Increment, call| {
        with(call, &spoil)
    })]);
    assert!(
        rows[0].samples.is_empty() && rows[0].summary.is_none(),
        "{rows:?}"
    );
    match &rows[0].verdict {
        Verdict::Wrong(reason) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_right_is_timed() {
    let rows = rows(vec![Variant::cpu("right", "", |_: &Increment, call| {
        with(call, |_| ())
    })]);
    assert_eq!(rows[0].verdict, Verdict::Right);
    let summary = rows[0].summary.unwrap();
    // The run has no ceilings: these were measured beside the case.
    assert!(rows[0].bound.as_ref().unwrap().seconds > 0.0);
    assert!(rows[0].samples.len() >= 5 && summary.p10 <= summary.median && summary.median <= summary.p90);
    assert_eq!(rows[0].working_set / (4 * 1_000 + 4), 16);
}

#[test]
fn what_counts_on_zeros_in_its_own_memory_is_wrong() {
    let counting = Variant::cpu("counting", "", |_: &Increment, call: OnCpu<'_>| {
        let found = call.scratch[0].slice::<u32>()[0];
        with(call, |outputs| {
            let count = &mut outputs[1].slice_mut::<u32>()[0];
            *count = count.wrapping_add(found);
        })
    });
    let rows = rows(vec![counting.scratch(|_| vec![Layout::of::<u32>(1)])]);
    let Verdict::Wrong(reason) = &rows[0].verdict else {
        panic!("{rows:?}");
    };
    assert!(reason.contains("output 1 has"), "{reason}");
    assert!(rows[0].samples.is_empty(), "{rows:?}");
}

#[test]
fn what_is_right_once_and_wrong_when_called_again_is_found_out_after_it_was_timed() {
    // What it keeps from one call to the next is no one's memory but its own.
    let calls = std::sync::atomic::AtomicU32::new(0);
    let rows = rows(vec![Variant::cpu("aging", "", move |p: &Increment, call| {
        let timed = p.0 == 1_000;
        let before = calls.fetch_add(u32::from(timed), std::sync::atomic::Ordering::Relaxed);
        with(call, |outputs| {
            if before > 3 {
                outputs[0].slice_mut::<u16>()[0] ^= 1;
            }
        })
    })]);
    let Verdict::Wrong(reason) = &rows[0].verdict else {
        panic!("{rows:?}");
    };
    assert!(
        reason.contains("1000 elements, after it was timed: output 0 has"),
        "{reason}"
    );
    assert!(
        rows[0].samples.is_empty() && rows[0].summary.is_none(),
        "{rows:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_memory_does_not_hold_is_said_and_not_tried() {
    let right = Variant::cpu("right", "", |_: &Increment, call| with(call, |_| ()));
    let rows = rows_of(&Machine::cpu(1).unwrap(), vec![right], |_| {
        vec![Increment(1 << 60), Increment(1_000)]
    });
    let Verdict::Unsupported(reason) = &rows[0].verdict else {
        panic!("{rows:?}");
    };
    assert!(reason.contains("GiB of memory, of which"), "{reason}");
    assert!(rows[0].samples.is_empty(), "{rows:?}");
    assert_eq!(rows[1].verdict, Verdict::Right);
}

#[test]
fn one_wrong_sample_is_found() {
    let reason = reason(|outputs| {
        if let Some(last) = outputs[0].slice_mut::<u16>().last_mut() {
            *last ^= 1;
        }
    });
    assert!(reason.contains("1 elements, random: output 0"), "{reason}");
    assert!(reason.contains("at 0 where"), "{reason}");
}

#[test]
fn a_wrong_sample_of_the_timed_case_alone_is_found() {
    let reason = reason(|outputs| {
        if let Some(sample) = outputs[0].slice_mut::<u16>().get_mut(777) {
            *sample ^= 0x8000;
        }
    });
    assert!(reason.starts_with("1000 elements: output 0"), "{reason}");
    assert!(
        reason.contains("at 777 where") && reason.ends_with("1 differ"),
        "{reason}"
    );
}

#[test]
fn an_output_that_is_not_written_is_found() {
    let rows = rows(vec![Variant::cpu("idle", "", |_: &Increment, _| Ok(()))]);
    assert!(
        matches!(&rows[0].verdict, Verdict::Wrong(reason) if reason.contains("output 1")),
        "{rows:?}"
    );
}

#[test]
fn a_second_output_is_checked_too() {
    let reason = reason(|outputs| outputs[1].slice_mut::<u32>()[0] += 1);
    assert!(
        reason.contains("0 elements, random: output 1 has 1 at 0 where 0 is right"),
        "{reason}"
    );
}

#[test]
#[allow(unsafe_code)]
fn a_write_outside_the_output_is_found() {
    for (offset, text) in [(0, "0 bytes after its end"), (-1, "1 bytes before its start")] {
        let reason = reason(move |outputs| {
            let bytes = outputs[0].bytes_mut();
            let end = if offset < 0 { 0 } else { bytes.len() as isize };
            // SAFETY: 4 KiB before and after the elements belong to the same allocation.
            unsafe { bytes.as_mut_ptr().offset(end + offset).write(0) };
        });
        assert!(reason.contains(text), "{reason}");
    }
}

#[test]
fn a_variant_that_panics_or_cannot_run_says_so_and_the_others_go_on() {
    let rows = rows(vec![
        Variant::cpu("panics", "", |_: &Increment, _| panic!("index out of bounds")),
        Variant::cpu("refuses", "", |_: &Increment, _| {
            Err(Failure::Unsupported("no such unit".to_owned()))
        }),
        Variant::cpu("right", "", |_: &Increment, call| with(call, |_| ())),
    ]);
    assert!(matches!(&rows[0].verdict, Verdict::Failed(reason) if reason.contains("index out of bounds")));
    assert_eq!(rows[1].verdict, Verdict::Unsupported("no such unit".to_owned()));
    assert_eq!(rows[2].verdict, Verdict::Right);
}

/// A kernel that no device compiles.
#[cfg(feature = "gpu")]
mod oversized {
    use cubecl::prelude::*;
    use relief_kernels::device::{Buffer, Operand, on_client};
    use relief_lab::family::{OnGpu, Outcome};

    #[cube(launch_unchecked)]
    fn kernel(out: &mut Array<u32>) {
        let mut shared = SharedMemory::<u32>::new(1_048_576usize);
        shared[UNIT_POS as usize] = UNIT_POS;
        sync_cube();
        out[0] = shared[0];
    }

    #[allow(unsafe_code)]
    fn launch<R: Runtime>(client: &ComputeClient<R>, out: &Buffer) {
        // SAFETY: writes the first word; it is not compiled anyway.
        unsafe {
            kernel::launch_unchecked::<R>(
                client,
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(1),
                out.array(1),
            );
        }
    }

    pub(super) fn run(call: &OnGpu<'_>) -> Outcome {
        let (gpu, out) = (call.gpu, &call.outputs[0]);
        Ok(gpu.launch(
            "oversized",
            &0,
            &[Operand::write("the output", out)],
            || on_client!(gpu, client => launch(client, out)),
        )?)
    }
}

#[cfg(feature = "gpu")]
#[test]
fn a_kernel_that_does_not_compile_has_failed() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let variant = Variant::gpu("oversized", "", |_: &Increment, call| oversized::run(call));
    let rows = rows_on(&Machine::Gpu(gpu), vec![variant]);
    assert!(
        matches!(&rows[0].verdict, Verdict::Failed(reason) if reason.contains("could not compile")),
        "{rows:?}"
    );
}
