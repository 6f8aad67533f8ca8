//! Strings between quotes: escapes, raw strings, strings of several lines.

use std::borrow::Cow;

use super::characters::{is_disallowed, is_newline, is_space};

/// What is wrong with a string: the offset in it, what was found, what to do.
pub(super) struct BadString {
    pub(super) at: usize,
    pub(super) message: &'static str,
    pub(super) help: &'static str,
}

/// The string at the start of `text`, which begins with `"` or `#`, and the bytes it takes.
pub(super) fn read_string(text: &str) -> Result<(Cow<'_, str>, usize), BadString> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let opened = &text[hashes..];
    let several_lines = opened.starts_with("\"\"\"");
    let quotes = if several_lines { "\"\"\"" } else { "\"" };
    let start = hashes + quotes.len();
    let end = closing(text, start, quotes, hashes).ok_or(BadString {
        at: 0,
        message: "this string is not closed",
        help: if several_lines {
            "close it with three quotes on a line of their own, and as many # as it was opened with"
        } else {
            "close it with a quote, and as many # as it was opened with"
        },
    })?;
    let body = &text[start..end];
    if let Some((at, _)) = body.char_indices().find(|&(_, c)| is_disallowed(c)) {
        return Err(BadString {
            at: start + at,
            message: "this character may not stand in a file",
            help: "write it as an escape: \\u{…} with its hexadecimal number",
        });
    }
    let escapes = hashes == 0;
    let value = if several_lines {
        Cow::Owned(dedented(body, start, escapes)?)
    } else {
        check_single_line(body, start, escapes)?;
        if escapes && body.contains('\\') {
            let mut out = String::with_capacity(body.len());
            unescape(body, start, &mut out)?;
            Cow::Owned(out)
        } else {
            Cow::Borrowed(body)
        }
    };
    Ok((value, end + quotes.len() + hashes))
}

/// Where the closing quotes stand.
fn closing(text: &str, start: usize, quotes: &str, hashes: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        if hashes == 0 && bytes[at] == b'\\' {
            at += 2;
            continue;
        }
        if bytes[at] == b'"' && bytes[at..].starts_with(quotes.as_bytes()) {
            let after = &bytes[at + quotes.len()..];
            if after.len() >= hashes && after[..hashes].iter().all(|&b| b == b'#') {
                return Some(at);
            }
        }
        at += 1;
    }
    None
}

/// Every end of a line in it is escaped, as whitespace that the escape swallows.
fn check_single_line(body: &str, start: usize, escapes: bool) -> Result<(), BadString> {
    let mut characters = body.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if escapes && c == '\\' {
            let swallows = characters
                .peek()
                .is_some_and(|&(_, c)| is_space(c) || is_newline(c));
            if swallows {
                while characters
                    .next_if(|&(_, c)| is_space(c) || is_newline(c))
                    .is_some()
                {}
            } else {
                characters.next();
            }
        } else if is_newline(c) {
            return Err(BadString {
                at: start + at,
                message: "this string runs over the end of its line",
                help: "close it on the same line, or open and close it with three quotes",
            });
        }
    }
    Ok(())
}

/// The lines of a text with their offsets in it; CR LF is one end of a line.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if is_newline(c) {
            lines.push((start, &text[start..at]));
            start = at + c.len_utf8();
            if c == '\r' && characters.next_if(|&(_, c)| c == '\n').is_some() {
                start += 1;
            }
        }
    }
    lines.push((start, &text[start..]));
    lines
}

/// The lines between the quotes without the indentation of the last, with their escapes resolved.
fn dedented(body: &str, start: usize, escapes: bool) -> Result<String, BadString> {
    let bad = |at, message| BadString {
        at: start + at,
        message,
        help: "a string of several lines has its opening and its closing quotes at the ends of lines of their own, \
               and every line indented as far as the closing quotes",
    };
    let lines = lines(body);
    let [(_, ""), inner @ .., (_, indentation)] = lines.as_slice() else {
        return Err(bad(
            0,
            "text stands between the three quotes and the end of the line",
        ));
    };
    if !indentation.chars().all(is_space) {
        return Err(bad(body.len(), "text stands before the closing quotes"));
    }
    let mut out = String::with_capacity(body.len());
    for (i, &(at, line)) in inner.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        if line.chars().all(is_space) {
            continue;
        }
        let Some(rest) = line.strip_prefix(indentation) else {
            return Err(bad(
                at,
                "a line of this string is indented less than its closing quotes",
            ));
        };
        let written = rest.trim_end_matches(is_space);
        let backslashes = written.len() - written.trim_end_matches('\\').len();
        if escapes && backslashes % 2 == 1 {
            let at = at + indentation.len() + written.len() - 1;
            return Err(bad(at, "a string of several lines holds an escaped end of line"));
        }
        if escapes {
            unescape(rest, start + at + indentation.len(), &mut out)?;
        } else {
            out.push_str(rest);
        }
    }
    Ok(out)
}

/// Appends the text, which begins at the offset `start` of the string, with its escapes resolved.
fn unescape(body: &str, start: usize, out: &mut String) -> Result<(), BadString> {
    let bad = |at: usize| BadString {
        at: start + at,
        message: "this escape is unknown",
        help: "escapes are \\\\ \\\" \\n \\r \\t \\b \\f \\s \\u{…}; write \\\\ for a backslash",
    };
    let mut rest = body;
    while let Some(found) = rest.find('\\') {
        out.push_str(&rest[..found]);
        let at = body.len() - rest.len() + found;
        let after = &rest[found + 1..];
        let c = after.chars().next().ok_or_else(|| bad(at))?;
        rest = &after[c.len_utf8()..];
        match c {
            '\\' | '"' => out.push(c),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            's' => out.push(' '),
            'u' => {
                let digits = rest
                    .strip_prefix('{')
                    .and_then(|r| r.split_once('}'))
                    .map(|(digits, _)| digits);
                let digits =
                    digits.filter(|d| (1..=6).contains(&d.len()) && d.bytes().all(|b| b.is_ascii_hexdigit()));
                let digits = digits.ok_or_else(|| bad(at))?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| bad(at))?);
                rest = &rest[digits.len() + 2..];
            }
            c if is_space(c) || is_newline(c) => {
                rest = rest.trim_start_matches(|c| is_space(c) || is_newline(c))
            }
            _ => return Err(bad(at)),
        }
    }
    out.push_str(rest);
    Ok(())
}
