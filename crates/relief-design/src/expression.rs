//! Real functions written as text: `255 * (1 - (d / 40) ^ 2)`.
//!
//! The text is read here and handed to the evaluator `exmex` in a form that leaves it no choice: `exmex` alone would
//! take `-d^2` for (−d)², `2^3^2` for (2^3)^2 and `a*b/c` for a·(b/c), and knows no `1e-3`. Its values are blocks of
//! numbers, which spreads its work per operation over [`LANES`] values: about twenty times the speed of one
//! number at a time. Transcendental functions come from `libm`, so that a table is the same on every host.

use std::str::FromStr;

use exmex::prelude::*;
use exmex::{BinOp, FlatEx, MakeOperators, MatchLiteral, Operator};

use crate::signature::MAX_STRING;
use crate::suggestion::suggestion;

/// The numbers of a block.
pub(crate) const LANES: usize = 32;

/// The deepest nesting of parentheses, signs and powers.
const MAX_NESTING: usize = 64;

/// So many numbers at once.
#[derive(Clone, Debug)]
pub(crate) struct Block(pub(crate) [f64; LANES]);

impl Default for Block {
    fn default() -> Self {
        Self([0.0; LANES])
    }
}

impl FromStr for Block {
    type Err = std::num::ParseFloatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self([text.parse()?; LANES]))
    }
}

impl Block {
    fn each(self, f: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(f))
    }

    fn both(mut self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = f(*a, b);
        }
        self
    }
}

/// Functions of one value.
const UNARY: [&str; 16] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "ln", "log2", "log10", "abs", "sign",
    "floor", "ceil", "round",
];

/// Functions of two values.
const BINARY: [&str; 2] = ["min", "max"];

const CONSTANTS: [&str; 4] = ["pi", "PI", "π", "e"];

/// The operators as `exmex` wants them.
#[derive(Clone, Debug)]
struct Operators;

impl MakeOperators<Block> for Operators {
    fn make<'a>() -> Vec<Operator<'a, Block>> {
        let binary = |apply, prio| BinOp {
            apply,
            prio,
            is_commutative: false,
        };
        vec![
            Operator::make_bin("+", binary(|a: Block, b: Block| a.both(b, |a, b| a + b), 0)),
            Operator::make_bin_unary(
                "-",
                binary(|a: Block, b: Block| a.both(b, |a, b| a - b), 0),
                |a: Block| a.each(|a| -a),
            ),
            Operator::make_bin("*", binary(|a: Block, b: Block| a.both(b, |a, b| a * b), 1)),
            Operator::make_bin("/", binary(|a: Block, b: Block| a.both(b, |a, b| a / b), 1)),
            Operator::make_bin("^", binary(|a: Block, b: Block| a.both(b, libm::pow), 2)),
            Operator::make_bin("min", binary(|a: Block, b: Block| a.both(b, lesser), 3)),
            Operator::make_bin("max", binary(|a: Block, b: Block| a.both(b, greater), 3)),
            Operator::make_unary("sin", |a: Block| a.each(libm::sin)),
            Operator::make_unary("cos", |a: Block| a.each(libm::cos)),
            Operator::make_unary("tan", |a: Block| a.each(libm::tan)),
            Operator::make_unary("asin", |a: Block| a.each(libm::asin)),
            Operator::make_unary("acos", |a: Block| a.each(libm::acos)),
            Operator::make_unary("atan", |a: Block| a.each(libm::atan)),
            Operator::make_unary("sqrt", |a: Block| a.each(f64::sqrt)),
            Operator::make_unary("exp", |a: Block| a.each(libm::exp)),
            Operator::make_unary("ln", |a: Block| a.each(libm::log)),
            Operator::make_unary("log2", |a: Block| a.each(libm::log2)),
            Operator::make_unary("log10", |a: Block| a.each(libm::log10)),
            Operator::make_unary("abs", |a: Block| a.each(f64::abs)),
            Operator::make_unary("sign", |a: Block| a.each(sign)),
            Operator::make_unary("floor", |a: Block| a.each(f64::floor)),
            Operator::make_unary("ceil", |a: Block| a.each(f64::ceil)),
            Operator::make_unary("round", |a: Block| a.each(f64::round)),
            Operator::make_constant("PI", Block([std::f64::consts::PI; LANES])),
            Operator::make_constant("E", Block([std::f64::consts::E; LANES])),
        ]
    }
}

