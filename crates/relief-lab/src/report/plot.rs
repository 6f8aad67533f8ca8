//! The plots of a ladder: bars, a roof, a sweep.

use crate::quantity::{bytes, digits, rate as show_rate, seconds};
use crate::record::{Ceilings, Row, Verdict};

use super::svg::{Anchor, Svg};
use super::{Case, MARK, Section, rate, reached, variants};

const WIDTH: f64 = 860.0;

/// One case: a bar for each variant, as long as its rate, with the spread of p10–p90 and the ceiling as a line.
/// Other programs follow, in outline.
pub(super) fn bars(case: &Case<'_>) -> String {
    const STEP: f64 = 24.0;
    const RIGHT: f64 = 300.0;
    let others = case.rivals.iter().map(|other| &other.row);
    let rows: Vec<&Row> = case.rows.iter().copied().chain(others).collect();
    // As wide as the longest name in the page's font.
    let longest = rows.iter().map(|row| row.variant.chars().count()).max();
    let left = (6.6 * longest.unwrap_or(0) as f64 + 16.0).clamp(190.0, WIDTH - RIGHT - 160.0);
    let height = rows.len() as f64 * STEP + 34.0;
    let mut svg = Svg::new(WIDTH, height);
    let mut all = rows.iter();
    let ceiling = all.find_map(|row| Some(rate(row)?.0 * row.time()? / row.bound.as_ref()?.seconds));
    let ceiling = ceiling.filter(|ceiling| can_be_drawn(*ceiling));
    let rates = rows.iter().filter_map(|row| Some(rate(row)?.0));
    let fastest = rates.fold(0.0, f64::max);
    let most = ceiling.unwrap_or(0.0).max(fastest).max(f64::MIN_POSITIVE);
    let scale = |value: f64| left + value / most * (WIDTH - left - RIGHT);
    for (k, row) in rows.iter().enumerate() {
        let y = 24.0 + k as f64 * STEP;
        svg.text("label", Anchor::End, (left - 8.0, y + 14.0), &row.variant);
        let (Some((rate, unit)), Some(summary)) = (rate(row), row.summary) else {
            let reason = row.verdict.reason().unwrap_or_default();
            let short: String = reason.chars().take(80).collect();
            // What was only checked is none the worse for it.
            let class = if row.verdict == Verdict::Right {
                "note"
            } else {
                "bad"
            };
            let text = format!("{} {short}", row.verdict.word());
            svg.text(class, Anchor::Start, (left, y + 14.0), &text);
            continue;
        };
        let class = match (row.production, k >= case.rows.len()) {
            (true, _) => "bar production",
            (_, true) => "bar rival",
            _ => "bar",
        };
        let tip = format!("{}: {}", row.variant, seconds(summary.median));
        svg.rect(class, (left, y), (scale(rate) - left, STEP - 6.0), &tip);
        // The rate of a time: shorter is faster.
        let at = |time: f64| {
            let place = Some(scale(rate * summary.median / time)).filter(|place| place.is_finite());
            place.map_or(left, |place| place.clamp(left, WIDTH - RIGHT + 12.0))
        };
        let middle = y + (STEP - 6.0) / 2.0;
        svg.line("spread", (at(summary.p90), middle), (at(summary.p10), middle));
        let reached = reached(row).map_or(String::new(), |part| format!(" · {part}"));
        let other = k.checked_sub(case.rows.len()).map(|k| &case.rivals[k]);
        let ratio = other.and_then(|other| other.ratio);
        let ratio = ratio.map_or(String::new(), |ratio| format!(" · × {}", digits(ratio, 3)));
        let (time, rate) = (seconds(summary.median), show_rate(rate, unit));
        let text = format!("{time} · {rate}{reached}{ratio}");
        svg.text("value", Anchor::Start, (WIDTH - RIGHT + 18.0, y + 14.0), &text);
    }
    if let (Some(ceiling), Some(bound)) = (ceiling, rows.iter().find_map(|row| row.bound.as_ref())) {
        let x = scale(ceiling);
        svg.line("ceiling", (x, 18.0), (x, height - 6.0));
        let text = format!("{} allows {}", bound.ceiling, seconds(bound.seconds));
        svg.text("note", Anchor::End, (x, 12.0), &text);
    }
    svg.finish(case.name)
}

/// Where the variants of a ladder stand under what the hardware allows. With operations: operations a second over
/// operations a byte, the classic roofline. Without: bytes a second over the bytes of a call, under the copy ceiling.
pub(super) fn roof(section: &Section<'_>, ceilings: &Ceilings) -> Option<String> {
    let rows = section.cases.iter().flat_map(|case| case.rows.iter().copied());
    let rows = rows.filter(|row| row.time().is_some() && row.moved() > 0);
    let rows: Vec<&Row> = rows.collect();
    match rows.iter().any(|row| row.operations.is_some()) {
        true => roofline(section.ladder, &rows, ceilings),
        false => bandwidths(section.ladder, &rows, ceilings),
    }
}

