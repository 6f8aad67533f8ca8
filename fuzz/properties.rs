//! What holds for any bytes. Used by the fuzz targets and by the test that replays their corpus.

use std::fmt::Write;
use std::ops::ControlFlow;

use relief_design::kinds::{Distance, Repeat};
use relief_design::{Conversion, Design, Kind};
use relief_engine::{
    Cancel, Depth, Error, ImageError, ImageSource, Options, Picture as Served, Plan, Rect, Renderer,
    SamplesMut,
};

/// Reading and laying out a text does not panic; a layout is final and means what the text meant.
pub(crate) fn design_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let parsed = relief_design::parse("text", text, &picture_size);
    let formatted = match relief_design::format("text", text) {
        Ok(formatted) => formatted,
        Err(report) => {
            let too_long = report.problems()[0].code() == "E102";
            assert!(
                parsed.is_err() || too_long,
                "a design that cannot be laid out:\n{text}"
            );
            return;
        }
    };
    let again = relief_design::format("formatted", &formatted)
        .unwrap_or_else(|report| panic!("what was laid out is no text: {report}\n{formatted}"));
    assert_eq!(again, formatted, "a second layout differs");
    if let Ok(design) = parsed {
        let reread = relief_design::parse("formatted", &formatted, &picture_size)
            .unwrap_or_else(|report| panic!("what was laid out is no design: {report}\n{formatted}"));
        assert_eq!(
            without_places(&design),
            without_places(&reread),
            "another design:\n{formatted}"
        );
    }
}

/// A small design has the same samples whatever the tiles, the threads and the memory.
pub(crate) fn whole_design(bytes: &[u8]) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if text.contains("relief") => text.to_owned(),
        _ => Writer::new(bytes).design(),
    };
    let Ok(design) = relief_design::parse("text", &text, &picture_size) else {
        return;
    };
    if !is_small(&design) {
        return;
    }
    let sum = bytes
        .iter()
        .fold(0_u64, |sum, byte| sum * 31 % 65_521 + u64::from(*byte));
    let window = Some(window(design.canvas().width, design.canvas().height, sum));
    let plain = Options::default().with(|with| with.region = window).threads(1);
    let mut odd = Options::default()
        .with(|with| with.region = window)
        .threads(3)
        .tile((1 + sum % 37, 1 + sum % 23))
        .with(|with| with.kept = (sum % 2 == 0).then_some(sum % 300))
        .memory(0);
    match Plan::new(&design, &Picture, &odd) {
        Err(Error::Memory { needed, .. }) if needed < 1 << 28 => odd.memory = Some(needed + sum % 4_096),
        Err(Error::Memory { .. }) => return,
        other => panic!("{:?} without memory:\n{text}", other.map(|plan| plan.peak())),
    }
    let (one, other) = (samples(&design, &plain), samples(&design, &odd));
    assert!(one == other, "{odd:?} changes samples:\n{text}");
}

fn samples(design: &Design, options: &Options) -> Vec<u16> {
    let (cancel, canvas) = (Cancel::new(), design.canvas());
    let all = options
        .region
        .unwrap_or_else(|| Rect::sized(canvas.width, canvas.height));
    let area = (all.width() * all.height()) as usize;
    // A renderer counts from where its region begins.
    let all = Rect::sized(all.width(), all.height());
    let read = || {
        let plan = Plan::new(design, &Picture, options)?;
        let renderer = Renderer::new(plan, &Picture, &cancel)?;
        match canvas.depth {
            Depth::Eight => {
                let mut samples = vec![0xA5; area];
                renderer.read(all, SamplesMut::Eight(&mut samples), &cancel)?;
                Ok(samples.into_iter().map(u16::from).collect())
            }
            Depth::Sixteen => {
                let mut samples = vec![0xA5A5; area];
                renderer.read(all, SamplesMut::Sixteen(&mut samples), &cancel)?;
                Ok(samples)
            }
        }
    };
    read().unwrap_or_else(|error: Error| panic!("{error} with {options:?}: {design:?}"))
}