/// The lesser; not a number where one of them is none, unlike `f64::min`.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

fn sign(a: f64) -> f64 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a
    }
}

/// Numbers with an exponent, which `exmex` alone does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Numbers;

impl MatchLiteral for Numbers {
    fn is_literal(text: &str) -> Option<&str> {
        let length = number_length(text);
        (length > 0).then(|| &text[..length])
    }
}

/// The bytes of the number at the start of the text: `12`, `0.5`, `.5`, `5.`, `1e-3`.
fn number_length(text: &str) -> usize {
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let mut length = whole;
    if text[length..].starts_with('.') {
        let fraction = digits(&text[length + 1..]);
        if whole + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return 0;
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits(signed) > 0 {
            length += 1 + (exponent.len() - signed.len()) + digits(signed);
        }
    }
    length
}

/// What is wrong with an expression: where in its text, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadExpression {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// A function of one variable.
#[derive(Debug)]
pub(crate) struct Function {
    compiled: FlatEx<Block, Operators, Numbers>,
    operations: u64,
}

impl Function {
    /// Reads the text as a function of `variable`.
    pub(crate) fn parse(text: &str, variable: &str) -> Result<Self, BadExpression> {
        let mut reader = Reader {
            text,
            at: 0,
            nesting: 0,
            variable,
            out: String::new(),
            operations: 1,
        };
        if text.len() > MAX_STRING {
            return Err(reader.bad(format!(
                "an expression of {} bytes is longer than the {MAX_STRING} allowed",
                text.len()
            )));
        }
        reader.sum()?;
        reader.space();
        if reader.at < text.len() {
            return Err(reader.unexpected("an operator: + - * / ^"));
        }
        let compiled = FlatEx::parse(&reader.out).map_err(|error| BadExpression {
            at: 0,
            message: format!("the expression cannot be evaluated: {error}"),
            help: "write it in another way".into(),
        })?;
        Ok(Self {
            compiled,
            operations: reader.operations,
        })
    }

    /// How many operations it takes to evaluate it once; at least 1.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Its values; not a number where the evaluator fails, which no function that was read makes it do.
    pub(crate) fn values(&self, at: Block) -> Block {
        let variables = [at];
        let used = self.compiled.var_names().len();
        self.compiled
            .eval(&variables[..used.min(1)])
            .unwrap_or(Block([f64::NAN; LANES]))
    }
}

/// Reads sums of products of powers, and writes what it understood.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
    variable: &'t str,
    out: String,
    operations: u64,
}

