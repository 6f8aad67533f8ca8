//! Style sheets, taken apart into rules as CSS Syntax 3 has it. Selectors are matched by `simplecss`; what it does not follow is kept to be told.

use std::borrow::Cow;
use std::ops::Range;

use simplecss::{AttributeOperator, PseudoClass, Selector, SelectorToken, SelectorTokenizer};

use super::style::Node;
use super::{Document, Place};

/// What is set by a rule or by an attribute `style`.
#[derive(Clone, Debug)]
pub(super) struct Declaration<'t> {
    /// In small letters.
    pub(super) name: Cow<'t, str>,
    pub(super) value: &'t str,
    pub(super) is_important: bool,
    /// Where it stands in its text.
    at: usize,
}

#[derive(Debug)]
struct Rule<'t> {
    selector: Selector<'t>,
    declarations: Range<usize>,
}

/// A place in a style sheet: which of them, and the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    text: usize,
    at: usize,
}

/// The style sheets of a document.
#[derive(Default)]
pub(super) struct Sheet<'t> {
    texts: &'t [Text<'t>],
    rules: Vec<Rule<'t>>,
    declarations: Vec<(Declaration<'t>, Spot)>,
    /// What is not followed, with its place.
    pub(super) untold: Vec<(Spot, String)>,
}

/// A style sheet without its comments, and where it stands.
pub(super) struct Text<'a> {
    node: Node<'a, 'a>,
    text: String,
}

/// What lies at a byte of a part of a style sheet.
#[derive(Clone, Copy)]
struct Origin {
    text: usize,
    offset: usize,
}

impl Origin {
    const fn spot(self, at: usize) -> Spot {
        Spot {
            text: self.text,
            at: self.offset + at,
        }
    }

    const fn behind(self, bytes: usize) -> Self {
        Self {
            text: self.text,
            offset: self.offset + bytes,
        }
    }
}

/// Parts of a selector that are looked at: matching goes as deep as they are many.
const MAX_PARTS: usize = 64;
/// Blocks in blocks.
const MAX_BLOCKS: u32 = 16;

impl<'a> Text<'a> {
    /// That of a text within a `style`.
    pub(super) fn new(node: Node<'a, 'a>) -> Self {
        let text = node.text().unwrap_or_default();
        Self {
            node,
            text: uncommented(text),
        }
    }

    fn place(&self, document: &Document<'_>, at: usize) -> Place {
        let (own, file) = (self.node.text().unwrap_or_default(), document.tree.input_text());
        let begin = self.node.range().start;
        // Where nothing in it is written by entities it stands in the file as it is.
        let exact = file
            .get(self.node.range())
            .and_then(|file| file.find(own))
            .map(|within| begin + within + at);
        let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count() as u32;
        let place = document.tree.text_pos_at(exact.unwrap_or(begin));
        Place {
            line: place.row + exact.map_or_else(|| own.get(..at).map_or(0, lines), |_| 0),
            column: place.col,
        }
    }
}

/// A text whose comments are blanks, so that all else stands where it stood.
fn uncommented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote = None;
    while let Some(letter) = rest.chars().next() {
        let length = match (quote, letter) {
            (Some(_), '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '/') if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
                out.extend(rest.bytes().take(end).map(blank));
                rest = &rest[end..];
                continue;
            }
            (None, '<') if rest.starts_with("<!--") => {
                out.push_str("    ");
                rest = &rest[4..];
                continue;
            }
            (None, '-') if rest.starts_with("-->") => {
                out.push_str("   ");
                rest = &rest[3..];
                continue;
            }
            (None, '"' | '\'') => {
                quote = Some(letter);
                1
            }
            // A string ends with its line, too.
            (Some(open), _) if open == letter || letter == '\n' => {
                quote = None;
                1
            }
            _ => letter.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Where the first of these bytes stands from `at` on, outside of strings and brackets; the end where none does.
fn find(text: &str, mut at: usize, stops: &[u8]) -> usize {
    let bytes = text.as_bytes();
    let mut open = 0_usize;
    let mut quote = None;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (_, b'\\') => at += 1,
            (Some(mark), _) if *byte == mark || *byte == b'\n' => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, _) if open == 0 && stops.contains(byte) => return at,
            (None, b'(' | b'[' | b'{') => open += 1,
            (None, b')' | b']' | b'}') => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The declarations of a block or an attribute, each of them or where it stands, if it is none.
pub(super) fn declarations(text: &str) -> impl Iterator<Item = Result<Declaration<'_>, (usize, &str)>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let (begin, end) = (at, find(text, at, b";"));
            at = end + 1;
            let whole = text.get(begin..end).unwrap_or_default();
            let begin = begin + whole.len() - whole.trim_start().len();
            if !whole.trim().is_empty() {
                return Some(declaration(whole.trim(), begin).ok_or((begin, whole.trim())));
            }
        }
        None
    })
}

