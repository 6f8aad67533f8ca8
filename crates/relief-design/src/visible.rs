//! Text from outside on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters written as escapes: `\n`, `\u{1b}`.
///
/// For paths, names and messages of others, which must neither steer a terminal nor pretend to be another line. Escaped
/// are the controls of C0 and C1, the ends of lines of Unicode, and the characters that change the direction of text.
///
/// ```
/// assert_eq!(relief_design::visible("a\u{1b}]0;b\n.png"), "a\\u{1b}]0;b\\n.png");
/// assert_eq!(relief_design::visible("größe.png"), "größe.png");
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_unseen)
}

/// The text with its control characters written as escapes, but for the ends of lines.
///
/// For messages that have several lines of their own.
///
/// ```
/// assert_eq!(relief_design::visible_lines("a\n\u{9b}b"), "a\n\\u{9b}b");
/// ```
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_unseen(c))
}

fn escaped(text: &str, is_unseen: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unseen(c) {
            push_escape(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Appends the escape of a character.
pub(crate) fn push_escape(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a string cannot fail.
        _ => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
    }
}

/// Whether a terminal obeys the character instead of showing it.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_directions_are_escaped_and_all_else_is_left() {
        for (text, shown) in [
            ("\u{0}\u{7f}\u{9b}", "\\u{0}\\u{7f}\\u{9b}"),
            ("a\tb\r\n", "a\\tb\\r\\n"),
            ("\u{202e}gnp.\u{2066}", "\\u{202e}gnp.\\u{2066}"),
            ("ü – 図 \\ \"", "ü – 図 \\ \""),
        ] {
            assert_eq!(visible(text), shown);
            assert!(!visible(text).contains(is_unseen));
        }
    }
}
