//! Programs: formulas of a pixel's place, of constants that have names, and of the samples of children.
//!
//! A program is a list of sections, each in postfix order. Every section leaves one block on the stack, at the place of
//! its number, where later sections copy it from; the block of the last one is the result. `r` and `theta` are
//! sections that stand before those of the formula, so that what they mean is said once, in the language itself.

use relief_raster::Length;

use super::{
    BadExpression, Binary, Block, CONSTANTS, LANES, Meaning, Name, Reader, Step, Unary, number_length,
};

/// The most numbers, variables and operations of a formula, with all its `let`.
pub const MAX_STEPS: usize = 512;

/// What a program reads at every pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Column + ½, in the node's own coordinates.
    X,
    /// Row + ½, in the node's own coordinates.
    Y,
    /// Columns of the node.
    Width,
    /// Rows of the node.
    Height,
    /// The sample of the child of this number, 0 outside its extent.
    Child(usize),
    /// The value of a program of columns alone, by its number in [`Separated::across`].
    Across(usize),
    /// The value of a program of rows alone, by its number in [`Separated::down`].
    Down(usize),
}

/// A program whose parts that depend on one coordinate alone are programs of their own: they have one value for a whole column, or for a
/// whole row. Every operation is that of the program, on the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Separated {
    /// Programs that read [`Input::X`] and nothing else.
    pub across: Vec<Program>,
    /// Programs that read [`Input::Y`] and nothing else.
    pub down: Vec<Program>,
    /// What is left: it reads their values.
    pub rest: Program,
}

/// A variable of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Variable {
    /// The number of an input.
    Input(usize),
    /// The number of an earlier section.
    Section(usize),
}

type Section = Vec<Step<Variable>>;

/// A checked formula. Two are equal if they do the same operations on the same numbers, bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    sections: Vec<Section>,
    inputs: Vec<Input>,
    /// The most blocks that are on the stack at once.
    depth: usize,
}