/// The part of a canvas that is computed: its first pixels, its last or some between, as the number says.
fn window(width: u64, height: u64, number: u64) -> Rect {
    const SIDE: u64 = 64;
    let place = |side: u64, number: u64| match number % 3 {
        0 => 0,
        1 => side.saturating_sub(SIDE),
        _ => side.saturating_sub(SIDE) / 2,
    };
    // Coordinates of a canvas are far below 2^63.
    let (x, y) = (place(width, number) as i64, place(height, number / 3) as i64);
    Rect::new(x, y, width.min(SIDE), height.min(SIDE)).unwrap_or_else(|| panic!("a part of a canvas"))
}

/// Whether a window of the design is computed in a moment: what is computed whole is small.
fn is_small(design: &Design) -> bool {
    design.nodes().len() <= 40
        && design.nodes().iter().all(|node| {
            let mut patterns = node.children.iter().map(|child| child.extent);
            let small = |width: u64, height: u64| width <= 128 && height <= 128;
            match &node.kind {
                Kind::Distance(Distance { radius, .. }) => *radius <= 24,
                Kind::Repeat(Repeat { step_x, step_y }) => {
                    small(*step_x, *step_y) && patterns.all(|p| small(p.width(), p.height()))
                }
                // The whole of its source is looked at first.
                Kind::Equalise(_) => node.width.saturating_mul(node.height) <= 1 << 16,
                Kind::Lattice(_) => patterns.all(|p| small(p.width(), p.height())),
                _ => true,
            }
        })
}

/// The design that is built of these nodes, which keeps the rules of one.
fn without_places(design: &Design) -> Design {
    let mut nodes = design.nodes().to_vec();
    for node in &mut nodes {
        node.place.line = 1;
        node.place.column = 1;
    }
    Design::new(design.canvas(), nodes, design.scan().cloned())
        .unwrap_or_else(|error| panic!("what was read is no design: {error}"))
}

/// The only picture, whatever its name.
struct Picture;

const SIDES: (u64, u64) = (9, 7);

fn picture_size(_: &str) -> Result<(u64, u64), String> {
    Ok(SIDES)
}

impl ImageSource for Picture {
    fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Served>, ImageError> {
        Ok(Box::new(Self))
    }
}

impl Served for Picture {
    fn size(&self) -> (u64, u64) {
        SIDES
    }

