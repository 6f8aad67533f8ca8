//! The lines of a text that a problem is about.
//!
//! A line may have 16 MiB and hold anything. What is shown of it is cut around its labels, and no character of it
//! reaches a terminal that the terminal would obey.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use crate::syntax::Span;
use crate::tree::Place;
use crate::visible::{is_unseen, push_escape};

/// The longest line that is shown whole, in bytes.
const WHOLE: usize = 120;

/// The bytes that are shown before and after a label, and of the label, in a longer line.
const BESIDE: usize = 40;

/// Makes the excerpts of one text.
pub(crate) struct Excerpts<'t> {
    name: Arc<str>,
    text: &'t str,
    pub(crate) lines: Lines<'t>,
    /// Where lines end, by where they start: one long line may be looked at for every problem.
    ends: HashMap<usize, usize>,
}

/// A few lines of a text, as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Excerpt {
    name: Arc<str>,
    text: String,
    lines: Vec<Line>,
    /// Offset and length in `text`.
    labels: Vec<(usize, usize)>,
    /// The columns of the labels in the file.
    columns: Vec<usize>,
}

/// A line of an excerpt.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number in the file, counted from 0.
    number: usize,
    /// Where it starts in the text of the excerpt.
    start: usize,
    /// Where it ends, with the end of the line.
    end: usize,
}

impl<'t> Excerpts<'t> {
    pub(crate) fn new(name: Arc<str>, text: &'t str) -> Self {
        Self {
            name,
            text,
            lines: Lines::new(text),
            ends: HashMap::new(),
        }
    }

    /// The lines of these spans and those beside them. A span that runs over the end of its line is cut there.
    pub(crate) fn of(&mut self, spans: &[Span]) -> Excerpt {
        // Lines by their numbers, with where they start and the spans in them.
        let mut wanted: BTreeMap<usize, (usize, Vec<usize>)> = BTreeMap::new();
        for (i, span) in spans.iter().enumerate() {
            let (number, start) = self.lines.line(span.start);
            wanted.entry(number).or_insert((start, Vec::new())).1.push(i);
            if start > 0 {
                let (before, start) = self.lines.line(start - 1);
                wanted.entry(before).or_insert((start, Vec::new()));
            }
            let end = self.end(start);
            if end < self.text.len() {
                wanted.entry(number + 1).or_insert((end + 1, Vec::new()));
            }
        }
        let mut excerpt = Excerpt {
            name: Arc::clone(&self.name),
            text: String::new(),
            lines: Vec::new(),
            labels: vec![(0, 0); spans.len()],
            columns: spans
                .iter()
                .map(|span| self.lines.place(span.start).column as usize)
                .collect(),
        };
        for (number, (start, inside)) in wanted {
            let end = self.end(start);
            // The line after the last has nothing to show unless a label is there.
            if start == self.text.len() && inside.is_empty() {
                continue;
            }
            let from = excerpt.text.len();
            excerpt.put(self.text, Span::new(start, end), spans, &inside);
            if end < self.text.len() {
                // The end of the line is a character that a label may be about.
                for &i in &inside {
                    let label = &mut excerpt.labels[i];
                    if label.0 == excerpt.text.len() && spans[i].end > spans[i].start {
                        label.1 = 1;
                    }
                }
                excerpt.text.push('\n');
            }
            excerpt.lines.push(Line {
                number,
                start: from,
                end: excerpt.text.len(),
            });
        }
        excerpt
    }

    /// Where the line that starts here ends: at its end of line, or at that of the text.
    fn end(&mut self, start: usize) -> usize {
        let text = self.text;
        *self.ends.entry(start).or_insert_with(|| {
            text[start..]
                .find('\n')
                .map_or(text.len(), |length| start + length)
        })
    }
}

impl Excerpt {
    /// Offset and length of every label in the text of the excerpt.
    pub(crate) fn labels(&self) -> &[(usize, usize)] {
        &self.labels
    }

