//! The expressions of `${…}`: exact fractions, so that `${i * 0.1}` is 0.3 and not 0.30000000000000004.

use crate::length::{Decimal, Ratio};

/// The deepest nesting of parentheses and signs.
const MAX_DEPTH: usize = 64;

/// Reads a name as its number.
pub(super) type Lookup<'l> = dyn FnMut(&str) -> Result<Ratio, String> + 'l;

/// The value of an expression: numbers, names, `+ - * /`, parentheses and the functions that [`FUNCTIONS`] lists. Of the
/// numbers and names that may be `left` it takes those that it reads; where there are none left it has no value.
///
/// # Errors
/// A sentence that says what is wrong.
pub(super) fn evaluate(text: &str, left: &mut usize, lookup: &mut Lookup<'_>) -> Result<Ratio, String> {
    let mut reader = Reader {
        rest: text.trim_start(),
        depth: 0,
        left,
        lookup,
    };
    let value = reader.sum()?;
    match reader.rest.chars().next() {
        None => Ok(value),
        Some(found) => Err(format!("expected an operator, found {found:?}")),
    }
}

/// The functions, with the number of their arguments.
const FUNCTIONS: [(&str, usize); 7] = [
    ("abs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("round", 1),
    ("min", 2),
    ("max", 2),
    ("mod", 2),
];

struct Reader<'t, 'l, 'f> {
    rest: &'t str,
    depth: usize,
    left: &'l mut usize,
    lookup: &'l mut Lookup<'f>,
}