impl Program {
    /// What it reads, each once: the order of the columns of [`evaluate`](Self::evaluate).
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The blocks that [`evaluate`](Self::evaluate) needs for its stack.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Roughly how many additions a value takes.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let quarters: u64 = self
            .sections
            .iter()
            .flatten()
            .map(|step| match step {
                Step::Variable(_) | Step::Number(_) => super::PUSH,
                Step::Unary(operation) => operation.operations(),
                Step::Binary(operation) => operation.operations(),
            })
            .sum();
        quarters / 3
    }

    /// The value, where it is one number whatever is read.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        match self.sections.last().map(Vec::as_slice) {
            Some([Step::Number(bits)]) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    /// The program of a node of so many columns and rows: what depends on these alone is computed once.
    #[must_use]
    pub fn of_size(&self, width: u64, height: u64) -> Self {
        // Sides are at most 2^40 and exact.
        Self::folded(&self.sections, &self.inputs, |input| match input {
            Input::Width => Some(width as f64),
            Input::Height => Some(height as f64),
            _ => None,
        })
    }

    /// The program with what depends on columns alone or rows alone apart.
    #[must_use]
    pub fn separated(&self) -> Separated {
        Separation::of(self)
    }

    /// The values of as many pixels as `out` is long. `columns` holds the values of the first of the
    /// [`inputs`](Self::inputs) at all these pixels, then those of the second, and so on.
    ///
    /// Every operation is rounded once to binary64, in the order written; a value may be infinite or not a number.
    ///
    /// # Panics
    /// Where `columns` is not as long as `out` for every input, or `stack` is shorter than [`depth`](Self::depth).
    pub fn evaluate(&self, columns: &[f64], out: &mut [f64], stack: &mut [Block]) {
        let pixels = out.len();
        assert_eq!(columns.len(), self.inputs.len() * pixels, "columns of a formula");
        for (block, values) in out.chunks_mut(LANES).enumerate() {
            self.block(columns, pixels, block * LANES, values, stack);
        }
    }

    /// The values of the pixels from `first` on.
    fn block(&self, columns: &[f64], pixels: usize, first: usize, out: &mut [f64], stack: &mut [Block]) {
        // Where the next block goes.
        let mut top = 0;
        for step in self.sections.iter().flatten() {
            match *step {
                Step::Variable(Variable::Input(input)) => {
                    let from = input * pixels + first;
                    let (values, beyond) = stack[top].split_at_mut(out.len());
                    values.copy_from_slice(&columns[from..from + out.len()]);
                    beyond.fill(0.0);
                    top += 1;
                }
                Step::Variable(Variable::Section(section)) => {
                    stack[top] = stack[section];
                    top += 1;
                }
                Step::Number(bits) => {
                    stack[top] = [f64::from_bits(bits); LANES];
                    top += 1;
                }
                Step::Unary(operation) => operation.apply(&mut stack[top - 1]),
                Step::Binary(operation) => {
                    top -= 1;
                    let (before, right) = stack.split_at_mut(top);
                    operation.apply(&mut before[top - 1], &right[0]);
                }
            }
        }
        out.copy_from_slice(&stack[top - 1][..out.len()]);
    }

    /// The program of these sections, the last of which is the result: with the inputs that `known` knows as numbers,
    /// operations on numbers done, and without what the result does not depend on.
    fn folded(sections: &[Section], inputs: &[Input], known: impl Fn(Input) -> Option<f64>) -> Self {
        let mut folded: Vec<Section> = Vec::with_capacity(sections.len());
        for section in sections {
            let mut steps = Vec::with_capacity(section.len());
            for step in section {
                let step = match *step {
                    Step::Variable(Variable::Input(input)) => {
                        known(inputs[input]).map_or(*step, |number| Step::Number(number.to_bits()))
                    }
                    Step::Variable(Variable::Section(earlier)) => match folded[earlier][..] {
                        [only] => only,
                        _ => *step,
                    },
                    _ => *step,
                };
                push(&mut steps, step);
            }
            folded.push(steps);
        }
        of_last(folded, inputs)
    }

    /// The sections that are used, with their numbers and those of their inputs.
    fn without(sections: Vec<Section>, used: &[bool], inputs: &[Input]) -> Self {
        let mut program = Self {
            sections: Vec::new(),
            inputs: Vec::new(),
            depth: 0,
        };
        let mut numbers = vec![0; sections.len()];
        for (number, mut section) in sections.into_iter().enumerate() {
            if !used[number] {
                continue;
            }
            numbers[number] = program.sections.len();
            let mut blocks = program.sections.len();
            for step in &mut section {
                match step {
                    Step::Variable(Variable::Section(earlier)) => *earlier = numbers[*earlier],
                    Step::Variable(Variable::Input(input)) => {
                        let read = inputs[*input];
                        let known = program.inputs.iter().position(|known| *known == read);
                        *input = known.unwrap_or_else(|| {
                            program.inputs.push(read);
                            program.inputs.len() - 1
                        });
                    }
                    _ => {}
                }
                match step {
                    Step::Variable(_) | Step::Number(_) => blocks += 1,
                    Step::Unary(_) => {}
                    Step::Binary(_) => blocks -= 1,
                }
                program.depth = program.depth.max(blocks);
            }
            section.shrink_to_fit();
            program.sections.push(section);
        }
        program
    }
}

/// What a value depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Nothing,
    X,
    Y,
    /// Both coordinates, or a child.
    All,
}

impl On {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, on) | (on, Self::Nothing) => on,
            (one, other) if one == other => one,
            _ => Self::All,
        }
    }
}

/// A program on its way into parts.
struct Separation<'p> {
    program: &'p Program,
    /// What each section depends on.
    on: Vec<On>,
    /// The inputs of the program, then those that stand for parts.
    inputs: Vec<Input>,
    across: Vec<Program>,
    down: Vec<Program>,
}

impl<'p> Separation<'p> {
    fn of(program: &'p Program) -> Separated {
        let mut separation = Self {
            program,
            on: Vec::new(),
            inputs: program.inputs.clone(),
            across: Vec::new(),
            down: Vec::new(),
        };
        let mut sections = Vec::with_capacity(program.sections.len());
        for (number, section) in program.sections.iter().enumerate() {
            let (mut steps, on) = separation.section(section);
            if number + 1 == program.sections.len() {
                steps = separation.settled(steps, on);
            }
            separation.on.push(on);
            sections.push(steps);
        }
        let rest = of_last(sections, &separation.inputs);
        Separated {
            across: separation.across,
            down: separation.down,
            rest,
        }
    }