fn declaration(text: &str, at: usize) -> Option<Declaration<'_>> {
    let (name, value) = text.split_once(':')?;
    let name = name.trim();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte >= 128;
    if name.is_empty() || !name.bytes().all(is_name) || value.contains('{') {
        return None;
    }
    let value = value.trim();
    let important = value
        .rsplit_once('!')
        .filter(|(_, word)| word.trim().eq_ignore_ascii_case("important"))
        .map(|(value, _)| value.trim_end());
    Some(Declaration {
        name: if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            name.to_ascii_lowercase().into()
        } else {
            name.into()
        },
        value: important.unwrap_or(value),
        is_important: important.is_some(),
        at,
    })
}

/// A medium that a picture for a machine has: one that is printed; nothing where a query is not followed.
pub(super) fn is_for_print(query: &str) -> Option<bool> {
    if query.trim().is_empty() {
        return Some(true);
    }
    let mut any = Some(false);
    for medium in query.split(',') {
        let medium = medium.trim().to_ascii_lowercase();
        let words: Vec<&str> = medium.split_whitespace().collect();
        let known = |medium: &str| match medium {
            "all" | "print" => Some(true),
            "screen" | "speech" | "aural" | "braille" | "embossed" | "handheld" | "projection" | "tty"
            | "tv" => Some(false),
            _ => None,
        };
        let fits = match words[..] {
            [medium] | ["only", medium] => known(medium),
            ["not", medium] => known(medium).map(|fits| !fits),
            // What else a medium must have does not matter where it is another.
            [medium, "and", ..] | ["only", medium, "and", ..] => known(medium).filter(|fits| !fits),
            _ => None,
        };
        any = match (any, fits) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, _) | (_, None) => None,
            _ => Some(false),
        };
    }
    any
}

/// A part of a text for people.
pub(super) fn shortened(text: &str) -> String {
    const MAX: usize = 40;
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(MAX) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// A selector that is followed.
fn selector(text: &str) -> Option<Selector<'_>> {
    // A slash ends the reading without a word.
    if text.is_empty() || text.contains('/') {
        return None;
    }
    let mut parts = 0;
    for token in SelectorTokenizer::from(text) {
        parts += 1;
        match token {
            Ok(SelectorToken::PseudoClass(name))
                if !matches!(
                    name,
                    "first-child" | "link" | "visited" | "hover" | "active" | "focus"
                ) =>
            {
                return None;
            }
            Ok(_) if parts <= MAX_PARTS => {}
            _ => return None,
        }
    }
    Selector::parse(text)
}

