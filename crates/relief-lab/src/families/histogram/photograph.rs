//! A photograph of the user's: a portable gray map (PGM, `P5`, at most 255) that the variable `RELIEF_LAB_PICTURE` names.
//!
//! None comes with Relief. One without copyright is `camera` of scikit-image 0.26 (CC0 by its photographer, Lav Varshney):
//!
//! ```text
//! python3 -c 'from skimage.data import camera; open("camera.pgm", "wb").write(b"P5 512 512 255\n" + camera().tobytes())'
//! RELIEF_LAB_PICTURE=camera.pgm relief lab run histogram/u8
//! ```

use std::sync::OnceLock;

/// Where the photograph is.
const VARIABLE: &str = "RELIEF_LAB_PICTURE";

/// The samples of the photograph, row after row, or why it cannot be read; nothing where none was asked for. Read once.
pub(super) fn photograph() -> Option<&'static Result<Vec<u8>, String>> {
    static PICTURE: OnceLock<Option<Result<Vec<u8>, String>>> = OnceLock::new();
    let read = || {
        let path = std::env::var_os(VARIABLE)?;
        let path = std::path::Path::new(&path);
        let file = std::fs::read(path).map_err(|e| e.to_string());
        let no_map = || "it is no gray map (P5) of values to 255, or it ends early".to_owned();
        let read = file.and_then(|file| samples(&file).ok_or_else(no_map));
        Some(read.map_err(|reason| format!("the photograph {} ({VARIABLE}): {reason}", path.display())))
    };
    PICTURE.get_or_init(read).as_ref()
}

/// The samples of a gray map: `P5`, width, height and the greatest value, apart by white space, with comments from `#` to the end of
/// a line; one white space more, and the samples.
fn samples(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(b"P5")?;
    let mut next = || {
        loop {
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            rest = &rest[blank..];
            if !rest.starts_with(b"#") {
                break;
            }
            let line = rest.iter().position(|byte| *byte == b'\n')?;
            rest = &rest[line..];
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, after) = rest.split_at(digits);
        rest = after;
        std::str::from_utf8(number).ok()?.parse::<usize>().ok()
    };
    let (width, height, most) = (next()?, next()?, next()?);
    let count = width.checked_mul(height).filter(|count| *count > 0)?;
    let (blank, samples) = rest.split_first()?;
    let holds = blank.is_ascii_whitespace() && (1..=255).contains(&most);
    samples.get(..count).filter(|_| holds).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gray_map_gives_its_samples_and_what_is_none_gives_nothing() {
        assert_eq!(
            samples(b"P5 2 3 255\n\x01\x02\x03\x04\x05\x06"),
            Some(vec![1, 2, 3, 4, 5, 6])
        );
        assert_eq!(
            samples(b"P5\n# by hand\n1\n1\n# so many\n7 \n\n"),
            Some(vec![b'\n'])
        );
        for file in [
            &b""[..],
            b"P6 1 1 255\n\x01",
            b"P5 2 3 255\n\x01",
            b"P5 0 3 255\n",
            b"P5 1 1 65535\n\x01\x02",
            b"P5 99999999999 99999999999 255\n",
            b"P5 18446744073709551615 18446744073709551615 1\n\x01",
            b"P5 # no end",
            b"P5 1 1 255",
        ] {
            assert_eq!(samples(file), None, "{file:?}");
        }
    }
}