    /// The steps of a section with the parts of its mixed operations in place, and what it depends on.
    fn section(&mut self, section: &Section) -> (Section, On) {
        let mut steps: Section = Vec::with_capacity(section.len());
        // Where each operand begins, and what it depends on.
        let mut operands: Vec<(usize, On)> = Vec::new();
        for step in section {
            let on = match step {
                Step::Number(_) => On::Nothing,
                Step::Variable(Variable::Input(input)) => match self.inputs[*input] {
                    Input::X => On::X,
                    Input::Y => On::Y,
                    _ => On::All,
                },
                Step::Variable(Variable::Section(earlier)) => self.on[*earlier],
                Step::Unary(_) => {
                    steps.push(*step);
                    continue;
                }
                Step::Binary(_) => {
                    if let (Some(right), Some(left)) = (operands.pop(), operands.pop()) {
                        let on = left.1.and(right.1);
                        if on == On::All {
                            let after = steps.split_off(right.0);
                            let before = steps.split_off(left.0);
                            steps.extend(self.settled(before, left.1));
                            steps.extend(self.settled(after, right.1));
                        }
                        operands.push((left.0, on));
                    }
                    steps.push(*step);
                    continue;
                }
            };
            operands.push((steps.len(), on));
            steps.push(*step);
        }
        (steps, operands.pop().map_or(On::All, |(_, on)| on))
    }

    /// The steps of an operand; one variable where they are those of a part.
    fn settled(&mut self, steps: Section, on: On) -> Section {
        if let [Step::Number(_) | Step::Variable(Variable::Input(_))] = steps[..] {
            return steps;
        }
        let number = |parts: &mut Vec<Program>, part: Program| {
            parts.iter().position(|known| *known == part).unwrap_or_else(|| {
                parts.push(part);
                parts.len() - 1
            })
        };
        let part = |steps| {
            let mut sections = self.program.sections.clone();
            sections.push(steps);
            of_last(sections, &self.program.inputs)
        };
        let input = match on {
            On::X => Input::Across(number(&mut self.across, part(steps))),
            On::Y => Input::Down(number(&mut self.down, part(steps))),
            On::Nothing | On::All => return steps,
        };
        self.inputs.push(input);
        vec![Step::Variable(Variable::Input(self.inputs.len() - 1))]
    }
}

/// The program whose result is the last of these sections, without those that it does not need.
fn of_last(sections: Vec<Section>, inputs: &[Input]) -> Program {
    let mut used = vec![false; sections.len()];
    if let Some(last) = used.last_mut() {
        *last = true;
    }
    for (number, section) in sections.iter().enumerate().rev() {
        if used[number] {
            mark(section, &mut used);
        }
    }
    Program::without(sections, &used, inputs)
}

/// Adds a step; an operation on numbers becomes its value, which is that of every evaluation.
fn push(steps: &mut Section, step: Step<Variable>) {
    let block = |bits: u64| [f64::from_bits(bits); LANES];
    let (value, operands) = match (step, &steps[..]) {
        (Step::Unary(operation), [.., Step::Number(operand)]) => {
            let mut value = block(*operand);
            operation.apply(&mut value);
            (value[0], 1)
        }
        (Step::Binary(operation), [.., Step::Number(left), Step::Number(right)]) => {
            let mut value = block(*left);
            operation.apply(&mut value, &block(*right));
            (value[0], 2)
        }
        _ => {
            steps.push(step);
            return;
        }
    };
    steps.truncate(steps.len() - operands);
    // The sign and the payload of what is not a number differ from processor to processor, and no sample depends on them.
    let value = if value.is_nan() { f64::NAN } else { value };
    steps.push(Step::Number(value.to_bits()));
}

/// Marks the sections that a section reads.
fn mark(section: &Section, used: &mut [bool]) {
    for step in section {
        if let Step::Variable(Variable::Section(earlier)) = step {
            used[*earlier] = true;
        }
    }
}

/// What stands before every formula: names with their expressions.
const BEFORE: [(&str, &str); 2] = [
    ("r", "sqrt((x - w / 2) * (x - w / 2) + (y - h / 2) * (y - h / 2))"),
    ("theta", "atan2(y - h / 2, x - w / 2)"),
];

/// What stands before every formula whose canvas says how large a pixel is.
const IN_METRES: [(&str, &str); 2] = [("X", "x * px"), ("Y", "y * px")];

/// Names that stand for what the node gives.
const GIVEN: [&str; 6] = ["x", "y", "w", "h", "M", "px"];

/// Whether a text may stand in an expression as a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The words of a text that may be names, in the order of the text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let number = number_length(rest);
            let within = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !within(c)).unwrap_or(rest.len());
            let first = rest.chars().next()?;
            let (skipped, found) = match (number, length) {
                (0, 0) => (first.len_utf8(), false),
                (0, length) => (length, true),
                (number, _) => (number, false),
            };
            let word;
            (word, rest) = rest.split_at(skipped);
            if found {
                return Some(word);
            }
        }
    })
}

