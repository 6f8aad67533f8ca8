//! The pieces of a text with its comments, for laying it out anew.

use super::characters::{is_identifier, is_newline, is_space};
use super::strings::read_string;

/// A piece of a text, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// The end of a line.
    Newline,
    /// `// …`, without the end of its line.
    LineComment(&'a str),
    /// `/* … */`.
    BlockComment(&'a str),
    /// `\`, which with a comment or without continues the line on the next one.
    Continuation,
    /// `/-`, which leaves out what follows.
    Slashdash,
    /// A string, a word, a number or a keyword.
    Word(&'a str),
    /// One of `( ) { } = ;`.
    Mark(char),
}

/// The tokens of a text that [`read`](super::read) takes; of any other, something.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Texts of nothing but ends of lines make many, so they are not gathered.
    std::iter::from_fn(move || {
        loop {
            let (token, length) = token(rest, rest.chars().next()?);
            rest = &rest[length..];
            if token.is_some() {
                return token;
            }
        }
    })
}

/// The first token and its length in bytes, which is at least one character.
fn token(rest: &str, c: char) -> (Option<Token<'_>>, usize) {
    let one = c.len_utf8();
    if is_newline(c) {
        return (
            Some(Token::Newline),
            if rest.starts_with("\r\n") { 2 } else { one },
        );
    }
    if is_space(c) {
        return (None, one);
    }
    if rest.starts_with("//") {
        let length = rest.find(is_newline).unwrap_or(rest.len());
        return (
            Some(Token::LineComment(rest[..length].trim_end_matches(is_space))),
            length,
        );
    }
    if rest.starts_with("/*") {
        let length = block_comment(rest);
        return (Some(Token::BlockComment(&rest[..length])), length);
    }
    if rest.starts_with("/-") {
        return (Some(Token::Slashdash), 2);
    }
    match c {
        '\\' => (Some(Token::Continuation), 1),
        '(' | ')' | '{' | '}' | '=' | ';' => (Some(Token::Mark(c)), 1),
        _ => {
            let length = word(rest).max(one);
            (Some(Token::Word(&rest[..length])), length)
        }
    }
}

fn word(rest: &str) -> usize {
    if rest.trim_start_matches('#').starts_with('"')
        && let Ok((_, length)) = read_string(rest)
    {
        return length;
    }
    let start = usize::from(rest.starts_with('#'));
    rest[start..]
        .find(|c| !is_identifier(c))
        .map_or(rest.len(), |length| start + length)
}

/// The bytes of a comment that may hold others.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut open) = (0, 0_usize);
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (open, at) = (open + 1, at + 2),
            [b'*', b'/', ..] if open == 1 => return at + 2,
            [b'*', b'/', ..] => (open, at) = (open.saturating_sub(1), at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}