/// Rows, each where a logarithmic plot has a place for it.
fn points<'a>(rows: &[&'a Row], at: impl Fn(&Row) -> Option<(f64, f64)>) -> Vec<(f64, f64, &'a Row)> {
    let points = rows.iter().filter_map(|row| at(row).map(|(x, y)| (x, y, *row)));
    points
        .filter(|(x, y, _)| can_be_drawn(*x) && can_be_drawn(*y))
        .collect()
}

fn roofline(title: &str, rows: &[&Row], ceilings: &Ceilings) -> Option<String> {
    let top = ceilings.copy.last()?.rate;
    let (operation, _) = rows.iter().find_map(|row| row.operations)?;
    let peak = *ceilings.rates.get(&operation)?;
    let intensity = |row: &Row| Some(row.operations?.1 as f64 / row.moved() as f64);
    let points = points(rows, |row| Some((intensity(row)?, row.rate()?)));
    let ridge = peak / top;
    let (low, high) = ends(points.iter().map(|(x, ..)| *x).chain([ridge]));
    let (low, high) = (low / 4.0, high * 4.0);
    let least = points.iter().map(|(_, y, _)| *y).fold(low * top, f64::min) / 2.0;
    let mut plot = Plot::new((low, high), (least, peak * 2.0))?;
    let (xs, ys) = (decimal(plot.x), decimal(plot.y));
    plot.axes(
        (xs, &|x| match x < 1.0 {
            // As many places as its first digit asks for.
            true => format!("{x:.0$} op/B", -x.log10().floor() as usize),
            false => format!("{} op/B", digits(x, 1)),
        }),
        (ys, &|y| show_rate(y, "op")),
    );
    plot.path("roof", &[(low, low * top), (ridge, peak), (high, peak)]);
    plot.dots(&points);
    Some(plot.svg.finish(&format!("Roofline of {title}")))
}

fn bandwidths(title: &str, rows: &[&Row], ceilings: &Ceilings) -> Option<String> {
    let points = points(rows, |row| Some((row.moved() as f64, row.bandwidth()?)));
    let roof = ceilings.copy.iter().map(|point| (point.bytes as f64, point.rate));
    let roof = roof.filter(|(x, y)| can_be_drawn(*x) && can_be_drawn(*y));
    let roof: Vec<(f64, f64)> = roof.collect();
    let of_rows = points.iter().map(|(x, y, _)| (*x, *y));
    let all = || of_rows.clone().chain(roof.iter().copied());
    let (low, high) = ends(all().map(|(x, _)| x));
    let (least, most) = ends(all().map(|(_, y)| y));
    if points.is_empty() {
        return None;
    }
    let mut plot = Plot::new((low / 1.5, high * 1.5), (least / 1.5, most * 1.5))?;
    let (xs, ys) = (binary(plot.x), decimal(plot.y));
    plot.axes((xs, &|x| bytes(x as u64)), (ys, &|y| show_rate(y, "B")));
    plot.path("roof", &roof);
    plot.dots(&points);
    Some(plot.svg.finish(&format!("Bandwidth of {title}")))
}

/// What a sweep shows of a row.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    /// Seconds of a call.
    Time,
    /// Elements of the problem a second.
    Throughput,
}

impl Shown {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Time => row.time(),
            Self::Throughput => row.throughput(),
        }
    }
}

