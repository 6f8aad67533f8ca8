//! Composition: a state, a possible fault and a log carried through a chain of steps, for each number of an array.
//!
//! The result: eight steps v ← factor(k) · v + k, of which each fails where the lowest byte of the new v is k, adds v to the state and
//! logs the highest byte of v; in four words the last v, 0, the state and a digest of the log; or, of a number that fails, 0, the step counted from 1, 0, 0.
//!
//! Least work: a word read and four written. The chain is short enough that computing does not bind on two threads; the variants run on one.
//!
//! The source: state, exception and output wrappers in C++ took 60 times as long as the plain loop, and 6 times the code.
//! Lines of code here: the plain loop 12, the iterator 20, combinators 22, on 55 in `action` that every such chain
//! shares.

mod action;

use crate::array::{Array, Fill, Layout};
use crate::family::{Family, LENGTHS, Ladder, OnCpu, Outcome, Problem, Variant, Work};

use action::{Action, Boxed, Digest, Fault, Log, State, bind};

pub(super) fn family() -> Family {
    let about = "eight steps for each number, with a state, a fault and a log";
    Family {
        name: "composition",
        about: "a state, a fault and a log carried through steps: what combinators cost",
        source: "C++: 60 times the plain loop's time, 6 times its code",
        source_size: "",
        wins: "Whatever the compiler can see through: iterators and combinators with known types become the \
               plain loop.",
        loses: "Boxed closures are calls that cannot be inlined. A log that every step makes anew allocates \
                for each number; the source's wrappers did both, for each element.",
        ladders: vec![Box::new(
            Ladder::new("composition", about, variants())
                .checks(|| LENGTHS.map(|numbers| Chain { numbers }).into())
                .cases(|scale| {
                    let numbers = scale.or(if scale.quick { 1 << 18 } else { 1 << 20 }) as usize;
                    vec![Chain { numbers }]
                }),
        )],
    }
}

/// The factors of the steps.
const FACTORS: [u32; 8] = [
    0x9E37_79B1,
    0x85EB_CA77,
    0xC2B2_AE3D,
    0x27D4_EB2F,
    0x1656_67B1,
    0x2C1B_3C6D,
    0x297A_2D39,
    0x846C_A68B,
];

fn variants() -> Vec<Variant<Chain>> {
    vec![
        Variant::cpu("plain loop", "local variables, left at a fault", |_, call| {
            each(call, plain)
        }),
        Variant::cpu("iterator", "a fold that may fail", |_, call| each(call, folded)),
        Variant::cpu(
            "combinators",
            "actions made of two actions, types known; the log a digest",
            |_, call| {
                let chain = combined::<Digest>();
                each(call, |number| told(chain.run(number, State::default())))
            },
        ),
        Variant::cpu(
            "combinators, log kept",
            "the same with all entries of the log",
            |_, call| {
                let chain = combined::<Vec<u32>>();
                each(call, |number| told(chain.run(number, State::default())))
            },
        ),
        Variant::cpu(
            "boxes",
            "closures in boxes, bound once; the log a digest",
            |_, call| {
                let chain = bound::<Digest>();
                each(call, |number| told(chain(number, State::default())))
            },
        ),
        Variant::cpu(
            "boxes, bound anew",
            "bound for each number, with all entries of the log",
            |_, call| each(call, |number| told(bound::<Vec<u32>>()(number, State::default()))),
        )
        .source("60 × the plain loop"),
    ]
}

/// What becomes of each number.
fn each(call: OnCpu<'_>, chain: impl Fn(u32) -> [u32; 4]) -> Outcome {
    let (results, _) = call.outputs[0].slice_mut::<u32>().as_chunks_mut::<4>();
    for (number, result) in call.inputs[0].slice::<u32>().iter().zip(results) {
        *result = chain(*number);
    }
    Ok(())
}

/// The words of an outcome.
#[inline]
fn told<L: Log>(outcome: action::Outcome<L>) -> [u32; 4] {
    match outcome {
        Ok((value, state, log)) => [value, 0, state.sum, log.digest()],
        Err(Fault(step)) => [0, step + 1, 0, 0],
    }
}

