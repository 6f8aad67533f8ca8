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
    let body = if several_lines {
        Cow::Owned(dedented(body, start, hashes == 0)?)
    } else {
        check_single_line(body, start, hashes == 0)?;
        Cow::Borrowed(body)
    };
    let value = if hashes == 0 && body.contains('\\') {
        Cow::Owned(unescaped(&body, start)?)
    } else {
        body
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

fn check_single_line(body: &str, start: usize, escapes: bool) -> Result<(), BadString> {
    let Some((at, _)) = body.char_indices().find(|&(_, c)| is_newline(c)) else {
        return Ok(());
    };
    // An escaped end of line is whitespace that the escape swallows.
    let before = body[..at].trim_end_matches(is_space);
    let backslashes = before.len() - before.trim_end_matches('\\').len();
    if escapes && backslashes % 2 == 1 {
        return Ok(());
    }
    Err(BadString {
        at: start + at,
        message: "this string runs over the end of its line",
        help: "close it on the same line, or open and close it with three quotes",
    })
}

/// The lines between the quotes without the indentation of the last.
fn dedented(body: &str, start: usize, escapes: bool) -> Result<String, BadString> {
    let bad = |at, message| BadString {
        at: start + at,
        message,
        help: "a string of several lines has its opening and its closing quotes at the ends of lines of their own, \
               and every line indented as far as the closing quotes",
    };
    let unified = body.replace("\r\n", "\n");
    let lines: Vec<&str> = unified.split(is_newline).collect();
    let [first, inner @ .., indentation] = lines.as_slice() else {
        return Err(bad(
            0,
            "text stands between the three quotes and the end of the line",
        ));
    };
    if !first.is_empty() {
        return Err(bad(
            0,
            "text stands between the three quotes and the end of the line",
        ));
    }
    if !indentation.chars().all(is_space) {
        return Err(bad(body.len(), "text stands before the closing quotes"));
    }
    let mut out = Vec::with_capacity(inner.len());
    for line in inner {
        if escapes
            && line.trim_end_matches(is_space).ends_with('\\')
            && !line.trim_end_matches(is_space).ends_with("\\\\")
        {
            return Err(bad(0, "a string of several lines holds an escaped end of line"));
        }
        if line.chars().all(is_space) {
            out.push("");
        } else if let Some(rest) = line.strip_prefix(indentation) {
            out.push(rest);
        } else {
            return Err(bad(
                0,
                "a line of this string is indented less than its closing quotes",
            ));
        }
    }
    Ok(out.join("\n"))
}

/// The text with its escapes resolved.
fn unescaped(body: &str, start: usize) -> Result<String, BadString> {
    let bad = |at: usize| BadString {
        at: start + at.min(body.len()),
        message: "this escape is unknown",
        help: "escapes are \\\\ \\\" \\n \\r \\t \\b \\f \\s \\u{…}; write \\\\ for a backslash",
    };
    let mut out = String::with_capacity(body.len());
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
    Ok(out)
}
