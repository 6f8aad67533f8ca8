//! The classes of characters of KDL 2 (<https://kdl.dev/spec/>, "Whitespace", "Newline", "Disallowed Literal Code
//! Points", "Identifier String").

/// Whitespace within a line.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// The end of a line; CR LF counts as one.
pub(super) fn is_newline(c: char) -> bool {
    matches!(
        c,
        '\r' | '\n' | '\u{85}' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}'
    )
}

/// What may stand nowhere in a file, not even in a string or a comment.
pub(super) fn is_disallowed(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// What a word without quotes may hold.
pub(super) fn is_identifier(c: char) -> bool {
    !matches!(
        c,
        '\\' | '/' | '(' | ')' | '{' | '}' | '[' | ']' | ';' | '"' | '#' | '='
    ) && !is_space(c)
        && !is_newline(c)
        && !is_disallowed(c)
}

/// Whether the text is a number: decimal with an optional fraction and exponent, or `0x`, `0o`, `0b`.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = unsigned.strip_prefix(prefix) {
            return are_digits(digits, radix);
        }
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    are_digits(whole, 10)
        && fraction.is_none_or(|digits| are_digits(digits, 10))
        && exponent.is_none_or(|e| are_digits(e.strip_prefix(['+', '-']).unwrap_or(e), 10))
}

/// Digits, with underscores anywhere but at the start.
fn are_digits(text: &str, radix: u32) -> bool {
    !text.starts_with('_') && !text.is_empty() && text.chars().all(|c| c == '_' || c.is_digit(radix))
}
