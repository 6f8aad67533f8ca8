//! Index expressions: numbers, t, x and y, parentheses, and the operators of C on unsigned integers of 32 bits.
//!
//! From what binds least: `|`, `^`, `&`, `<<` and `>>`, `+` and `-`, `*`, `/` and `%`. What leaves 32 bits, falls below 0 or
//! divides by 0 has no value. The evaluators at hand compute with real numbers, or wrap.

/// The longest text, in bytes.
const LONGEST: usize = 200;

/// The deepest nesting of parentheses.
const DEEPEST: usize = 20;

/// An index, as a function of a unit's place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    /// The same for all units.
    Number(u32),
    /// `t`: the number of the unit in its cube.
    Unit,
    /// `x`: its column.
    X,
    /// `y`: its row.
    Y,
    /// Two values and what is done with them.
    Of(Operator, Box<Self>, Box<Self>),
}

/// What is done with two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `|`
    Or,
    /// `^`
    ExclusiveOr,
    /// `&`
    And,
    /// `<<`
    Left,
    /// `>>`
    Right,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounded down.
    Divide,
    /// `%`
    Remainder,
}

/// The operators by how they are written, those that bind least first.
const OPERATORS: [&[(&str, Operator)]; 6] = [
    &[("|", Operator::Or)],
    &[("^", Operator::ExclusiveOr)],
    &[("&", Operator::And)],
    &[("<<", Operator::Left), (">>", Operator::Right)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

impl Operator {
    fn apply(self, a: u32, b: u32) -> Option<u32> {
        // Bits that are shifted out are lost, as on a device; a shift by a word or more is none.
        match self {
            Self::Or => Some(a | b),
            Self::ExclusiveOr => Some(a ^ b),
            Self::And => Some(a & b),
            Self::Left => a.checked_shl(b),
            Self::Right => a.checked_shr(b),
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::Remainder => a.checked_rem(b),
        }
    }
}

/// A text that is no index expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected {expected} at byte {at}; an index has numbers, t, x, y, parentheses and + - * / % << >> & ^ |"
)]
pub struct SyntaxError {
    /// Where, in bytes.
    pub at: usize,
    /// What should be there.
    pub expected: &'static str,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Where the text is none, is longer than 200 bytes or nested deeper than 20.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut reader = Reader {
            text,
            at: 0,
            depth: 0,
        };
        if text.len() > LONGEST {
            reader.at = LONGEST;
            return Err(reader.expected("the end"));
        }
        let expression = reader.level(0)?;
        match reader.rest() {
            "" => Ok(expression),
            _ => Err(reader.expected("an operator or the end")),
        }
    }

    /// The index of unit `t`, which stands at (x, y); nothing where it has none.
    #[must_use]
    pub fn value(&self, t: u32, x: u32, y: u32) -> Option<u32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Unit => Some(t),
            Self::X => Some(x),
            Self::Y => Some(y),
            Self::Of(operator, a, b) => operator.apply(a.value(t, x, y)?, b.value(t, x, y)?),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    const fn expected(&self, expected: &'static str) -> SyntaxError {
        SyntaxError {
            at: self.at,
            expected,
        }
    }

    /// What has not been read, from the next character that is no blank.
    fn rest(&mut self) -> &'t str {
        let rest = self.text[self.at..].trim_start_matches(' ');
        self.at = self.text.len() - rest.len();
        rest
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// Values of a level that are joined by its operators, from the left.
    fn level(&mut self, level: usize) -> Result<Expression, SyntaxError> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.value();
        };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            let right = self.level(level + 1)?;
            left = Expression::Of(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Expression, SyntaxError> {
        for (name, value) in [
            ("t", Expression::Unit),
            ("x", Expression::X),
            ("y", Expression::Y),
        ] {
            if self.takes(name) {
                return Ok(value);
            }
        }
        if self.takes("(") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.expected("fewer parentheses"));
            }
            let inside = self.level(0)?;
            self.depth -= 1;
            return match self.takes(")") {
                true => Ok(inside),
                false => Err(self.expected("an operator or a closing parenthesis")),
            };
        }
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = rest[..digits].parse().map_err(|_| match digits {
            0 => self.expected("a number, t, x, y or an opening parenthesis"),
            _ => self.expected("a number below 2^32"),
        })?;
        self.at += digits;
        Ok(Expression::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// For t = 77, x = 13, y = 2.
    fn value(text: &str) -> Option<u32> {
        Expression::parse(text).unwrap().value(77, 13, 2)
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("t", 77),
            ("2*x+y", 28),
            ("2 * (x + y)", 30),
            ("x - y - 1", 10),
            ("100 / 7 / 2", 7),
            ("17 % 5 * 2", 4),
            ("1 | 2 ^ 3 & 6", 1),
            ("1 << 2 + 1", 8),
            ("256 >> y >> 1", 32),
            ("x ^ y", 15),
            (" ( ( t ) ) ", 77),
            ("4294967295", u32::MAX),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_leaves_the_range_has_no_value() {
        for text in [
            "y - x",
            "1 / (y - 2)",
            "t % 0",
            "65536 * 65536",
            "1 << 32",
            "4294967295 + 1",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_index_is_pointed_to() {
        for (text, at) in [
            ("", 0),
            ("2 t", 2),
            ("tt", 1),
            ("t +", 3),
            ("(t", 2),
            ("t)", 1),
            ("-t", 0),
            ("4294967296", 0),
            ("0x10", 1),
            ("t << < 1", 5),
            ("é", 0),
            ("t\t", 1),
        ] {
            assert_eq!(Expression::parse(text).unwrap_err().at, at, "{text:?}");
        }
        assert!(Expression::parse(&"(".repeat(100)).is_err());
        assert!(Expression::parse(&"t+".repeat(1_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+*/%<>&^|()txy0-9 é]{0,60}") {
            let _ = Expression::parse(&text);
        }
    }
}