impl Reader<'_> {
    fn bad(&self, message: String) -> BadExpression {
        let help = format!(
            "an expression holds numbers, {}, pi, e, + - * / ^, parentheses and the functions {} of one value and {} of two",
            self.variable,
            UNARY.join(" "),
            BINARY.join(" ")
        );
        BadExpression {
            at: self.at,
            message,
            help,
        }
    }

    fn unexpected(&self, expected: &str) -> BadExpression {
        match self.text[self.at..].chars().next() {
            Some(found) => self.bad(format!("expected {expected}, found '{}'", found.escape_debug())),
            None => self.bad(format!("expected {expected}, found the end of the expression")),
        }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The operator that follows, if it is one of these.
    fn operator(&mut self, among: &[char]) -> Option<char> {
        self.space();
        let c = self.text[self.at..]
            .chars()
            .next()
            .filter(|c| among.contains(c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadExpression>,
    ) -> Result<T, BadExpression> {
        if self.nesting == MAX_NESTING {
            return Err(self.bad(format!("the expression is nested more than {MAX_NESTING} deep")));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn chain(
        &mut self,
        operators: &[char],
        operand: fn(&mut Self) -> Result<(), BadExpression>,
    ) -> Result<(), BadExpression> {
        operand(self)?;
        while let Some(operator) = self.operator(operators) {
            self.operations += 1;
            self.out.push(operator);
            operand(self)?;
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), BadExpression> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<(), BadExpression> {
        self.chain(&['*', '/'], Self::signed)
    }

    /// A power with a sign, which binds less than the power: −d² is −(d²).
    fn signed(&mut self) -> Result<(), BadExpression> {
        match self.operator(&['+', '-']) {
            None => self.power(),
            Some('+') => self.nested(Self::signed),
            Some(_) => {
                self.operations += 1;
                self.out.push_str("(-(");
                self.nested(Self::signed)?;
                self.out.push_str("))");
                Ok(())
            }
        }
    }

    /// A power, which binds to the right: a^b^c is a^(b^c).
    fn power(&mut self) -> Result<(), BadExpression> {
        self.primary()?;
        if self.operator(&['^']).is_some() {
            // A power counts for ten, as functions do: about what they cost.
            self.operations += 10;
            self.out.push_str("^(");
            self.nested(Self::signed)?;
            self.out.push(')');
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), BadExpression> {
        self.space();
        let rest = &self.text[self.at..];
        let number = number_length(rest);
        if number > 0 {
            self.out.push_str(&rest[..number]);
            self.at += number;
            return Ok(());
        }
        if rest.starts_with('(') {
            return self.parenthesis();
        }
        let length = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let name = &rest[..length];
        if name.is_empty() {
            return Err(self.unexpected("a number, a name or an opening parenthesis"));
        }
        if name == self.variable {
            self.out.push_str(name);
        } else if name == "e" {
            self.out.push('E');
        } else if CONSTANTS.contains(&name) {
            self.out.push_str("PI");
        } else if UNARY.contains(&name) {
            self.operations += 10;
            self.out.push_str(name);
            self.at += length;
            return self.parenthesis();
        } else if BINARY.contains(&name) {
            self.operations += 1;
            self.at += length;
            return self.pair(name);
        } else {
            return Err(self.unknown(name));
        }
        self.at += length;
        Ok(())
    }

    fn unknown(&self, name: &str) -> BadExpression {
        let names = UNARY
            .iter()
            .chain(&BINARY)
            .chain(&CONSTANTS)
            .copied()
            .chain([self.variable]);
        let mut bad = self.bad(format!("the name {name} is unknown"));
        if let Some(near) = suggestion(name, names) {
            bad.help = format!("did you mean {near}? {}", bad.help);
        }
        bad
    }

    /// A sum between parentheses.
    fn parenthesis(&mut self) -> Result<(), BadExpression> {
        self.expect('(', "an opening parenthesis")?;
        self.out.push('(');
        self.nested(Self::sum)?;
        self.expect(')', "a closing parenthesis")?;
        self.out.push(')');
        Ok(())
    }

    /// Two sums between parentheses, with a comma between them. They are written as operands of an operator: `exmex`
    /// reads its own form with a comma only where it is not nested.
    fn pair(&mut self, name: &str) -> Result<(), BadExpression> {
        self.expect('(', "an opening parenthesis")?;
        self.out.push_str("((");
        self.nested(Self::sum)?;
        self.expect(',', "a comma and a second value")?;
        self.out.push_str(&format!(") {name} ("));
        self.nested(Self::sum)?;
        self.expect(')', "a closing parenthesis")?;
        self.out.push_str("))");
        Ok(())
    }

    fn expect(&mut self, token: char, what: &str) -> Result<(), BadExpression> {
        match self.operator(&[token]) {
            Some(_) => Ok(()),
            None => Err(self.unexpected(what)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, d: f64) -> f64 {
        Function::parse(text, "d")
            .unwrap_or_else(|bad| panic!("{text}: {bad:?}"))
            .values(Block([d; LANES]))
            .0[7]
    }

    #[test]
    fn signs_and_powers_bind_as_in_mathematics() {
        for (text, expected) in [
            ("-d^2", -9.0),
            ("(-d)^2", 9.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("2 - 3 - 4", -5.0),
            ("2/4/8", 0.0625),
            ("7 * d / 2", 10.5),
            ("1 - 2 + 3", 2.0),
            ("2*-d", -6.0),
            ("--d", 3.0),
            ("+d", 3.0),
            ("6 / d * 2", 4.0),
            ("-2^2^-1", -libm::pow(2.0, 0.5)),
            ("(((d)))", 3.0),
            ("2*d^2", 18.0),
            ("1+-1", 0.0),
        ] {
            assert_eq!(value(text, 3.0), expected, "{text}");
        }
    }

    #[test]
    fn functions_and_constants_have_their_values() {
        for (text, expected) in [
            ("pi", std::f64::consts::PI),
            ("π", std::f64::consts::PI),
            ("PI", std::f64::consts::PI),
            ("e", std::f64::consts::E),
            ("1e-3", 0.001),
            ("1.5E2", 150.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("2e0*e", 2.0 * std::f64::consts::E),
            ("min(d, 2)", 2.0),
            ("max(1, d) ^ 2", 9.0),
            ("min(1,2)*min(3,4)", 3.0),
            ("min(max(1, 5), d - 1)", 2.0),
            ("sqrt(d*d)", 3.0),
            ("abs(-d)", 3.0),
            ("sign(-d)", -1.0),
            ("sign(0)", 0.0),
            ("floor(2.7)", 2.0),
            ("ceil(2.1)", 3.0),
            ("round(2.5)", 3.0),
            ("round(-2.5)", -3.0),
            ("sin(0)", 0.0),
            ("cos(0)", 1.0),
            ("tan(0)", 0.0),
            ("asin(1)", libm::asin(1.0)),
            ("acos(1)", 0.0),
            ("atan(1)", libm::atan(1.0)),
            ("exp(0)", 1.0),
            ("ln(1)", 0.0),
            ("log2(8)", 3.0),
            ("log10(1000)", 3.0),
            (
                "sin (d) + cos(d)^2",
                libm::sin(3.0) + libm::pow(libm::cos(3.0), 2.0),
            ),
            ("-sin(d)^2", -libm::pow(libm::sin(3.0), 2.0)),
        ] {
            assert_eq!(value(text, 3.0), expected, "{text}");
        }
        assert!(value("min(0/0, 1)", 0.0).is_nan() && value("max(1, sqrt(-1))", 0.0).is_nan());
    }

    #[test]
    fn what_cannot_be_read_is_pointed_to() {
        for (text, at) in [
            ("", 0),
            ("  ", 2),
            ("2 d", 2),
            ("d(3)", 1),
            ("1 +", 3),
            ("(d", 2),
            ("d)", 1),
            ("()", 1),
            ("sin d", 4),
            ("min(1)", 5),
            ("min(1,2,3)", 7),
            ("sin(1,2)", 5),
            ("v", 0),
            ("{d}", 0),
            ("d = 3", 2),
            ("|d|", 0),
            ("5 % 3", 2),
            ("1..2", 2),
            ("2 ** 3", 3),
            ("2e3d", 3),
            ("d,d", 1),
            ("foo(1)", 0),
            ("𝔘", 0),
            ("\0", 0),
            ("1;2", 1),
        ] {
            assert_eq!(
                Function::parse(text, "d").map(|_| ()).unwrap_err().at,
                at,
                "{text}"
            );
        }
    }

    #[test]
    fn hostile_expressions_are_refused_or_read_quickly() {
        for text in [
            "(".repeat(4_000),
            "-".repeat(4_000),
            "d^".repeat(2_000),
            "sin(".repeat(1_000),
            "d+".repeat(3_000),
        ] {
            assert!(Function::parse(&text, "d").is_err());
        }
        assert_eq!(value(&format!("{}d", "d-d+".repeat(1_000)), 3.0), 3.0);
        let deep = format!("{}d{}", "min(1,".repeat(60), ")".repeat(60));
        assert_eq!(value(&deep, 0.5), 0.5);
    }
}