/// A sweep: a line for each variant over the ladder's axis.
pub(super) fn sweep(section: &Section<'_>, axis: &str, shown: Shown) -> Option<String> {
    let rows = || {
        let cases = section.cases.iter();
        cases.flat_map(|case| {
            let others = case.rivals.iter().map(|other| &other.row);
            case.rows.iter().copied().chain(others)
        })
    };
    let points = |row: &Row| {
        let point = Some((row.place?, shown.of(row)?));
        point.filter(|(x, y)| x.is_finite() && can_be_drawn(*y))
    };
    let all: Vec<(f64, f64)> = rows().filter_map(points).collect();
    let positive = |x: f64| x.max(0.5);
    let (low, high) = ends(all.iter().map(|(x, _)| positive(*x)));
    let (least, most) = ends(all.iter().map(|(_, y)| *y));
    if all.is_empty() || low >= high {
        return None;
    }
    let longest = rows().map(|row| row.variant.chars().count()).max().unwrap_or(0);
    let right = Plot::KEY + LETTER * longest as f64;
    let mut plot = Plot::beside((low, high), (least / 1.5, most * 1.5), right)?;
    let mut places: Vec<f64> = all.iter().map(|(x, _)| positive(*x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    // Numbers closer than they are wide would run together.
    places.dedup_by(|next, previous| *next / *previous < 1.15);
    let ys = decimal(plot.y);
    let written = |y: f64| match shown {
        Shown::Time => seconds(y),
        Shown::Throughput => show_rate(y, ""),
    };
    plot.axes((places, &|x| digits(x, 2)), (ys, &written));
    let mut key: Vec<(String, String, f64)> = Vec::new();
    for (number, first) in variants(rows()).into_iter().enumerate() {
        let variant = &first.variant;
        // Of more than eight colours some look the same: dashes and hollow dots tell further ones apart.
        let kind = match variant.ends_with(MARK) {
            true => "rival".to_owned(),
            false => format!("s{} d{}", number % 8, number / 8 % 4),
        };
        let class = format!("series {kind}");
        let own: Vec<&Row> = rows().filter(|row| row.variant == *variant).collect();
        let line = own.iter().filter_map(|row| points(row));
        let line: Vec<(f64, f64)> = line.map(|(x, y)| (positive(x), y)).collect();
        plot.path(&class, &line);
        key.extend(line.last().map(|end| (variant.clone(), kind.clone(), end.1)));
        for row in own {
            if let Some((x, y)) = points(row) {
                plot.dot_as(&format!("dot {kind}"), row, (positive(x), y));
            }
        }
    }
    plot.key(key);
    let middle = (Plot::LEFT + WIDTH - plot.right) / 2.0;
    plot.svg.text("note", Anchor::Middle, (middle, 316.0), axis);
    let what = match shown {
        Shown::Time => "",
        Shown::Throughput => ", elements a second,",
    };
    Some(plot.svg.finish(&format!("{}{what} over {axis}", section.ladder)))
}

/// The least and the greatest of positive values.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Whether a logarithmic axis has a place for a number. Records come from outside, and hold any.
fn can_be_drawn(value: f64) -> bool {
    value.is_normal() && value > 0.0
}

/// Ticks of an axis, and how they are written.
type Axis<'a> = (Vec<f64>, &'a dyn Fn(f64) -> String);

/// The values 1, 2, 5, 10, … between two, or the powers of ten alone where those are many.
fn decimal((low, high): (f64, f64)) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = |steps: &[f64]| -> Vec<f64> {
        let of = |decade| steps.iter().map(move |step| step * 10_f64.powi(decade));
        let values = decades.clone().flat_map(of);
        values.filter(|value| (low..=high).contains(value)).collect()
    };
    let fine = all(&[1.0, 2.0, 5.0]);
    match fine.len() {
        0 | 1 => vec![low, high],
        2..=9 => fine,
        _ => all(&[1.0]),
    }
}

/// Powers of two between two values, some apart where they are many.
fn binary((low, high): (f64, f64)) -> Vec<f64> {
    let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
    let step = ((last - first) / 8 + 1).max(1) as usize;
    let exponents = (first..=last).step_by(step);
    exponents.map(|exponent| 2_f64.powi(exponent)).collect()
}

/// The distance of names below each other.
const LINE: f64 = 12.0;

/// The width of a letter of a name, about.
const LETTER: f64 = 6.4;

/// Heights of names, from above, so far from each other that none covers another, and within the plot as long as they fit in.
fn apart(mut ys: Vec<f64>) -> Vec<f64> {
    let room = Plot::BOTTOM - Plot::TOP;
    let step = LINE.min(room / ys.len().saturating_sub(1).max(1) as f64);
    for k in 1..ys.len() {
        ys[k] = ys[k].max(ys[k - 1] + step);
    }
    let mut most = Plot::BOTTOM;
    for y in ys.iter_mut().rev() {
        *y = y.min(most);
        most = *y - step;
    }
    ys
}

/// Two logarithmic axes.
///
/// # Guarantees
/// Each goes from a positive number to a greater one, neither of which is infinite: an axis has few decades.
struct Plot {
    svg: Svg,
    x: (f64, f64),
    y: (f64, f64),
    /// What is left for names.
    right: f64,
}

impl Plot {
    const LEFT: f64 = 96.0;
    /// Beside the names of a key: a piece of each line, and blanks.
    const KEY: f64 = 56.0;
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 284.0;

    fn new(x: (f64, f64), y: (f64, f64)) -> Option<Self> {
        Self::beside(x, y, 180.0)
    }

