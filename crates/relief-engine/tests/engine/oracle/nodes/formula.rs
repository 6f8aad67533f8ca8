//! `formula`: the value of an expression at the place of a pixel, computed from its tree by what `f64` of the standard
//! library gives.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub(crate) lets: Vec<Term>,
    pub(crate) result: Term,
    /// The result is a height in metres.
    pub(crate) height: bool,
    pub(crate) sources: Vec<Item>,
}

/// An expression as a tree.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    /// A number as written, and what it is.
    Number(&'static str, f64),
    /// What every formula and every design of the oracle has.
    Name(&'static str),
    /// A `let`, or a child, of this number, where there are so many; else 3.
    Let(usize),
    Child(usize),
    One(&'static str, Box<Term>),
    Two(&'static str, Box<Term>, Box<Term>),
}

const CHILDREN: [&str; 3] = ["a", "b", "c"];
const LETS: [&str; 2] = ["u", "v"];

/// Numbers, with and without a unit.
const NUMBERS: [(&str, f64); 12] = [
    ("0", 0.0),
    ("0.1", 0.1),
    ("1", 1.0),
    ("2.5", 2.5),
    ("7", 7.0),
    ("300", 300.0),
    ("1e-6", 1e-6),
    ("31um", 31e-6),
    ("7.5 mm", 7.5e-3),
    ("2in", 0.0508),
    (".5m", 0.5),
    ("10nm", 10e-9),
];

const NAMES: [&str; 12] = [
    "x", "y", "r", "w", "h", "M", "X", "Y", "px", "pi", "focus", "gain",
];

/// What a term may name.
#[derive(Clone, Copy)]
struct Names<'n> {
    place: (f64, f64),
    size: (f64, f64),
    max: f64,
    lets: &'n [f64],
    children: &'n [f64],
}

impl Names<'_> {
    fn value(&self, name: &str) -> f64 {
        // The canvas of the oracle has pixels of 1 mm.
        const PIXEL: f64 = 0.001;
        let ((x, y), (w, h)) = (self.place, self.size);
        match name {
            "x" => x,
            "y" => y,
            "w" => w,
            "h" => h,
            "M" => self.max,
            "px" => PIXEL,
            "X" => x * PIXEL,
            "Y" => y * PIXEL,
            "pi" => std::f64::consts::PI,
            "r" => {
                let (dx, dy) = (x - w / 2.0, y - h / 2.0);
                (dx * dx + dy * dy).sqrt()
            }
            // The parameters of every design of the oracle: "50mm" and 2.5.
            "focus" => 0.05,
            "gain" => 2.5,
            _ => unreachable!("{name}"),
        }
    }
}

impl Term {
    /// As text, within a formula that has so many `let` and children so far.
    fn text(&self, lets: usize, children: usize) -> String {
        match self {
            Self::Number(text, _) => (*text).to_owned(),
            Self::Name(name) => (*name).to_owned(),
            Self::Let(number) if *number < lets => LETS[*number].to_owned(),
            Self::Child(number) if *number < children => CHILDREN[*number].to_owned(),
            Self::Let(_) | Self::Child(_) => "3".to_owned(),
            Self::One("-", a) => format!("-({})", a.text(lets, children)),
            Self::One(function, a) => format!("{function}({})", a.text(lets, children)),
            Self::Two(function @ ("min" | "max"), a, b) => {
                format!(
                    "{function}({}, {})",
                    a.text(lets, children),
                    b.text(lets, children)
                )
            }
            Self::Two(sign, a, b) => {
                format!("({}) {sign} ({})", a.text(lets, children), b.text(lets, children))
            }
        }
    }

    fn value(&self, names: &Names<'_>) -> f64 {
        match self {
            Self::Number(_, value) => *value,
            Self::Name(name) => names.value(name),
            Self::Let(number) => names.lets.get(*number).copied().unwrap_or(3.0),
            Self::Child(number) => names.children.get(*number).copied().unwrap_or(3.0),
            Self::One(function, a) => {
                let a = a.value(names);
                match *function {
                    "-" => -a,
                    "sqrt" => a.sqrt(),
                    "abs" => a.abs(),
                    "floor" => a.floor(),
                    _ => a.ceil(),
                }
            }
            Self::Two(sign, a, b) => {
                let (a, b) = (a.value(names), b.value(names));
                match *sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    // Of equal ones the first, as its zero may have another sign.
                    "min" if b < a => b,
                    "max" if b > a => b,
                    _ => a,
                }
            }
        }
    }

    fn any() -> impl Strategy<Value = Self> {
        let leaf = prop_oneof![
            2 => select(&NUMBERS[..]).prop_map(|(text, value)| Self::Number(text, value)),
            3 => select(&NAMES[..]).prop_map(Self::Name),
            1 => (0..LETS.len()).prop_map(Self::Let),
            3 => (0..CHILDREN.len()).prop_map(Self::Child),
        ];
        leaf.prop_recursive(4, 12, 2, |inner| {
            let signs = select(&["+", "-", "*", "/", "min", "max", "+", "*"][..]);
            let functions = select(&["-", "sqrt", "abs", "floor", "ceil"][..]);
            prop_oneof![
                4 => (signs, inner.clone(), inner.clone())
                    .prop_map(|(sign, a, b)| Self::Two(sign, Box::new(a), Box::new(b))),
                1 => (functions, inner).prop_map(|(function, a)| Self::One(function, Box::new(a))),
            ]
        })
    }
}

impl Node for Formula {
    const NAME: &'static str = "formula";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let of = if self.height { " of=\"height\"" } else { "" };
        let result = self.result.text(self.lets.len(), self.sources.len());
        format!(" \"{result}\"{of}")
    }

    fn parameters(&self) -> Vec<String> {
        let lets = self.lets.iter().enumerate();
        // Each knows those before it.
        lets.map(|(number, term)| {
            let text = term.text(number, self.sources.len());
            format!("let \"{}\" \"{text}\"", LETS[number])
        })
        .collect()
    }

    fn children(&self) -> Vec<(&'static str, &Item)> {
        self.sources.iter().map(|item| ("source", item)).collect()
    }

    fn children_mut(&mut self) -> Vec<&mut Item> {
        self.sources.iter_mut().collect()
    }

    fn child_name(&self, index: usize) -> Option<&'static str> {
        Some(CHILDREN[index])
    }

    /// It has values wherever it is asked.
    fn natural_size(&self, _: &Model) -> NaturalSize {
        (None, None)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (x, y) = (at.x, at.y);
        let children: Vec<f64> = (0..self.sources.len())
            .map(|index| f64::from(at.child(index, x, y)))
            .collect();
        let (width, height) = at.size();
        let max = f64::from(at.max());
        let mut lets = Vec::new();
        let given = Names {
            place: (x as f64 + 0.5, y as f64 + 0.5),
            size: (width as f64, height as f64),
            max,
            lets: &[],
            children: &children,
        };
        for term in &self.lets {
            let value = term.value(&Names { lets: &lets, ..given });
            lets.push(value);
        }
        let mut value = self.result.value(&Names { lets: &lets, ..given });
        if self.height {
            // Of 80 µm.
            value = max * value / 80e-6;
        }
        if value.is_nan() {
            0
        } else {
            value.clamp(0.0, max).round() as u16
        }
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any = (
            vec(Term::any(), 0..=LETS.len()),
            Term::any(),
            proptest::bool::weighted(0.2),
            vec(inner.item.clone(), 0..=CHILDREN.len()),
        )
            .prop_map(|(lets, result, height, sources)| Self {
                lets,
                result,
                height,
                sources,
            });
        Some((3, any.boxed()))
    }
}
