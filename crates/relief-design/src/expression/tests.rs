use proptest::prelude::*;

use super::*;

fn value(text: &str, d: f64) -> f64 {
    let function = Function::parse(text, "d").unwrap_or_else(|bad| panic!("{text}: {bad:?}"));
    Evaluator::new(&function).values(&[d; LANES])[7]
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
        ("mod(7.5, 2)", 1.5),
        ("mod(-0.5, d)", 2.5),
        ("mod(d, -2)", -1.0),
        ("atan2(d, -d)", libm::atan2(3.0, -3.0)),
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

/// Expressions whose values over [`grid`] are pinned: every function, operator and constant, and how they bind.
const PINNED: [&str; 64] = [
    "d",
    "sin(d)",
    "cos(d)",
    "tan(d)",
    "asin(d)",
    "acos(d)",
    "atan(d)",
    "sqrt(d)",
    "exp(d)",
    "ln(d)",
    "log2(d)",
    "log10(d)",
    "abs(d)",
    "sign(d)",
    "floor(d)",
    "ceil(d)",
    "round(d)",
    "asin(d/64)",
    "acos(d/64)",
    "exp(d/64)",
    "min(d,0.3)",
    "max(d,0.3)",
    "min(d,0/0)",
    "max(0/0,d)",
    "min(-d,d)",
    "max(d,1/d)",
    "-d",
    "--d",
    "+d",
    "d+0.1",
    "0.1-d",
    "d*0.1",
    "0.1/d",
    "d/0.1",
    "d*d-d/d+d",
    "d*7/3/d*1.1",
    "7*d/3",
    "d-0.1-0.2-0.3",
    "2-d*3/7*1.7-d/0.3/d",
    "d^2",
    "d^3",
    "d^-1",
    "d^0.5",
    "d^0.37",
    "d^-2.5",
    "2^d",
    "0.3^d",
    "e^d",
    "1.0000001^d",
    "(-1.5)^d",
    "d^d",
    "-d^2",
    "2^-d^0.5",
    "d^2^0.5",
    "pi*d",
    "PI+e*d",
    "255 * (1 - (d / 40) ^ 2)",
    "sqrt(abs(sin(d)^2+cos(d)^2-1))*1e9",
    "mod(d,0.3)",
    "mod(d,-7)",
    "mod(2.5,d)",
    "atan2(d,0.7)",
    "atan2(-0.3,d)",
    "atan2(d,-d)",
];

/// Arguments of all sizes and both signs, close to what rounds, and beyond what a function takes.
fn grid() -> Vec<f64> {
    let mut grid: Vec<f64> = (-4_096..=4_096).map(|i| f64::from(i) / 32.0).collect();
    for exponent in -1_074..1_024 {
        let power = libm::ldexp(1.0, exponent);
        grid.extend([power, -power, power * 1.3, power * -1.7]);
    }
    grid.extend((0..=4_096).map(|a| f64::from(a * a + 1).sqrt()));
    grid.extend([
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN,
    ]);
    grid.resize(grid.len().next_multiple_of(LANES), 1.0);
    grid
}

/// The BLAKE3 of the values of an expression over the grid; all values that are not numbers count as one.
fn digest(text: &str) -> String {
    let function = Function::parse(text, "d").unwrap();
    let mut hasher = blake3::Hasher::new();
    for arguments in grid().chunks_exact(LANES) {
        for value in Evaluator::new(&function).values(arguments.try_into().unwrap()) {
            let bits = if value.is_nan() {
                f64::NAN.to_bits()
            } else {
                value.to_bits()
            };
            hasher.update(&bits.to_le_bytes());
        }
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The values are part of the language: a design made today has the same bytes for ever.
#[test]
fn every_function_has_its_pinned_values() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions.txt");
    let found: String = PINNED
        .iter()
        .map(|text| format!("{}  {text}\n", digest(text)))
        .collect();
    if std::env::var_os("RELIEF_BLESS_FUNCTIONS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    for name in Unary::ALL
        .map(Unary::name)
        .into_iter()
        .chain(Binary::NAMED.map(Binary::name))
    {
        let call = format!("{name}(");
        assert!(
            PINNED.iter().any(|text| text.contains(&call)),
            "{name} is not pinned"
        );
    }
}

/// An expression as a tree, with its own rules for writing it: the oracle of how the text is read.
#[derive(Clone, Debug)]
enum Tree {
    Variable,
    Number(f64),
    Unary(Unary, Box<Tree>),
    Binary(Binary, Box<Tree>, Box<Tree>),
}

impl Tree {
    /// How tightly its outermost operation binds.
    fn precedence(&self) -> u8 {
        match self {
            Self::Binary(Binary::Add | Binary::Subtract, ..) => 0,
            Self::Binary(Binary::Multiply | Binary::Divide, ..) => 1,
            Self::Unary(Unary::Negate, _) => 2,
            Self::Binary(Binary::Power, ..) => 3,
            _ => 4,
        }
    }

    /// The text, between parentheses where it binds less than `least`.
    fn text(&self, least: u8) -> String {
        let text = match self {
            Self::Variable => "d".to_owned(),
            Self::Number(number) => format!("{number:?}"),
            Self::Unary(Unary::Negate, operand) => format!("-{}", operand.text(2)),
            Self::Unary(operation, operand) => format!("{}({})", operation.name(), operand.text(0)),
            Self::Binary(operation, left, right) => {
                // A power binds to the right, and its exponent may have a sign; all else binds to the left.
                let (a, b) = match operation {
                    Binary::Add | Binary::Subtract => (0, 1),
                    Binary::Multiply | Binary::Divide => (1, 2),
                    Binary::Power => (4, 2),
                    Binary::Min | Binary::Max | Binary::Modulo | Binary::Angle => {
                        return format!("{}({}, {})", operation.name(), left.text(0), right.text(0));
                    }
                };
                format!("{} {} {}", left.text(a), operation.name(), right.text(b))
            }
        };
        if self.precedence() < least {
            format!("({text})")
        } else {
            text
        }
    }

    /// Its value, one number at a time, by the functions that the language names.
    fn value(&self, d: f64) -> f64 {
        match self {
            Self::Variable => d,
            Self::Number(number) => *number,
            Self::Unary(operation, operand) => {
                let a = operand.value(d);
                match operation {
                    Unary::Negate => -a,
                    Unary::Sine => libm::sin(a),
                    Unary::Cosine => libm::cos(a),
                    Unary::Tangent => libm::tan(a),
                    Unary::ArcSine => libm::asin(a),
                    Unary::ArcCosine => libm::acos(a),
                    Unary::ArcTangent => libm::atan(a),
                    Unary::Root => libm::sqrt(a),
                    Unary::Exponential => libm::exp(a),
                    Unary::Logarithm => libm::log(a),
                    Unary::BinaryLogarithm => libm::log2(a),
                    Unary::DecimalLogarithm => libm::log10(a),
                    Unary::Absolute => libm::fabs(a),
                    Unary::Sign if a == 0.0 || a.is_nan() => a,
                    Unary::Sign => libm::copysign(1.0, a),
                    Unary::Floor => libm::floor(a),
                    Unary::Ceiling => libm::ceil(a),
                    Unary::Round => libm::round(a),
                }
            }
            Self::Binary(operation, left, right) => {
                let (a, b) = (left.value(d), right.value(d));
                match operation {
                    Binary::Add => a + b,
                    Binary::Subtract => a - b,
                    Binary::Multiply => a * b,
                    Binary::Divide => a / b,
                    Binary::Power => libm::pow(a, b),
                    Binary::Min | Binary::Max if a.is_nan() || b.is_nan() => f64::NAN,
                    // Of equal ones the first, as its zero may have another sign.
                    Binary::Min if b < a => b,
                    Binary::Max if b > a => b,
                    Binary::Min | Binary::Max => a,
                    Binary::Modulo => a - b * libm::floor(a / b),
                    Binary::Angle => libm::atan2(a, b),
                }
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let number =
        prop_oneof![0.0..100.0, Just(2.0), Just(0.5), Just(1e-310), Just(1e300)].prop_map(Tree::Number);
    let leaf = prop_oneof![Just(Tree::Variable), number];
    let unary = prop::sample::select([&Unary::ALL[..], &[Unary::Negate; 4]].concat());
    let binary = prop::sample::select(vec![
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
        Binary::Power,
        Binary::Min,
        Binary::Max,
        Binary::Modulo,
        Binary::Angle,
    ]);
    leaf.prop_recursive(6, 40, 2, move |inner| {
        prop_oneof![
            (unary.clone(), inner.clone()).prop_map(|(f, a)| Tree::Unary(f, a.into())),
            (binary.clone(), inner.clone(), inner).prop_map(|(f, a, b)| Tree::Binary(f, a.into(), b.into())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_has_the_values_of_its_tree(tree in tree(), start in -50.0..50.0_f64) {
        let text = tree.text(0);
        let function = Function::parse(&text, "d").unwrap_or_else(|bad| panic!("{text}: {bad:?}"));
        let arguments: Block = std::array::from_fn(|i| start + i as f64 * 1.7);
        let found = Evaluator::new(&function).values(&arguments);
        for (d, value) in arguments.into_iter().zip(found) {
            let expected = tree.value(d);
            prop_assert!(
                value.to_bits() == expected.to_bits() || (value.is_nan() && expected.is_nan()),
                "{text} at {d}: {value}, not {expected}"
            );
        }
    }
}

#[test]
fn what_takes_long_is_counted() {
    let slow = |text: &str, d: f64| {
        let function = Function::parse(text, "d").unwrap();
        let mut evaluator = Evaluator::new(&function);
        let _ = evaluator.values(&[d; LANES]);
        evaluator.take_slow()
    };
    for text in [
        "sin(d)",
        "tan(d)",
        "d*0.5",
        "d^2",
        "sqrt(d)",
        "min(d, 1)",
        "255 * (1 - (d / 40) ^ 2)",
    ] {
        assert_eq!(slow(text, 3.0), 0, "{text}");
    }
    for (text, d) in [
        ("sin(d)", 1e9),
        ("cos(d)", 1e300),
        ("tan(1e300*d)", 1.0),
        ("d*0.5", 1e-310),
        ("d/1e200", 1e-120),
        ("exp(d)", -740.0),
        ("ln(d)", 5e-324),
        ("d^2.5", 3.0),
        ("1+1e-310", 0.0),
    ] {
        assert!(slow(text, d) >= LANES as u64, "{text}");
    }
}

/// What an expression counts for is at least what it does: no step is free, and none counts less than an addition does.
#[test]
fn every_step_counts() {
    for text in PINNED {
        let function = Function::parse(text, "d").unwrap();
        let operations = |step: &Step<()>| match step {
            Step::Variable(()) | Step::Number(_) => PUSH,
            Step::Unary(operation) => operation.operations(),
            Step::Binary(operation) => operation.operations(),
        };
        let counted: u64 = function.steps.iter().map(operations).sum();
        assert_eq!(function.operations(), VALUE + counted, "{text}");
    }
    let least = Binary::Add.operations();
    assert!(Unary::ALL.iter().all(|operation| operation.operations() >= least));
    for text in ["+1", "+d", "+-d", "-pi"] {
        let long = Function::parse(&format!("d{}", text.repeat(1_000)), "d").unwrap();
        assert!(long.operations() >= 1_000 * (PUSH + least), "{text}");
    }
}