    fn windowed(&self) -> bool {
        true
    }

    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        for y in window.y() as u64..window.bottom() as u64 {
            let sample = |x: u64| ((x * 4_099 + y * 911) % (u64::from(depth.max()) + 1)) as u16;
            let samples: Vec<u16> = (window.x() as u64..window.right() as u64).map(sample).collect();
            if row(y, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The number of a node that copies one child.
const ARRAY: i64 = 100;

/// Makes a design of bytes: each decides one thing; where they end, everything is 0.
struct Writer<'b> {
    bytes: std::slice::Iter<'b, u8>,
    text: String,
    nodes: usize,
}

impl<'b> Writer<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
            text: String::new(),
            nodes: 0,
        }
    }

    /// A number below `bound`.
    fn below(&mut self, bound: i64) -> i64 {
        i64::from(self.bytes.next().copied().unwrap_or(0)) % bound
    }

    fn design(mut self) -> String {
        // Most canvases are small, some are as large as there are.
        let scale = [0, 0, 0, 7, 21, 34][self.below(6) as usize];
        let (width, height) = ((1 + self.below(40)) << scale, (1 + self.below(40)) << scale);
        let depth = if self.below(2) == 0 { 8 } else { 16 };
        let rounding = ["exact", "nearest"][self.below(2) as usize];
        let wrap =
            ["", "", "", "", "", " wrap=\"x\"", " wrap=\"y\"", " wrap=\"both\""][self.below(8) as usize];
        self.text = format!(
            "relief version=1\nparameter \"p\" {}\ncanvas width={width} height={height} bits={depth} rounding=\"{rounding}\"{wrap}\n",
            1 + self.below(9)
        );
        self.text.push_str("define \"a\" {\n");
        self.node("", 3, true, false);
        self.text.push_str("}\n");
        self.node("", 0, false, true);
        self.text
    }

    fn node(&mut self, role: &str, depth: usize, small: bool, used: bool) {
        self.named_node(role, "", depth, small, used);
    }

    fn named_node(&mut self, role: &str, name: &str, depth: usize, small: bool, used: bool) {
        self.nodes += 1;
        let leaf = depth >= 5 || self.nodes > 20;
        let kind = match depth {
            _ if leaf => self.below(6),
            0 | 1 => 6 + self.below(14),
            _ => self.below(20),
        };
        let head = match kind {
            0 => format!("fill value={}", self.below(256)),
            1 => "image \"p\"".to_owned(),
            2 if self.below(2) == 0 => self.gradient(),
            2 => format!("ramp axis=\"y\" from={} to={}", self.below(256), self.below(256)),
            3 => format!("disc diameter={} value={}", 1 + self.below(30), self.below(256)),
            4 => format!("noise seed={}", self.below(256)),
            5 if used && !role.is_empty() => "use \"a\"".to_owned(),
            5 => format!("ramp axis=\"x\" from={} to={}", self.below(256), self.below(256)),
            6 if self.below(4) == 0 => format!(
                "repeat count-x={} step-y={}",
                1 + self.below(9),
                9 + self.below(9)
            ),
            6 => format!(
                "repeat step-x=\"{}/{}\" step-y={}",
                60 + self.below(60),
                1 + self.below(6),
                9 + self.below(9)
            ),
            7 | 8 => {
                let blend = ["mean", "max", "min", "sum", "last"][self.below(5) as usize];
                format!("lattice blend=\"{blend}\"")
            }
            9 => {
                let side = ["outside", "inside", "both"][self.below(3) as usize];
                format!(
                    "distance radius={} side=\"{side}\" level={}",
                    self.below(25),
                    1 + self.below(255)
                )
            }
            10 => "map".to_owned(),
            11 => format!("threshold level={}", self.below(256)),
            12 if self.below(4) == 0 => {
                format!(
                    "array columns={} rows=$p step-x={} step-y=\"1/3%\"",
                    1 + self.below(3),
                    self.below(9)
                )
            }
            12 => "compose".to_owned(),
            14 => {
                let edge = ["clamp", "mirror", "wrap", "zero"][self.below(4) as usize];
                format!("gauss sigma=\"{}/8\" edge=\"{edge}\"", 1 + self.below(20))
            }
            15 => "equalise".to_owned(),
            16 => format!("flip axis=\"{}\"", ["x", "y"][self.below(2) as usize]),
            17 => format!("turn quarters={}", 1 + self.below(3)),
            18 => {
                let (radius, edge) = (
                    1 + self.below(3),
                    ["clamp", "mirror", "wrap", "zero"][self.below(4) as usize],
                );
                format!(
                    "median radius={radius} rank={} edge=\"{edge}\"",
                    1 + self.below(9)
                )
            }
            19 => "chain".to_owned(),
            _ => {
                let results = [
                    "b * a / M",
                    "max(a, 9 * r)",
                    "M * mod(u + a, 1)",
                    "a - u",
                    "y / x",
                    "42.5",
                ];
                format!("formula \"{}\"", results[self.below(6) as usize])
            }
        };
        let is_use = head.starts_with("use");
        let is_chain = head == "chain";
        let role = if role.is_empty() {
            String::new()
        } else {
            format!("({role})")
        };
        let _ = write!(self.text, "{role}{head}{name}");
        if !role.is_empty() && !is_chain {
            let (x, y) = (self.below(40) - 20, self.below(40) - 20);
            let _ = match self.below(5) {
                0 => write!(self.text, " x=\"{x}%\" y=\"${{{y} + p}}\" anchor=\"centre\""),
                _ => write!(self.text, " x={x} y={y}"),
            };
            if small && !is_use {
                let (width, height) = (1 + self.below(9), 1 + self.below(9));
                let _ = write!(self.text, " width={width} height={height}");
            }
        }
        let (is_array, is_gradient) = (head.starts_with("array"), head.starts_with("gradient"));
        self.children(if is_array { ARRAY } else { kind }, depth, used);
        if is_gradient && self.below(2) == 0 {
            let mut place = 0;
            self.text.push_str(" {\n");
            for _ in 0..2 + self.below(4) {
                place += self.below(40);
                let value = self.below(256);
                let _ = writeln!(self.text, "stop at=\"{place}/2%\" value={value}");
            }
            self.text.push('}');
        }
        self.text.push('\n');
    }

    /// A gradient, of which some have no length.
    fn gradient(&mut self) -> String {
        let spread = ["pad", "repeat", "mirror"][self.below(3) as usize];
        match self.below(3) {
            0 => format!(
                "gradient \"linear\" to-x=\"{}/3\" to-y={} spread=\"{spread}\"",
                self.below(90) - 30,
                self.below(9)
            ),
            1 => format!(
                "gradient \"radial\" inner=\"{}/4\" spread=\"{spread}\"",
                1 + self.below(40)
            ),
            _ => format!(
                "gradient \"conical\" angle={} centre-x={}",
                self.below(720) - 360,
                self.below(40)
            ),
        }
    }

    fn children(&mut self, kind: i64, depth: usize, used: bool) {
        if kind < 6 {
            return;
        }
        self.text.push_str(" {\n");
        match kind {
            6 => self.node("pattern", depth + 1, true, false),
            7 | 8 => {
                let (u, v) = (
                    (1 + self.below(9), self.below(9)),
                    (self.below(9) - 9, 1 + self.below(9)),
                );
                let (p, q) = (
                    [1, 1, 2, 7][self.below(4) as usize],
                    [1, 1, 3, 5][self.below(4) as usize],
                );
                let _ = writeln!(
                    self.text,
                    "u \"{}/{p}\" \"{}/{q}\"\nv \"{}/{p}\" {}",
                    u.0, u.1, v.0, v.1
                );
                self.node("pattern", depth + 1, true, false);
            }
            9 => {
                let slope = self.below(64);
                let _ = writeln!(self.text, "profile \"255 - {slope} * d\"");
                self.node("mask", depth + 1, false, used);
            }
            10 => {
                for _ in 0..=self.below(3) {
                    let (number, word) = (self.below(200) - 100, self.below(5));
                    let word = match word {
                        0 => "invert".to_owned(),
                        1 => format!("brightness {number}"),
                        2 => format!("contrast {number}"),
                        3 => "gamma 1.5".to_owned(),
                        _ => format!("expression \"v + {number}\""),
                    };
                    let _ = writeln!(self.text, "{word}");
                }
                self.node("source", depth + 1, false, used);
            }
            11 | 14..=18 => self.node("source", depth + 1, false, used),
            19 => {
                self.node("", depth + 1, false, false);
                for _ in 0..self.below(3) {
                    let filters = ["threshold level=9", "flip axis=\"x\"", "turn", "map { invert }"];
                    let filter = filters[self.below(4) as usize];
                    let _ = writeln!(self.text, "{filter}");
                }
            }
            13 => {
                let left = self.below(40);
                let _ = writeln!(self.text, "let \"u\" \"(x - {left}) * b / 7\"");
                for name in [" name=\"a\"", " name=\"b\""] {
                    self.named_node("source", name, depth + 1, false, used);
                }
            }
            ARRAY => self.node("max", depth + 1, false, used),
            _ => {
                for _ in 0..=self.below(4) {
                    let roles = [
                        "base", "add", "subtract", "multiply", "mean", "max", "min", "over", "mask",
                    ];
                    let role = roles[self.below(9) as usize];
                    self.node(role, depth + 1, false, used);
                }
            }
        }
        self.text.push('}');
    }
}
