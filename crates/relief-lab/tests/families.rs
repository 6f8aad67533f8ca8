//! Every variant of every family computes what its reference does: on the CPU, and on a device where there is one.

#[cfg(feature = "gpu")]
mod support;

use relief_lab::family::{Class, Scale};
use relief_lab::{Ceilings, Machine, Plan, Row, Verdict, families, measure};

/// Checks all ladders at a tiny size; nothing is timed.
fn everything_is_right(machine: &Machine) {
    let plan = Plan {
        scale: Scale {
            class: machine.class(),
            quick: true,
            size: Some(4_096),
        },
        sampling: None,
        variants: Vec::new(),
        huge: false,
        working_set: 0,
        least_set: 0,
        end: None,
    };
    let mut wrong = Vec::new();
    for family in families::all() {
        for ladder in &family.ladders {
            let rows = measure(machine, &**ladder, &plan, &Ceilings::default(), &mut ());
            let gpu = machine.class() != Class::Cpu;
            let expected = ladder.variants().iter().filter(|about| about.gpu == gpu).count();
            let cases = ladder.cases(plan.scale).len();
            assert_eq!(rows.len(), expected * cases, "{}", ladder.name());
            // A kernel that does not compile has failed; what a device lacks, a variant says by itself. Production is for all devices, but for
            // ladders of numbers that some have no instructions for.
            let lacking = rows
                .iter()
                .all(|row| matches!(row.verdict, Verdict::Unsupported(_)));
            let fine = |verdict: &Verdict, production: bool| match verdict {
                Verdict::Right => true,
                Verdict::Unsupported(_) => !production || lacking,
                Verdict::Wrong(_) | Verdict::Failed(_) => false,
            };
            let unfit = rows.iter().filter(|row| !fine(&row.verdict, row.production));
            let told = |row: &Row| {
                let Row {
                    ladder,
                    variant,
                    case,
                    verdict,
                    ..
                } = row;
                format!("{ladder} {variant}, {case}: {verdict:?}")
            };
            wrong.extend(unfit.map(told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_variant_is_right_on_the_cpu() {
    everything_is_right(&Machine::cpu(2).unwrap());
}

#[cfg(feature = "gpu")]
#[test]
fn every_variant_is_right_on_a_device() {
    let Some(gpu) = support::device() else { return };
    everything_is_right(&Machine::Gpu(gpu));
}

#[test]
fn names_are_unique_and_every_family_has_its_reference_first() {
    let mut ladders = Vec::new();
    for family in families::all() {
        for ladder in &family.ladders {
            let within =
                ladder.name() == family.name || ladder.name().starts_with(&format!("{}/", family.name));
            assert!(within, "{} of {}", ladder.name(), family.name);
            ladders.push(ladder.name());
            for gpu in [false, true] {
                let variants = ladder.variants();
                let here: Vec<_> = variants.iter().filter(|about| about.gpu == gpu).collect();
                let mut names: Vec<&str> = here.iter().map(|about| about.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), here.len(), "{}", ladder.name());
                let production = here.iter().filter(|about| about.production).count();
                assert!(
                    production <= 1,
                    "{} has {production} in production",
                    ladder.name()
                );
            }
        }
    }
    let count = ladders.len();
    ladders.sort_unstable();
    ladders.dedup();
    assert_eq!(ladders.len(), count);
}