impl<'t> Reader<'t, '_, '_> {
    fn eat(&mut self, token: char) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: char) -> Result<(), String> {
        if self.eat(token) {
            return Ok(());
        }
        Err(match self.rest.chars().next() {
            None => format!("{token:?} is missing at the end"),
            Some(found) => format!("expected {token:?}, found {found:?}"),
        })
    }

    /// The text up to the first character that is no part.
    fn while_(&mut self, part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (found, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        found
    }

    fn sum(&mut self) -> Result<Ratio, String> {
        let mut value = self.product()?;
        loop {
            let next = if self.eat('+') {
                value.plus(self.product()?)
            } else if self.eat('-') {
                value.minus(self.product()?)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(too_large)?;
        }
    }

    fn product(&mut self) -> Result<Ratio, String> {
        let mut value = self.signed()?;
        loop {
            let next = if self.eat('*') {
                value.times(self.signed()?)
            } else if self.eat('/') {
                let divisor = self.signed()?;
                if divisor == Ratio::ZERO || divisor.whole() == Some(0) {
                    return Err("it divides by 0".to_owned());
                }
                value.over(divisor)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(too_large)?;
        }
    }

    fn signed(&mut self) -> Result<Ratio, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let value = if self.eat('-') {
            Ratio::ZERO.minus(self.signed()?).ok_or_else(too_large)?
        } else if self.eat('+') {
            self.signed()?
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn atom(&mut self) -> Result<Ratio, String> {
        *self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| "all expressions in texts together are too long".to_owned())?;
        if self.eat('(') {
            let value = self.sum()?;
            self.expect(')')?;
            return Ok(value);
        }
        match self.rest.chars().next() {
            None => Err("a number or a name is missing at the end".to_owned()),
            Some(first) if first.is_ascii_digit() || first == '.' => {
                let number = self.while_(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
                let good = number.chars().filter(|&c| c == '.').count() <= 1
                    && number.ends_with(|c: char| c.is_ascii_digit());
                let number = if good { Decimal::parse(number) } else { None };
                number
                    .map(Ratio::of)
                    .ok_or_else(|| "a number in it cannot be read".to_owned())
            }
            Some(first) if first.is_alphabetic() || first == '_' => {
                let name = self.while_(|c| c.is_alphanumeric() || c == '_');
                match FUNCTIONS.iter().find(|(function, _)| *function == name) {
                    Some(&(function, count)) if self.rest.starts_with('(') => self.call(function, count),
                    _ => (self.lookup)(name),
                }
            }
            Some(found) => Err(format!("expected a number or a name, found {found:?}")),
        }
    }

    fn call(&mut self, function: &str, count: usize) -> Result<Ratio, String> {
        self.expect('(')?;
        let first = self.sum()?;
        let second = if count == 2 {
            self.expect(',')?;
            self.sum()?
        } else {
            Ratio::ZERO
        };
        self.expect(')')?;
        let zero = || Ratio::ZERO;
        let is_negative = |ratio: Ratio| zero().minus(ratio).is_some_and(Ratio::is_positive);
        let floor = |ratio: Ratio| Ratio::integer(ratio.nearest().0);
        let exceeds = |a: Ratio, b: Ratio| a.minus(b).map(Ratio::is_positive).ok_or_else(too_large);
        let minus = |ratio: Ratio| zero().minus(ratio).ok_or_else(too_large);
        Ok(match function {
            "abs" if is_negative(first) => minus(first)?,
            "floor" => floor(first),
            "ceil" => minus(floor(minus(first)?))?,
            // Halves up.
            "round" => Ratio::integer(first.rounded()),
            "min" if exceeds(first, second)? => second,
            "max" if exceeds(second, first)? => second,
            "mod" => {
                let times = first.over(second).ok_or("it divides by 0")?;
                let whole = floor(times).times(second);
                whole.and_then(|whole| first.minus(whole)).ok_or_else(too_large)?
            }
            _ => first,
        })
    }
}

fn too_large() -> String {
    "its numbers have more digits than can be represented exactly".to_owned()
}

/// The names of the functions.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Ratio, String> {
        evaluate(text, &mut 1_000, &mut |name| match name {
            "i" => Ok(Ratio::integer(7)),
            "half" => Ok(Ratio::fraction(1, 2)),
            _ => Err(format!("{name} is unknown")),
        })
    }

    #[test]
    fn values_are_exact() {
        for (text, n, d) in [
            ("1 + 2 * 3", 7, 1),
            ("(1 + 2) * 3", 9, 1),
            ("-i - -i", 0, 1),
            ("0.1 + 0.2", 3, 10),
            ("i / 3 * 3", 7, 1),
            ("half*half", 1, 4),
            ("8 - 2 - 1", 5, 1),
            ("8 / 2 / 2", 2, 1),
            ("floor(-7 / 2)", -4, 1),
            ("ceil(-7 / 2)", -3, 1),
            ("round(7 / 2)", 4, 1),
            ("abs(-i)", 7, 1),
            ("min(3, i) + max(3, i)", 10, 1),
            ("mod(i, 4)", 3, 1),
            ("mod(-i, 4)", 1, 1),
            ("mod(1, 0.3)", 1, 10),
            ("1_000", 1_000, 1),
        ] {
            let found = value(text).unwrap();
            assert_eq!(
                found.minus(Ratio::fraction(n, d)).unwrap().whole(),
                Some(0),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in [
            "",
            "1 +",
            "(1",
            "1)",
            "1 2",
            "i i",
            "x",
            "1 / 0",
            "mod(1, 0)",
            "1 / (i - 7)",
            "1.2.3",
            "1.",
            "sin(1)",
            "min(1)",
            "min(1, 2, 3)",
            "*",
            "1e3",
            "\"a\"",
        ] {
            assert!(value(text).is_err(), "{text}: {:?}", value(text));
        }
        assert!(value(&"(".repeat(100_000)).is_err());
        assert!(value(&"-".repeat(100_000)).is_err());
        assert!(value(&"9".repeat(30)).is_err());
        assert!(value(&format!("1{}", "+1".repeat(998))).is_ok());
        assert!(value(&format!("1{}", "+1".repeat(1_100))).is_err());
        assert!(value(&format!("1{}", " * 999999999".repeat(20))).is_err());
    }
}