    /// Nothing where an axis has no place for its ends.
    fn beside(x: (f64, f64), y: (f64, f64), right: f64) -> Option<Self> {
        let is_axis = |(low, high): (f64, f64)| can_be_drawn(low) && can_be_drawn(high) && low < high;
        let svg = Svg::new(WIDTH, 324.0);
        let right = right.clamp(180.0, WIDTH / 2.0);
        (is_axis(x) && is_axis(y)).then_some(Self { svg, x, y, right })
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| (value / low).ln() / (high / low).ln();
        let across = Self::LEFT + part(x, self.x) * (WIDTH - Self::LEFT - self.right);
        let down = Self::BOTTOM - part(y, self.y) * (Self::BOTTOM - Self::TOP);
        (across, down)
    }

    fn axes(&mut self, (xs, x): Axis<'_>, (ys, y): Axis<'_>) {
        let (left, right, bottom) = (Self::LEFT, WIDTH - self.right, Self::BOTTOM);
        for value in xs {
            let (across, _) = self.place((value, self.y.0));
            let (svg, at) = (&mut self.svg, (across, bottom + 16.0));
            svg.line("grid", (across, Self::TOP), (across, bottom));
            svg.text("tick", Anchor::Middle, at, &x(value));
        }
        for value in ys {
            let (_, down) = self.place((self.x.0, value));
            let (svg, at) = (&mut self.svg, (left - 6.0, down + 4.0));
            svg.line("grid", (left, down), (right, down));
            svg.text("tick", Anchor::End, at, &y(value));
        }
        self.svg.line("axis", (left, bottom), (right, bottom));
    }

    /// Names beside points, pushed apart where they would overlap.
    fn names(&mut self, mut names: Vec<(String, (f64, f64))>) {
        names.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
        let places: Vec<(f64, f64)> = names.iter().map(|(_, point)| self.place(*point)).collect();
        let ys = apart(places.iter().map(|place| place.1).collect());
        for ((name, _), ((x, _), y)) in names.iter().zip(places.iter().zip(ys)) {
            // On the other side where it would go past the edge.
            let fits = x + 9.0 + LETTER * name.chars().count() as f64 <= WIDTH;
            let (anchor, aside) = match fits {
                true => (Anchor::Start, 9.0),
                false => (Anchor::End, -9.0),
            };
            self.svg.text("note", anchor, (x + aside, y + 4.0), name);
        }
    }

    /// Names at the right edge, each with its kind of line, about where the lines end.
    fn key(&mut self, mut lines: Vec<(String, String, f64)>) {
        lines.sort_by(|a, b| b.2.total_cmp(&a.2));
        let ys = lines.iter().map(|(.., value)| self.place((self.x.1, *value)).1);
        let ys = apart(ys.collect());
        let left = WIDTH - self.right + 14.0;
        for ((name, kind, _), y) in lines.iter().zip(ys) {
            let (svg, line) = (&mut self.svg, format!("series {kind}"));
            svg.line(&line, (left, y), (left + 26.0, y));
            svg.dot(&format!("dot {kind}"), (left + 13.0, y), name);
            svg.text("note", Anchor::Start, (left + 32.0, y + 4.0), name);
        }
    }

    fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<(f64, f64)> = points.iter().map(|point| self.place(*point)).collect();
        self.svg.path(class, &points);
    }

    /// A dot for each row; the fastest and the slowest at the greatest x have their names beside them.
    fn dots(&mut self, points: &[(f64, f64, &Row)]) {
        // Production comes last, so that no other covers it.
        for (class, production) in [("dot", false), ("dot production", true)] {
            for (x, y, row) in points.iter().filter(|(.., row)| row.production == production) {
                self.dot_as(class, row, (*x, *y));
            }
        }
        let last = points.iter().map(|(x, ..)| *x).fold(0.0, f64::max);
        let end = || points.iter().filter(|(x, ..)| *x == last);
        let fastest = end().max_by(|a, b| a.1.total_cmp(&b.1));
        let slowest = end().min_by(|a, b| a.1.total_cmp(&b.1));
        // In a sweep the same variant may be both.
        let is_swept = points.iter().any(|(.., row)| row.place != points[0].2.place);
        let name = |(x, y, row): &(f64, f64, &Row)| {
            let mut name = row.variant.clone();
            if let (true, Some(axis), Some(place)) = (is_swept, &row.axis, row.place) {
                name += &format!(", {axis} {}", digits(place, 2));
            }
            (name, (*x, *y))
        };
        self.names(fastest.into_iter().chain(slowest).map(name).collect());
    }

    fn dot_as(&mut self, class: &str, row: &Row, point: (f64, f64)) {
        let time = row
            .summary
            .map_or(String::new(), |summary| seconds(summary.median));
        let tip = format!("{}, {}: {time}", row.variant, row.case);
        let place = self.place(point);
        self.svg.dot(class, place, &tip);
    }
}
