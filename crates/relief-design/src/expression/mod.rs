//! Real functions written as text: `255 * (1 - (d / 40) ^ 2)`.
//!
//! The text becomes operations in postfix order, which are applied to [`LANES`] numbers at a time. Every number is
//! a binary64; + − × ÷ √ are rounded once each, in the order written. Transcendental functions come from `libm`, so
//! that a table is the same on every host.
//!
//! What an expression takes is counted, in quarters of a nanosecond of a common processor, so that the work of a design
//! stays bounded: every step counts, also one that only puts a number on the stack. Most operations take about as long for
//! any argument. Those on subnormal numbers, and sines of numbers above 2^20, take up to a hundred times as long, so
//! [`Evaluator`] counts them as they occur.

mod operation;
mod program;

use crate::length::{Metres, metres};
use crate::signature::MAX_STRING;
use crate::suggestion::Suggestions;
use crate::syntax::{quoted, shortened};

pub use operation::LANES;
pub(crate) use operation::{Binary, Unary};
pub(crate) use program::{Builder, Parameter, is_name, is_taken, words};
pub use program::{Input, MAX_STEPS, Program, Separated};

/// What a value counts for beside the steps of its function: its argument, a square root, and its rounding.
const VALUE: u64 = 16;

/// What it counts for to put a number or the variable on the stack.
const PUSH: u64 = 2;

/// The deepest nesting of parentheses, signs and powers.
const MAX_NESTING: usize = 64;

/// So many numbers at once.
pub(crate) type Block = [f64; LANES];

const CONSTANTS: [(&str, f64); 4] = [
    ("pi", std::f64::consts::PI),
    ("PI", std::f64::consts::PI),
    ("π", std::f64::consts::PI),
    ("e", std::f64::consts::E),
];

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
    /// The code of the problem.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// One step of an evaluation, on a stack of blocks. `V` says which variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step<V> {
    /// Puts a variable on the stack.
    Variable(V),
    /// Puts the number of these bits on the stack.
    Number(u64),
    /// Replaces the block on top.
    Unary(Unary),
    /// Replaces the two blocks on top by one.
    Binary(Binary),
}

/// A function of one variable.
#[derive(Debug)]
pub(crate) struct Function {
    /// In postfix order: every operand stands before its operation.
    steps: Vec<Step<()>>,
    operations: u64,
}

impl Function {
    /// Reads the text as a function of `variable`.
    pub(crate) fn parse(text: &str, variable: &str) -> Result<Self, BadExpression> {
        let names = [(variable, Meaning::Step(Step::Variable(())))];
        let mut reader = Reader::new(text, &names);
        reader.whole()?;
        // Thousands of functions may be kept at once.
        reader.steps.shrink_to_fit();
        Ok(Self {
            steps: reader.steps,
            operations: VALUE + reader.operations,
        })
    }

    /// How many operations it takes to evaluate it once, for arguments that are quick.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }
}

/// A block on the stack.
#[derive(Clone, Debug)]
struct Operand {
    values: Block,
    /// Whether one of them is subnormal, which makes what is computed of it slow.
    subnormal: bool,
}

/// A function with the stack that evaluates it.
#[derive(Debug)]
pub(crate) struct Evaluator<'f> {
    function: &'f Function,
    stack: Vec<Operand>,
    /// Operations beyond [`Function::operations`] that slow arguments have taken.
    slow: u64,
}

impl<'f> Evaluator<'f> {
    pub(crate) fn new(function: &'f Function) -> Self {
        Self {
            function,
            stack: Vec::new(),
            slow: 0,
        }
    }

    /// The values of the function.
    pub(crate) fn values(&mut self, at: &Block) -> Block {
        self.stack.clear();
        let subnormal = operation::has_subnormal(at);
        for step in &self.function.steps {
            match *step {
                Step::Variable(()) => self.stack.push(Operand {
                    values: *at,
                    subnormal,
                }),
                Step::Number(bits) => {
                    let number = f64::from_bits(bits);
                    self.stack.push(Operand {
                        values: [number; LANES],
                        subnormal: number.is_subnormal(),
                    });
                }
                Step::Unary(operation) => {
                    if let Some(top) = self.stack.last_mut() {
                        self.slow +=
                            top.apply(operation.extra(&top.values), |values| operation.apply(values));
                    }
                }
                Step::Binary(operation) => {
                    if let [.., left, right] = &mut self.stack[..] {
                        left.subnormal |= right.subnormal;
                        let extra = operation.extra(&right.values);
                        self.slow += left.apply(extra, |values| operation.apply(values, &right.values));
                        self.stack.pop();
                    }
                }
            }
        }
        // Every expression leaves one block.
        self.stack
            .pop()
            .map_or([f64::NAN; LANES], |operand| operand.values)
    }