impl<'t> Sheet<'t> {
    /// Reads all style sheets, whose rules come in rising order.
    pub(super) fn read(texts: &'t [Text<'t>]) -> Self {
        let mut sheet = Self {
            texts,
            ..Self::default()
        };
        for (text, own) in texts.iter().enumerate() {
            sheet.block(&own.text, Origin { text, offset: 0 }, 0);
        }
        sheet.rules.sort_by_cached_key(|rule| rule.selector.specificity());
        sheet
    }

    /// The line and the column of a spot.
    pub(super) fn place(&self, document: &Document<'_>, spot: Spot) -> Option<Place> {
        self.texts
            .get(spot.text)
            .map(|text| text.place(document, spot.at))
    }

    fn note(&mut self, spot: Spot, what: String) {
        if self.untold.len() <= super::MAX_WARNINGS {
            self.untold.push((spot, what));
        }
    }

    /// Rules one after the other.
    fn block(&mut self, text: &'t str, origin: Origin, depth: u32) {
        let mut at = 0;
        while let Some(rest) = text.get(at..) {
            let next = rest.find(|letter: char| !letter.is_whitespace() && letter != ';' && letter != '}');
            let Some(next) = next else { return };
            let begin = at + next;
            let is_at_rule = text[begin..].starts_with('@');
            let stop = find(text, begin, if is_at_rule { b";{" } else { b"{" });
            let prelude = text.get(begin..stop).unwrap_or_default().trim();
            let has_block = text.as_bytes().get(stop) == Some(&b'{');
            let end = if has_block {
                find(text, stop + 1, b"}")
            } else {
                stop
            };
            let body = text.get(stop + 1..end).filter(|_| has_block);
            let body = body.map(|body| (body, origin.behind(stop + 1)));
            at = end + 1;
            match body {
                _ if is_at_rule => self.at_rule(prelude, body, origin.spot(begin), depth),
                Some(body) => self.rule((prelude, origin.behind(begin)), body),
                None => self.note(
                    origin.spot(begin),
                    format!("{:?} in a style sheet is no rule", shortened(prelude)),
                ),
            }
        }
    }

    fn at_rule(&mut self, prelude: &'t str, body: Option<(&'t str, Origin)>, spot: Spot, depth: u32) {
        let end = prelude[1..].find(|letter: char| !(letter.is_alphanumeric() || letter == '-'));
        let (name, query) = prelude.split_at(end.map_or(prelude.len(), |end| end + 1));
        let fits = match (name.to_ascii_lowercase().as_str(), body) {
            // The file is read as UTF-8, and its names have no prefixes.
            ("@charset", None) => return,
            ("@namespace", None) if query.contains(super::SVG) => return,
            // How a page is cut into sheets.
            ("@page", Some(_)) => return,
            ("@media", Some(body)) if depth < MAX_BLOCKS => is_for_print(query).map(|fits| (fits, body)),
            _ => None,
        };
        match fits {
            Some((true, (body, origin))) => self.block(body, origin, depth + 1),
            Some((false, _)) => {}
            None => self.note(
                spot,
                format!("{:?} in a style sheet is not followed", shortened(prelude)),
            ),
        }
    }

    fn rule(&mut self, (selectors, begin): (&'t str, Origin), (body, within): (&'t str, Origin)) {
        let first = self.declarations.len();
        for declaration in declarations(body) {
            match declaration {
                Ok(declaration) => {
                    let spot = within.spot(declaration.at);
                    self.declarations.push((declaration, spot));
                }
                Err((at, text)) => self.note(
                    within.spot(at),
                    format!("{:?} in a style sheet is no declaration", shortened(text)),
                ),
            }
        }
        let last = self.declarations.len();
        let mut at = 0;
        while at <= selectors.len() {
            let end = find(selectors, at, b",");
            let text = selectors.get(at..end).unwrap_or_default();
            let from = at + text.len() - text.trim_start().len();
            at = end + 1;
            match selector(text.trim()) {
                Some(selector) if first < last => self.rules.push(Rule {
                    selector,
                    declarations: first..last,
                }),
                Some(_) => {}
                None => self.note(
                    begin.spot(from),
                    format!(
                        "the selector {:?} of a style sheet is not followed",
                        shortened(text)
                    ),
                ),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// How long an element takes to match with all rules, in rules that name no ancestors, `depth` being how many it has at most.
    pub(super) fn ways(&self, depth: u64) -> u64 {
        // A selector names its ancestors one after the other, with blanks between.
        let named = |rule: &Rule<'_>| rule.selector.to_string().split_whitespace().count() as u64;
        let ways = |rule| choices(depth, named(rule).saturating_sub(1));
        self.rules.iter().map(ways).fold(0, u64::saturating_add)
    }

    /// What the rules say of an element, with its places, in rising order.
    pub(super) fn of<'s>(&'s self, node: Node<'s, '_>) -> impl Iterator<Item = &'s (Declaration<'t>, Spot)> {
        self.rules
            .iter()
            .filter(move |rule| rule.selector.matches(&Element(node)))
            .flat_map(|rule| &self.declarations[rule.declarations.clone()])
    }
}

