//! Every variant of every family computes what its reference does: on the CPU, and on a device where there is one.

use relief_lab::family::{Class, Scale};
use relief_lab::{Ceilings, Machine, Plan, Row, Verdict, families, measure};

/// Ladders of numbers that some devices have no instructions for, and of queues that only NVIDIA's driver has.
const NOT_EVERYWHERE: [&str; 3] = ["matmul/bf16", "matmul/f16", "overlap/chunk"];

/// Ladders that ask a question instead of offering a choice, on processors and devices, or on devices alone.
const WITHOUT_PRODUCTION: [&str; 16] = [
    "map/offset",
    "map/stride",
    "lattice/stores",
    "banks",
    "votes/elect",
    "votes/divergence",
    "bilateral/u8",
    "bilateral/f32",
    "bilateral/separable-u8",
    "overlap",
    "overlap/chunk",
    "overlap/bands",
    "occupancy/arithmetic",
    "occupancy/words",
    "occupancy/quads",
    "composition",
];

/// Checks all ladders of the families that are chosen by their names at a tiny size; nothing is timed.
fn all_are_right(machine: &Machine, chosen: impl Fn(&str) -> bool) {
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
    for family in families::all().iter().filter(|family| chosen(family.name)) {
        for ladder in &family.ladders {
            let rows = measure(machine, &**ladder, &plan, &Ceilings::default(), &mut ());
            let gpu = machine.class() != Class::Cpu;
            let expected = ladder.variants().iter().filter(|about| about.gpu == gpu).count();
            let cases = ladder.cases(plan.scale).len();
            assert_eq!(rows.len(), expected * cases, "{}", ladder.name());
            // A kernel that does not compile has failed; what a device lacks, a variant says by itself. Production is for all devices, but for
            // ladders of numbers that some have no instructions for.
            let lacking = NOT_EVERYWHERE.contains(&ladder.name());
            let fine = |verdict: &Verdict, production: bool| match verdict {
                Verdict::Right => true,
                Verdict::Unsupported(_) => !production || lacking,
                Verdict::Wrong(_) | Verdict::Failed(_) => false,
            };
            let right = rows.iter().any(|row| row.verdict == Verdict::Right);
            if !right && expected > 0 && !lacking {
                wrong.push(format!("{}: no variant runs", ladder.name()));
            }
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

/// Families whose references take half of the time of all: two tests run at once.
const SLOW: [&str; 3] = ["distance", "nbody", "stencil"];

#[test]
fn every_variant_of_slow_families_is_right_on_the_cpu() {
    for name in SLOW {
        assert!(families::all().iter().any(|family| family.name == name), "{name}");
    }
    all_are_right(&Machine::cpu(2).unwrap(), |name| SLOW.contains(&name));
}

#[test]
fn every_variant_of_other_families_is_right_on_the_cpu() {
    all_are_right(&Machine::cpu(2).unwrap(), |name| !SLOW.contains(&name));
}

#[cfg(feature = "gpu")]
#[test]
#[ignore = "takes minutes on software Vulkan; .ci/full runs it"]
fn every_variant_is_right_on_a_device() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    all_are_right(&Machine::Gpu(gpu), |_| true);
}

#[test]
fn names_are_unique_and_every_ladder_has_one_production() {
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
                let none = WITHOUT_PRODUCTION.contains(&ladder.name()) || (gpu && ladder.name() == "count");
                let expected = usize::from(!none && !here.is_empty());
                assert_eq!(production, expected, "{} in production", ladder.name());
            }
        }
    }
    let count = ladders.len();
    ladders.sort_unstable();
    ladders.dedup();
    assert_eq!(ladders.len(), count);
}

/// The fewest elements of a check that is not empty, of ladders (or of their families) that have no problem of one element: rows of matrices that are vectors of four,
/// designs of whole bands, and access patterns of one size.
const SMALLEST: [(&str, u64); 3] = [("matvec/", 4), ("matmul/", 4), ("banks", 1_024)];

#[test]
fn every_ladder_is_checked_on_nothing_and_on_the_least_there_is() {
    for family in families::all() {
        for ladder in &family.ladders {
            let name = ladder.name();
            let checks = ladder.checks();
            // What a sweep of a parameter shows is checked by the ladder beside it, and by its own cases.
            if name == "bilateral/grid-sigma" {
                assert!(checks.is_empty(), "{name}");
                continue;
            }
            let elements = || checks.iter().map(|case| case.problem().elements());
            assert!(
                name == "banks" || elements().any(|count| count == 0),
                "{name}: no empty problem"
            );
            let smallest = elements().filter(|count| *count > 0).min();
            let known = SMALLEST.iter().find(|(start, _)| name.starts_with(start));
            let expected = known.map_or(1, |(_, count)| *count);
            assert_eq!(smallest, Some(expected), "{name}");
        }
    }
}

#[test]
fn rows_that_are_stored_apart_are_checked_where_they_are_odd() {
    let apart = ["repeat/", "lattice/", "distance/"];
    for family in families::all() {
        for ladder in &family.ladders {
            let name = ladder.name();
            let checks = ladder.checks();
            let rows: Vec<_> = checks.iter().filter_map(|case| case.problem().rows()).collect();
            assert_eq!(
                !rows.is_empty(),
                apart.iter().any(|start| name.starts_with(start)),
                "{name}"
            );
            let odd = rows
                .iter()
                .filter(|rows| rows.len % 2 == 1 && rows.len < rows.pitch);
            assert!(rows.is_empty() || odd.count() >= 5, "{name}");
        }
    }
}