    /// The operations that slow arguments have taken since this was asked for last.
    pub(crate) fn take_slow(&mut self) -> u64 {
        std::mem::take(&mut self.slow)
    }
}

impl Operand {
    /// Applies an operation; the operations that it took beyond what it takes on quick arguments.
    fn apply(&mut self, extra: u64, operation: impl FnOnce(&mut Block)) -> u64 {
        operation(&mut self.values);
        let subnormal = operation::has_subnormal(&self.values);
        let slow = self.subnormal || subnormal;
        self.subnormal = subnormal;
        extra + if slow { operation::SLOW * LANES as u64 } else { 0 }
    }
}

/// What a name of an expression stands for.
#[derive(Clone, Copy, Debug)]
enum Meaning<'n, V> {
    Step(Step<V>),
    /// A length, which takes the side of a pixel, and that is unknown.
    Pixels,
    /// A parameter that is neither a number nor a length.
    Text(&'n str),
}

/// A name of an expression and what it stands for.
type Name<'n, V> = (&'n str, Meaning<'n, V>);

/// The most names that a message lists.
const MAX_LISTED: usize = 24;

/// Reads sums of products of powers, and writes their steps.
struct Reader<'t, V> {
    text: &'t str,
    at: usize,
    nesting: usize,
    names: &'t [Name<'t, V>],
    /// Whether a number may have a unit, which makes it metres.
    metric: bool,
    steps: Vec<Step<V>>,
    operations: u64,
}