/// How many ways there are to choose `count` of `all`.
fn choices(all: u64, count: u64) -> u64 {
    let step = |ways: u64, number: u64| ways.saturating_mul(all.saturating_sub(number)) / (number + 1);
    (0..count.min(all)).fold(1, step).max(1)
}

/// An element as style sheets ask for it.
struct Element<'a, 'i>(Node<'a, 'i>);

impl simplecss::Element for Element<'_, '_> {
    fn parent_element(&self) -> Option<Self> {
        self.0.parent_element().map(Element)
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.0.prev_sibling_element().map(Element)
    }

    fn has_local_name(&self, name: &str) -> bool {
        self.0.tag_name().name() == name
    }

    fn attribute_matches(&self, name: &str, operator: AttributeOperator<'_>) -> bool {
        self.0
            .attribute(name)
            .is_some_and(|value| operator.matches(value))
    }

    fn pseudo_class_matches(&self, class: PseudoClass<'_>) -> bool {
        match class {
            PseudoClass::FirstChild => self.prev_sibling_element().is_none(),
            PseudoClass::Link => self.0.tag_name().name() == "a" && super::draw::href(self.0).is_some(),
            // Selectors 4, 7.2: the language begins with what is asked for, up to a hyphen.
            PseudoClass::Lang(wanted) => {
                let own = |node: Node<'_, '_>| {
                    let xml = ("http://www.w3.org/XML/1998/namespace", "lang");
                    let own = node.attribute(xml).or_else(|| node.attribute("lang"));
                    own.map(str::to_ascii_lowercase)
                };
                let wanted = wanted.trim_matches(['"', '\'']).to_ascii_lowercase();
                self.0.ancestors().find_map(own).is_some_and(|own| {
                    own.strip_prefix(&wanted)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                })
            }
            // A picture that is made has no pointer and no history.
            PseudoClass::Visited | PseudoClass::Hover | PseudoClass::Active | PseudoClass::Focus => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_those_of_print() {
        for (query, fits) in [
            ("", Some(true)),
            ("print", Some(true)),
            ("all", Some(true)),
            ("screen", Some(false)),
            ("screen, print", Some(true)),
            ("not screen", Some(true)),
            ("only screen and (min-width: 9px)", Some(false)),
            ("print and (color)", None),
            ("(prefers-color-scheme: dark)", None),
            ("screen, (color)", None),
            ("(color), print", Some(true)),
        ] {
            assert_eq!(is_for_print(query), fits, "{query}");
        }
    }

    #[test]
    fn declarations_end_where_css_ends_them() {
        let names = |text: &str| -> Vec<String> {
            declarations(text)
                .map(|one| match one {
                    Ok(one) => format!(
                        "{}={}{}",
                        one.name,
                        one.value,
                        if one.is_important { "!" } else { "" }
                    ),
                    Err((at, text)) => format!("{at}?{text}"),
                })
                .collect()
        };
        assert_eq!(
            names("FILL:red; x : calc((1px + 2px) * 3) ;;y:url(data:a;b) ! Important;z"),
            ["fill=red", "x=calc((1px + 2px) * 3)", "y=url(data:a;b)!", "66?z"]
        );
        assert_eq!(
            names("font-family: 'a;b', \"c\\\";d\""),
            ["font-family='a;b', \"c\\\";d\""]
        );
    }

    #[test]
    fn comments_are_blanks_of_the_same_length() {
        let text = "a/* ä\n */b <!-- c --> '/* d */' \"\\\"/*\"";
        let out = uncommented(text);
        assert_eq!(out.len(), text.len());
        assert_eq!(out, "a     \n   b      c     '/* d */' \"\\\"/*\"");
    }
}
