//! Steps that carry a state, may fail, and leave a log, and how two of them make one.
//!
//! A step takes a value and a state to a value, a state and a log, or to a fault: the composition of the state, the exception and the
//! writer monad. [`Action::then`] is their bind: it passes value and state on, joins the logs, and stops at a fault.

/// What is carried beside the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Of all values so far.
    pub(super) sum: u32,
}

/// Which step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault(pub(super) u32);

/// What steps leave behind: entries in their order.
pub(super) trait Log: Sized {
    /// No entry.
    fn empty() -> Self;
    /// One entry.
    fn entry(word: u32) -> Self;
    /// The entries of this, then those of the other.
    fn join(self, other: Self) -> Self;
    /// Its entries as digits of a number to the base 31, wrapping.
    fn digest(&self) -> u32;
}

/// The entries themselves.
impl Log for Vec<u32> {
    fn empty() -> Self {
        Self::new()
    }

    fn entry(word: u32) -> Self {
        vec![word]
    }

    fn join(mut self, other: Self) -> Self {
        self.extend(other);
        self
    }

    fn digest(&self) -> u32 {
        self.iter()
            .fold(0, |digest, entry| digest.wrapping_mul(31).wrapping_add(*entry))
    }
}

/// Their digest alone, which can be joined as well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    digits: u32,
    /// 31 to the number of entries.
    power: u32,
}

impl Log for Digest {
    #[inline]
    fn empty() -> Self {
        Self { digits: 0, power: 1 }
    }

    #[inline]
    fn entry(word: u32) -> Self {
        Self {
            digits: word,
            power: 31,
        }
    }

    #[inline]
    fn join(self, other: Self) -> Self {
        Self {
            digits: self.digits.wrapping_mul(other.power).wrapping_add(other.digits),
            power: self.power.wrapping_mul(other.power),
        }
    }

    #[inline]
    fn digest(&self) -> u32 {
        self.digits
    }
}

/// What a step comes to.
pub(super) type Outcome<L> = Result<(u32, State, L), Fault>;

/// A step, or several of them.
pub(super) trait Action<L: Log> {
    /// Takes a value and a state on.
    fn run(&self, value: u32, state: State) -> Outcome<L>;

    /// This, then the other.
    #[inline]
    fn then<B: Action<L>>(self, next: B) -> Then<Self, B>
    where
        Self: Sized,
    {
        Then(self, next)
    }
}

/// Two actions, one after the other.
pub(super) struct Then<A, B>(A, B);

impl<L: Log, A: Action<L>, B: Action<L>> Action<L> for Then<A, B> {
    #[inline]
    fn run(&self, value: u32, state: State) -> Outcome<L> {
        let (value, state, first) = self.0.run(value, state)?;
        let (value, state, second) = self.1.run(value, state)?;
        Ok((value, state, first.join(second)))
    }
}

/// An action that a function computes.
impl<L: Log, F: Fn(u32, State) -> Outcome<L>> Action<L> for F {
    #[inline]
    fn run(&self, value: u32, state: State) -> Outcome<L> {
        self(value, state)
    }
}

/// An action whose type is not known where it is called.
pub(super) type Boxed<L> = Box<dyn Fn(u32, State) -> Outcome<L> + Send + Sync>;

/// Two boxed actions, one after the other, in a box.
pub(super) fn bind<L: Log + 'static>(first: Boxed<L>, second: Boxed<L>) -> Boxed<L> {
    Box::new(move |value, state| {
        let (value, state, before) = first(value, state)?;
        let (value, state, after) = second(value, state)?;
        Ok((value, state, before.join(after)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: u32, state: State) -> Outcome<Vec<u32>> {
        Ok((
            2 * value,
            State {
                sum: state.sum + value,
            },
            vec![value],
        ))
    }

    fn fail(_: u32, _: State) -> Outcome<Vec<u32>> {
        Err(Fault(7))
    }

    #[test]
    fn actions_carry_value_state_and_log_on() {
        let twice = double.then(double);
        let (value, state, log) = twice.run(3, State { sum: 1 }).unwrap();
        assert_eq!((value, state.sum, log), (12, 10, vec![3, 6]));
    }

    #[test]
    fn the_first_fault_ends_it() {
        let never = |_: u32, _: State| -> Outcome<Vec<u32>> { unreachable!("after a fault") };
        assert_eq!(
            double.then(fail).then(never).run(3, State::default()),
            Err(Fault(7))
        );
    }

    #[test]
    fn how_actions_are_grouped_does_not_matter() {
        let left = double.then(double).then(double);
        let right = double.then(double.then(double));
        let boxed = bind(Box::new(double), bind(Box::new(double), Box::new(double)));
        let start = State::default();
        assert_eq!(left.run(5, start), right.run(5, start));
        assert_eq!(left.run(5, start), boxed(5, start));
    }

    #[test]
    fn a_digest_is_that_of_the_entries() {
        let entries = [3, 1, 4, 1, 5];
        let kept = entries
            .iter()
            .fold(Vec::empty(), |log, entry| log.join(Vec::entry(*entry)));
        let digest = entries
            .iter()
            .fold(Digest::empty(), |log, entry| log.join(Digest::entry(*entry)));
        assert_eq!(kept.digest(), digest.digest());
        let halves = Digest::entry(3).join(Digest::entry(1));
        let rest = Digest::entry(4).join(Digest::entry(1)).join(Digest::entry(5));
        assert_eq!(halves.join(rest).digest(), kept.digest());
    }
}