/// Whether a name means something in every formula.
pub(crate) fn is_taken(name: &str) -> bool {
    let sections = BEFORE.iter().chain(&IN_METRES).map(|(name, _)| *name);
    let constants = CONSTANTS.iter().map(|(name, _)| *name);
    let functions = Unary::ALL.map(Unary::name).into_iter();
    let mut names = GIVEN
        .into_iter()
        .chain(sections)
        .chain(constants)
        .chain(functions)
        .chain(Binary::NAMED.map(Binary::name));
    names.any(|taken| taken == name)
}

/// The value of a parameter, for a formula.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameter<'n> {
    /// A number, or a length in metres.
    Number(f64),
    /// What a formula cannot count with.
    Text(&'n str),
    /// What cannot be told; why has been noted.
    Broken,
}

/// Makes a program, section by section.
pub(crate) struct Builder<'n> {
    names: Vec<Name<'n, Variable>>,
    inputs: Vec<Input>,
    sections: Vec<Section>,
    steps: usize,
    max: u16,
}

impl<'n> Builder<'n> {
    /// The formulas of a design with this greatest sample and this side of a pixel; the names of children by their
    /// numbers.
    pub(crate) fn new(
        max: u16,
        pixel: Option<Length>,
        children: impl Iterator<Item = (usize, &'n str)>,
    ) -> Result<Self, BadExpression> {
        let mut inputs = vec![Input::X, Input::Y, Input::Width, Input::Height];
        let number = |number: f64| Meaning::Step(Step::Number(number.to_bits()));
        let variable = |input| Meaning::Step(Step::Variable(Variable::Input(input)));
        let side = pixel.map_or(Meaning::Pixels, |pixel| number(pixel.to_metres()));
        let mut names: Vec<Name<'n, Variable>> = ["x", "y", "w", "h"]
            .into_iter()
            .enumerate()
            .map(|(input, name)| (name, variable(input)))
            .chain([("M", number(f64::from(max))), ("px", side)])
            .collect();
        let before = names.len();
        for (child, name) in children {
            names.push((name, variable(inputs.len())));
            inputs.push(Input::Child(child));
        }
        let children = names.split_off(before);
        let mut builder = Self {
            names,
            inputs,
            sections: Vec::new(),
            steps: 0,
            max,
        };
        for (name, text) in BEFORE {
            builder.bind(name, text)?;
        }
        for (name, text) in IN_METRES {
            if pixel.is_some() {
                builder.bind(name, text)?;
            } else {
                builder.names.push((name, Meaning::Pixels));
            }
        }
        builder.names.extend(children);
        // What no formula says counts for none.
        builder.steps = 0;
        Ok(builder)
    }

    /// Gives the value of an expression a name for all that follow.
    pub(crate) fn bind(&mut self, name: &'n str, text: &str) -> Result<(), BadExpression> {
        let number = self.sections.len();
        self.section(text)?;
        let step = Step::Variable(Variable::Section(number));
        self.names.push((name, Meaning::Step(step)));
        Ok(())
    }

    /// Gives a name to a value that cannot be told, so that what uses it is no further problem.
    pub(crate) fn bind_broken(&mut self, name: &'n str) {
        self.names
            .push((name, Meaning::Step(Step::Number(f64::NAN.to_bits()))));
    }

    /// Gives a name to the value of a parameter.
    pub(crate) fn parameter(&mut self, name: &'n str, value: Parameter<'n>) {
        let meaning = match value {
            Parameter::Number(number) => Meaning::Step(Step::Number(number.to_bits())),
            Parameter::Text(text) => Meaning::Text(text),
            Parameter::Broken => return self.bind_broken(name),
        };
        self.names.push((name, meaning));
    }

    /// The program whose result is this expression.
    pub(crate) fn finish(mut self, text: &str) -> Result<Program, BadExpression> {
        self.section(text)?;
        Ok(Program::folded(&self.sections, &self.inputs, |_| None))
    }

    /// The program whose result is the sample of this height in metres, where M stands for `amplitude`: M·height / amplitude, each
    /// operation rounded once, the product first.
    pub(crate) fn finish_height(mut self, text: &str, amplitude: Length) -> Result<Program, BadExpression> {
        let height = self.sections.len();
        self.section(text)?;
        let number = |number: f64| Step::Number(number.to_bits());
        self.sections.push(vec![
            number(f64::from(self.max)),
            Step::Variable(Variable::Section(height)),
            Step::Binary(Binary::Multiply),
            number(amplitude.to_metres()),
            Step::Binary(Binary::Divide),
        ]);
        Ok(Program::folded(&self.sections, &self.inputs, |_| None))
    }

    fn section(&mut self, text: &str) -> Result<(), BadExpression> {
        let mut reader = Reader::new(text, &self.names);
        reader.metric = true;
        reader.whole()?;
        self.steps += reader.steps.len();
        if self.steps > MAX_STEPS {
            return Err(BadExpression {
                at: 0,
                code: "E105",
                message: format!(
                    "with this expression the formula has {} numbers, names and operations, more than {MAX_STEPS}",
                    self.steps
                ),
                help: "give a name to what stands in it twice, with `let`, or make a formula of a part and read it as \
                       a child"
                    .to_owned(),
            });
        }
        let steps = reader.steps;
        self.sections.push(steps);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(lets: &[(&str, &str)], text: &str) -> Program {
        let mut builder = Builder::new(255, None, [(0, "a"), (1, "b")].into_iter()).unwrap();
        for (name, text) in lets {
            builder.bind(name, text).unwrap();
        }
        builder.finish(text).unwrap()
    }

    fn value(program: &Program, columns: &[f64]) -> f64 {
        let mut out = [0.0];
        program.evaluate(columns, &mut out, &mut vec![[0.0; LANES]; program.depth()]);
        out[0]
    }

    /// The values of a program at the pixels of a square, by its parts or whole.
    fn values(program: &Program, separated: bool) -> Vec<u64> {
        let places: Vec<f64> = (0..40).map(|i| f64::from(i) + 0.5).collect();
        let stack = |program: &Program| vec![[0.0; LANES]; program.depth()];
        let parts = program.separated();
        let tabulated = |programs: &[Program]| -> Vec<Vec<f64>> {
            let table = |program: &Program| {
                assert_eq!(program.inputs().len(), 1, "{program:?}");
                let mut out = vec![0.0; places.len()];
                program.evaluate(&places, &mut out, &mut stack(program));
                out
            };
            programs.iter().map(table).collect()
        };
        let (across, down) = (tabulated(&parts.across), tabulated(&parts.down));
        let program = if separated { &parts.rest } else { program };
        let mut all = Vec::new();
        for (row, y) in places.iter().enumerate() {
            let mut columns = Vec::new();
            for input in program.inputs() {
                match *input {
                    Input::X => columns.extend(&places),
                    Input::Y => columns.extend(places.iter().map(|_| *y)),
                    Input::Child(child) => columns.extend(places.iter().map(|x| x * y + child as f64)),
                    Input::Across(part) => columns.extend(&across[part]),
                    Input::Down(part) => columns.extend(places.iter().map(|_| down[part][row])),
                    Input::Width | Input::Height => unreachable!(),
                }
            }
            let mut out = vec![0.0; places.len()];
            program.evaluate(&columns, &mut out, &mut stack(program));
            all.extend(out.into_iter().map(f64::to_bits));
        }
        all
    }

    #[test]
    fn parts_of_one_coordinate_stand_apart_and_give_the_same_bits() {
        // With how many parts each has across and down.
        for (lets, text, expected) in [
            (&[][..], "M * sqrt(max(0, 1 - (2 * r / w) * (2 * r / w)))", (1, 1)),
            (&[], "sin(x / 3) * 100 + cos(y) * 50", (1, 1)),
            (&[], "x + y", (0, 0)),
            (&[], "sin(x)", (1, 0)),
            (&[], "7", (0, 0)),
            (&[], "a + b", (0, 0)),
            (&[], "a * -x + -y * (y - a)", (1, 1)),
            (
                &[("u", "x / 7"), ("v", "u * u")],
                "v + u * y + v / y - mod(u, 2)",
                (3, 0),
            ),
            (
                &[("u", "sqrt(y)"), ("v", "x * u")],
                "v - u + a * (u + 1) + v",
                (0, 2),
            ),
            (&[("u", "x * x")], "u", (1, 0)),
        ] {
            let program = program(lets, text).of_size(40, 40);
            let parts = program.separated();
            assert_eq!(
                (parts.across.len(), parts.down.len()),
                expected,
                "{text}: {parts:?}"
            );
            assert_eq!(values(&program, true), values(&program, false), "{text}");
        }
    }

    #[test]
    fn what_is_known_is_computed_once_and_what_is_not_used_is_left_out() {
        let sized =
            program(&[("half", "w / 2"), ("unused", "sin(y) * r")], "x - half + M / 5").of_size(30, 7);
        assert_eq!(sized.inputs(), [Input::X]);
        assert_eq!(sized.sections, program(&[], "x - 15 + 51").of_size(1, 1).sections);
        assert_eq!(value(&sized, &[20.5]), 56.5);
        assert_eq!(
            program(&[], "0 / 0").constant().map(f64::to_bits),
            Some(f64::NAN.to_bits())
        );
        assert_eq!(program(&[("c", "M - 5")], "c * 2").constant(), Some(500.0));
        assert_eq!(program(&[], "b - 1").inputs(), [Input::Child(1)]);
    }

    /// Sums are not regrouped to bring numbers together.
    #[test]
    fn folding_keeps_the_order_written() {
        let tenths = program(&[], "x + 0.2 - 0.3");
        assert_eq!(value(&tenths, &[0.1]), (0.1 + 0.2) - 0.3);
        assert_ne!(value(&tenths, &[0.1]), 0.1 + (0.2 - 0.3));
    }

    #[test]
    fn programs_are_equal_by_the_bits_of_their_numbers() {
        assert_eq!(
            program(&[("u", "x * 2")], "u + u"),
            program(&[("t", "x * 2")], "t + t")
        );
        assert_ne!(program(&[], "x + 0"), program(&[], "x + (-0)"));
        assert_ne!(program(&[], "a"), program(&[], "b"));
    }

    /// Blocks need not be full, and what lies beyond a row is neither read nor written.
    #[test]
    fn rows_of_any_length_have_the_values_of_their_pixels() {
        let program = program(&[("u", "a / (x - 3.5)")], "u * u - r + b").of_size(90, 1);
        assert_eq!(
            program.inputs(),
            [Input::X, Input::Y, Input::Child(0), Input::Child(1)]
        );
        for pixels in [1, 31, 32, 33, 90] {
            let row = |of: &dyn Fn(usize) -> f64| (0..pixels).map(of).collect::<Vec<_>>();
            let (a, x) = (row(&|i| i as f64 * 0.7), row(&|i| i as f64 + 0.5));
            let (y, b) = (row(&|_| 0.5), row(&|i| (i * i) as f64));
            let mut out = vec![0.0; pixels];
            let mut stack = vec![[f64::NAN; LANES]; program.depth()];
            program.evaluate(&[x, y, a, b].concat(), &mut out, &mut stack);
            for (i, found) in out.into_iter().enumerate() {
                let x = i as f64 + 0.5;
                let u = i as f64 * 0.7 / (x - 3.5);
                let r = ((x - 45.0) * (x - 45.0) + 0.0 * 0.0).sqrt();
                assert_eq!(
                    found.to_bits(),
                    (u * u - r + (i * i) as f64).to_bits(),
                    "{i} of {pixels}"
                );
            }
        }
    }

    #[test]
    fn a_formula_has_a_bounded_number_of_steps() {
        let mut builder = Builder::new(255, None, std::iter::empty()).unwrap();
        builder.bind("u", &format!("x{}", " + 1".repeat(100))).unwrap();
        let fits = (MAX_STEPS - 201 - 1) / 2;
        let bad = builder
            .bind("v", &format!("x{}", " + 1".repeat(fits + 1)))
            .unwrap_err();
        assert_eq!(bad.code, "E105");
        let mut builder = Builder::new(255, None, std::iter::empty()).unwrap();
        let wide = format!("{}x{}", "1 + (".repeat(60), ")".repeat(60));
        builder.bind("u", &wide).unwrap();
        assert!(builder.finish("u").unwrap().depth() <= 62);
    }

    #[test]
    fn metres_need_the_side_of_a_pixel() {
        for name in ["px", "X", "Y"] {
            let builder = Builder::new(255, None, std::iter::empty()).unwrap();
            assert_eq!(builder.finish(&format!("1 + {name}")).unwrap_err().code, "E406");
        }
        let builder = Builder::new(255, Length::picometres(25_400_000), std::iter::empty()).unwrap();
        assert_eq!(builder.finish("px").unwrap().constant(), Some(25.4e-6));
    }
}