    /// Appends what is shown of a line, and notes where the spans of these numbers lie in it.
    fn put(&mut self, text: &str, line: Span, spans: &[Span], inside: &[usize]) {
        let content = text[line.start..line.end].strip_suffix('\r');
        let line = Span::new(
            line.start,
            content.map_or(line.end, |content| line.start + content.len()),
        );
        let windows = windows(text, line, inside.iter().map(|&i| spans[i]));
        let mut places: Vec<(Option<usize>, usize)> = vec![(None, 0); inside.len()];
        let mut shown_to = line.start;
        for window in windows {
            if window.start > shown_to {
                self.text.push('…');
            }
            for (offset, c) in text[window.start..window.end].char_indices() {
                self.mark(window.start + offset, spans, inside, &mut places);
                if c != '\t' && is_unseen(c) {
                    push_escape(&mut self.text, c);
                } else {
                    self.text.push(c);
                }
            }
            self.mark(window.end, spans, inside, &mut places);
            shown_to = window.end;
        }
        if shown_to < line.end {
            self.text.push('…');
        }
        for (&i, (start, end)) in inside.iter().zip(places) {
            let start = start.unwrap_or(self.text.len());
            self.labels[i] = (start, end.saturating_sub(start));
        }
    }

    /// Notes which spans begin at or before this offset of the text, or reach at least to it.
    fn mark(&self, offset: usize, spans: &[Span], inside: &[usize], places: &mut [(Option<usize>, usize)]) {
        for (&i, (start, end)) in inside.iter().zip(places) {
            if offset >= spans[i].start {
                start.get_or_insert(self.text.len());
            }
            if offset <= spans[i].end {
                *end = self.text.len();
            }
        }
    }
}

/// What is shown of a line, in order and apart: all of it, or what lies around these spans.
fn windows(text: &str, line: Span, spans: impl Iterator<Item = Span>) -> Vec<Span> {
    if line.end - line.start <= WHOLE {
        return vec![line];
    }
    let boundary = |mut offset: usize| {
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    };
    let window = |start: usize, end: usize| {
        Span::new(
            boundary(start.clamp(line.start, line.end)),
            boundary(end.clamp(line.start, line.end)),
        )
    };
    let mut windows: Vec<Span> = spans
        .map(|span| {
            window(
                span.start.saturating_sub(BESIDE),
                span.end.min(span.start + BESIDE) + BESIDE,
            )
        })
        .collect();
    if windows.is_empty() {
        return vec![window(line.start, line.start + 2 * BESIDE)];
    }
    windows.sort_unstable();
    let mut apart: Vec<Span> = Vec::new();
    for window in windows {
        match apart.last_mut() {
            Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
            _ => apart.push(window),
        }
    }
    apart
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let line_of = |offset: usize| {
            self.lines
                .partition_point(|line| line.start <= offset)
                .checked_sub(1)
        };
        let (Some(first), Some(last)) = (line_of(start), line_of(end.max(start + 1) - 1)) else {
            return Err(MietteError::OutOfBounds);
        };
        let follows = |i: usize| self.lines[i].number == self.lines[i - 1].number + 1;
        // Lines between two that are shown may be left out.
        if !(first + 1..=last).all(follows) {
            return Err(MietteError::OutOfBounds);
        }
        if (context_lines_before, context_lines_after) == (0, 0) {
            let column = self
                .labels
                .iter()
                .position(|&(offset, _)| offset == start)
                .map_or(start - self.lines[first].start, |i| self.columns[i] - 1);
            return Ok(self.contents((start, end), self.lines[first].number, column, 1));
        }
        let (mut from, mut to) = (first, last);
        while from > 0 && first - from < context_lines_before && follows(from) {
            from -= 1;
        }
        while to + 1 < self.lines.len() && to - last < context_lines_after && follows(to + 1) {
            to += 1;
        }
        let bytes = (self.lines[from].start, self.lines[to].end);
        Ok(self.contents(bytes, self.lines[from].number, 0, to - from + 1))
    }
}

impl Excerpt {
    fn contents(
        &self,
        (start, end): (usize, usize),
        line: usize,
        column: usize,
        lines: usize,
    ) -> Box<dyn SpanContents<'_> + '_> {
        Box::new(MietteSpanContents::new_named(
            self.name.to_string(),
            &self.text.as_bytes()[start..end],
            (start, end - start).into(),
            line,
            column,
            lines,
        ))
    }
}

/// Lines and columns of a text.
///
/// They are counted once, at every [`STRIDE`](Lines::STRIDE)th byte, so that a place is found in constant time however
/// many lines there are and however long.
pub(crate) struct Lines<'t> {
    text: &'t str,
    counts: Vec<Counted>,
}