fn plain(number: u32) -> [u32; 4] {
    let (mut value, mut sum, mut digest) = (number, 0_u32, 0_u32);
    // rung: composition on cpu: plain loop
    for (factor, step) in FACTORS.into_iter().zip(0..) {
        value = value.wrapping_mul(factor).wrapping_add(step);
        if value & 0xff == step {
            return [0, step + 1, 0, 0];
        }
        sum = sum.wrapping_add(value);
        digest = digest.wrapping_mul(31).wrapping_add(value >> 24);
    }
    // end
    [value, 0, sum, digest]
}

fn folded(number: u32) -> [u32; 4] {
    let steps = FACTORS.iter().zip(0..);
    let start = (number, State::default(), Digest::empty());
    told(
        steps
            .into_iter()
            // rung: composition on cpu: iterator
            .try_fold(start, |(value, state, log), (factor, step)| {
                let (value, state, entry) = one::<Digest>(*factor, step, value, state)?;
                Ok((value, state, log.join(entry)))
            }),
        // end
    )
}

/// A step, as it is carried on.
#[inline]
fn one<L: Log>(factor: u32, step: u32, value: u32, state: State) -> action::Outcome<L> {
    let value = value.wrapping_mul(factor).wrapping_add(step);
    if value & 0xff == step {
        return Err(Fault(step));
    }
    let sum = state.sum.wrapping_add(value);
    Ok((value, State { sum }, L::entry(value >> 24)))
}

/// The step of this number as an action.
fn action<L: Log>(step: u32) -> impl Action<L> + Fn(u32, State) -> action::Outcome<L> {
    let factor = FACTORS[step as usize];
    move |value, state| one(factor, step, value, state)
}

fn combined<L: Log>() -> impl Action<L> {
    // rung: composition on cpu: combinators | combinators, log kept
    action(0)
        .then(action(1))
        .then(action(2))
        .then(action(3))
        .then(action(4))
        .then(action(5))
        .then(action(6))
        .then(action(7))
    // end
}

fn bound<L: Log + 'static>() -> Boxed<L> {
    // rung: composition on cpu: boxes | boxes, bound anew
    let nothing: Boxed<L> = Box::new(|value, state| Ok((value, state, L::empty())));
    (0..8).fold(nothing, |chain, step| bind(chain, Box::new(action(step))))
    // end
}

/// So many numbers through the chain.
struct Chain {
    numbers: usize,
}

impl Problem for Chain {
    fn label(&self) -> String {
        format!("{} u32", crate::quantity::count(self.numbers as u64))
    }

    fn elements(&self) -> u64 {
        self.numbers as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u32>(self.numbers), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(4 * self.numbers)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let modulus = 1_u64 << 32;
        let results = outputs[0].slice_mut::<u32>().chunks_mut(4);
        for (number, result) in inputs[0].slice::<u32>().iter().zip(results) {
            let mut values = vec![u64::from(*number)];
            for (step, factor) in FACTORS.iter().enumerate() {
                let last = values[step];
                values.push((last * u64::from(*factor) + step as u64) % modulus);
            }
            let made = &values[1..];
            let failed = made
                .iter()
                .enumerate()
                .position(|(step, value)| value % 256 == step as u64);
            result.copy_from_slice(&match failed {
                Some(step) => [0, step as u32 + 1, 0, 0],
                None => {
                    let sum = made.iter().sum::<u64>() % modulus;
                    let logged = made.iter().map(|value| value >> 24);
                    let digest = logged.fold(0, |digest, entry| (digest * 31 + entry) % modulus);
                    [made[7] as u32, 0, sum as u32, digest as u32]
                }
            });
        }
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 16 * self.elements())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_numbers_fail_at_every_step_that_can_fail_and_most_pass() {
        let mut count = [0; 9];
        for number in 0..20_000_u32 {
            let [_, status, ..] = plain(number.wrapping_mul(2_654_435_761));
            count[status as usize] += 1;
        }
        assert!(count[0] > 18_000, "{count:?}");
        // What would fail at the second step, whose new lowest byte is 1 only after a lowest byte of 0, has failed at the first.
        assert_eq!(count[2], 0);
        assert!(
            [1, 3, 4, 5, 6, 7, 8].iter().all(|status| count[*status] > 0),
            "{count:?}"
        );
    }
}