impl<'t, V: Copy> Reader<'t, V> {
    fn new(text: &'t str, names: &'t [Name<'t, V>]) -> Self {
        Self {
            text,
            at: 0,
            nesting: 0,
            names,
            metric: false,
            steps: Vec::new(),
            operations: 0,
        }
    }

    /// Reads the whole text as one expression.
    fn whole(&mut self) -> Result<(), BadExpression> {
        if self.text.len() > MAX_STRING {
            return Err(self.bad(format!(
                "an expression of {} bytes is longer than the {MAX_STRING} allowed",
                self.text.len()
            )));
        }
        self.sum()?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.unexpected("an operator: + - * / ^"));
        }
        Ok(())
    }

    fn bad(&self, message: String) -> BadExpression {
        let listed = self.names.iter().take(MAX_LISTED);
        let mut names: Vec<String> = listed.map(|(name, _)| shortened(name).into_owned()).collect();
        if self.names.len() > MAX_LISTED {
            names.push("…".to_owned());
        }
        let help = format!(
            "an expression holds numbers, {}, pi, e, + - * / ^, parentheses and the functions {} of one value and {} of two",
            names.join(", "),
            Unary::ALL.map(Unary::name).join(" "),
            Binary::NAMED.map(Binary::name).join(" ")
        );
        BadExpression {
            at: self.at,
            code: "E701",
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

    fn operand(&mut self, step: Step<V>) {
        self.operations += PUSH;
        self.steps.push(step);
    }

    fn unary(&mut self, operation: Unary) {
        self.operations += operation.operations();
        self.steps.push(Step::Unary(operation));
    }

    fn binary(&mut self, operation: Binary) {
        self.operations += operation.operations();
        self.steps.push(Step::Binary(operation));
    }

    fn chain(
        &mut self,
        operators: [(char, Binary); 2],
        operand: fn(&mut Self) -> Result<(), BadExpression>,
    ) -> Result<(), BadExpression> {
        operand(self)?;
        while let Some(found) = self.operator(&operators.map(|(sign, _)| sign)) {
            operand(self)?;
            operators
                .iter()
                .filter(|(sign, _)| *sign == found)
                .for_each(|&(_, operation)| self.binary(operation));
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), BadExpression> {
        self.chain([('+', Binary::Add), ('-', Binary::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<(), BadExpression> {
        self.chain([('*', Binary::Multiply), ('/', Binary::Divide)], Self::signed)
    }

    /// A power with a sign, which binds less than the power: −d² is −(d²).
    fn signed(&mut self) -> Result<(), BadExpression> {
        match self.operator(&['+', '-']) {
            None => self.power(),
            Some('+') => self.nested(Self::signed),
            Some(_) => {
                self.nested(Self::signed)?;
                self.unary(Unary::Negate);
                Ok(())
            }
        }
    }

    /// A power, which binds to the right: a^b^c is a^(b^c).
    fn power(&mut self) -> Result<(), BadExpression> {
        self.primary()?;
        if self.operator(&['^']).is_some() {
            self.nested(Self::signed)?;
            self.binary(Binary::Power);
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), BadExpression> {
        self.space();
        let rest = &self.text[self.at..];
        let number = number_length(rest);
        if number > 0 {
            // What `number_length` takes is a number to Rust as well; one that is too great is infinite.
            let mut value: f64 = rest[..number].parse().unwrap_or(f64::NAN);
            let mut length = number;
            if self.metric {
                match metres(&rest[..number], &rest[number..]) {
                    Metres::NoUnit => {}
                    Metres::TooLong => return Err(self.long()),
                    Metres::Length(metres, unit) => {
                        value = metres;
                        length += unit;
                    }
                }
            }
            self.operand(Step::Number(value.to_bits()));
            self.at += length;
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
        if let Some((_, meaning)) = self.names.iter().find(|(known, _)| *known == name) {
            match meaning {
                Meaning::Step(step) => self.operand(*step),
                Meaning::Pixels => return Err(self.without_pixels(name)),
                Meaning::Text(text) => return Err(self.no_number(name, text)),
            }
        } else if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            self.operand(Step::Number(value.to_bits()));
        } else if let Some(operation) = Unary::ALL.into_iter().find(|operation| operation.name() == name) {
            self.at += length;
            self.parenthesis()?;
            self.unary(operation);
            return Ok(());
        } else if let Some(operation) = Binary::NAMED
            .into_iter()
            .find(|operation| operation.name() == name)
        {
            self.at += length;
            self.pair()?;
            self.binary(operation);
            return Ok(());
        } else {
            return Err(self.unknown(name));
        }
        self.at += length;
        Ok(())
    }

    fn without_pixels(&self, name: &str) -> BadExpression {
        BadExpression {
            code: "E406",
            help: "add pixel=\"10um\" (or what it is) to the canvas, or count in pixels: x and y".to_owned(),
            ..self.bad(format!(
                "`{name}` is in metres, and the canvas does not say how large a pixel is"
            ))
        }
    }

    fn no_number(&self, name: &str, text: &str) -> BadExpression {
        BadExpression {
            help: "a formula takes parameters that are numbers, such as 7.5, and lengths with a unit, such as \"50mm\", which it \
                   has in metres"
                .to_owned(),
            ..self.bad(format!(
                "the parameter {} is the text {}, neither a number nor a length with a unit",
                shortened(name),
                quoted(text)
            ))
        }
    }

    fn long(&self) -> BadExpression {
        BadExpression {
            help: "write fewer digits, or the number in metres without a unit".to_owned(),
            ..self.bad("a length has more digits than can be represented exactly".to_owned())
        }
    }

    fn unknown(&self, name: &str) -> BadExpression {
        let names: Vec<&str> = Unary::ALL
            .map(Unary::name)
            .into_iter()
            .chain(Binary::NAMED.map(Binary::name))
            .chain(CONSTANTS.map(|(name, _)| name))
            .chain(self.names.iter().map(|(name, _)| *name))
            .collect();
        let mut bad = self.bad(format!("the name {} is unknown", shortened(name)));
        if let Some(near) = Suggestions::default().near(name, names) {
            bad.help = format!("did you mean {near}? {}", bad.help);
        }
        bad
    }

    /// A sum between parentheses.
    fn parenthesis(&mut self) -> Result<(), BadExpression> {
        self.expect('(', "an opening parenthesis")?;
        self.nested(Self::sum)?;
        self.expect(')', "a closing parenthesis")
    }

    /// Two sums between parentheses, with a comma between them.
    fn pair(&mut self) -> Result<(), BadExpression> {
        self.expect('(', "an opening parenthesis")?;
        self.nested(Self::sum)?;
        self.expect(',', "a comma and a second value")?;
        self.nested(Self::sum)?;
        self.expect(')', "a closing parenthesis")
    }

    fn expect(&mut self, token: char, what: &str) -> Result<(), BadExpression> {
        match self.operator(&[token]) {
            Some(_) => Ok(()),
            None => Err(self.unexpected(what)),
        }
    }
}

#[cfg(test)]
mod tests;