/// What lies before a byte of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    characters: u32,
    newlines: u32,
    /// Where the line of the byte starts.
    line_start: u32,
}

impl Counted {
    /// The same after these bytes, the first of which has this offset.
    fn after(mut self, bytes: &[u8], offset: usize) -> Self {
        for (i, &byte) in bytes.iter().enumerate() {
            // Of UTF-8, the bytes that begin a character.
            self.characters += u32::from(byte & 0xC0 != 0x80);
            if byte == b'\n' {
                self.newlines += 1;
                self.line_start = u32::try_from(offset + i + 1).unwrap_or(u32::MAX);
            }
        }
        self
    }
}

impl<'t> Lines<'t> {
    const STRIDE: usize = 256;

    pub(crate) fn new(text: &'t str) -> Self {
        let mut counts = vec![Counted::default()];
        let mut counted = Counted::default();
        for (i, chunk) in text.as_bytes().chunks(Self::STRIDE).enumerate() {
            counted = counted.after(chunk, i * Self::STRIDE);
            counts.push(counted);
        }
        Self { text, counts }
    }

    /// What lies before the byte `offset`.
    fn before(&self, offset: usize) -> Counted {
        let chunk = offset / Self::STRIDE * Self::STRIDE;
        let counted = self
            .counts
            .get(offset / Self::STRIDE)
            .copied()
            .unwrap_or_default();
        counted.after(&self.text.as_bytes()[chunk..offset], chunk)
    }

    /// The line of a byte, counted from 0, and where it starts.
    fn line(&self, offset: usize) -> (usize, usize) {
        let before = self.before(offset.min(self.text.len()));
        (before.newlines as usize, before.line_start as usize)
    }

    pub(crate) fn place(&self, offset: usize) -> Place {
        let before = self.before(offset.min(self.text.len()));
        let start = self.before(before.line_start as usize);
        Place {
            line: before.newlines + 1,
            column: before.characters - start.characters + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, spans: &[(usize, usize)]) -> Excerpt {
        let spans: Vec<Span> = spans.iter().map(|&(start, end)| Span::new(start, end)).collect();
        Excerpts::new("a".into(), text).of(&spans)
    }

    #[test]
    fn a_long_line_is_cut_around_its_labels() {
        let text = format!(
            "{}HERE{}THERE{}\n",
            "a".repeat(5_000),
            "b".repeat(5_000),
            "c".repeat(5_000)
        );
        let found = excerpt(&text, &[(5_000, 5_004), (10_004, 10_009)]);
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        assert_eq!(found.text, format!("…{a}HERE{b}…{b}THERE{c}…\n"));
        for (&(start, length), word) in found.labels.iter().zip(["HERE", "THERE"]) {
            assert_eq!(&found.text[start..start + length], word);
        }
    }

    #[test]
    fn a_label_is_cut_at_the_end_of_its_line_and_controls_are_escaped() {
        let found = excerpt("x\u{1b}[1mab\ncd\n", &[(1, 9)]);
        assert_eq!(found.text, "x\\u{1b}[1mab\ncd\n");
        assert_eq!(found.labels, [(1, 11)]);
    }

    #[test]
    fn only_lines_beside_labels_are_there() {
        let text: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let at = |i: usize| text.find(&format!("line {i}\n")).unwrap();
        let found = excerpt(&text, &[(at(50), at(50) + 4), (at(90), at(90))]);
        assert_eq!(
            found.lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            [49, 50, 51, 89, 90, 91]
        );
        assert!(found.read_span(&found.labels[0].into(), 1, 1).is_ok());
        let across = found.labels[1].0 - found.labels[0].0;
        assert!(
            found
                .read_span(&(found.labels[0].0, across).into(), 1, 1)
                .is_err()
        );
    }

    #[test]
    fn places_are_those_that_counting_finds() {
        let text = "a\nbé\n\nlong ".to_owned() + &"ü\n".repeat(300) + &"x".repeat(700);
        let lines = Lines::new(&text);
        for (offset, _) in text.char_indices() {
            let before = &text[..offset];
            let line = before.matches('\n').count();
            let column = before.rsplit('\n').next().unwrap().chars().count();
            let place = lines.place(offset);
            assert_eq!(
                (place.line as usize, place.column as usize),
                (line + 1, column + 1)
            );
        }
    }
}
