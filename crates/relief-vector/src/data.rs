//! The data of an SVG path, segment by segment.
//!
//! `svgtypes` says what path data are. What nearly all of them consist of, commands and decimal numbers without a fault, is read here, as long
//! files of drawings are little else. At the first byte that is anything else `svgtypes` reads them anew and goes on from there, so that faults and their
//! places are its own.

use svgtypes::{PathParser, PathSegment};

/// The segments of path data, as `svgtypes` has them.
pub(crate) struct Segments<'a> {
    data: &'a str,
    quick: Quick<'a>,
    /// Segments that were handed over.
    given: usize,
    whole: Option<PathParser<'a>>,
}

impl<'a> Segments<'a> {
    pub(crate) fn new(data: &'a str) -> Self {
        Self {
            data,
            quick: Quick {
                bytes: data.as_bytes(),
                at: 0,
                command: None,
            },
            given: 0,
            whole: None,
        }
    }

    /// Goes on by `svgtypes`, behind what was handed over.
    #[cold]
    fn go_on(&mut self) -> Option<Result<PathSegment, svgtypes::Error>> {
        let mut whole = PathParser::from(self.data);
        let next = whole.nth(self.given);
        self.whole = Some(whole);
        next
    }
}

impl Iterator for Segments<'_> {
    type Item = Result<PathSegment, svgtypes::Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(whole) = &mut self.whole {
            return whole.next();
        }
        match self.quick.next() {
            Ok(segment) => {
                self.given += usize::from(segment.is_some());
                segment.map(Ok)
            }
            Err(Unusual) => self.go_on(),
        }
    }
}

/// Something that is not read here.
#[derive(Debug)]
struct Unusual;

/// Reads what is usual.
struct Quick<'a> {
    bytes: &'a [u8],
    at: usize,
    /// That of the segment before, a `moveto` as the `lineto` that numbers behind it are.
    command: Option<u8>,
}

impl Quick<'_> {
    #[inline]
    fn byte(&self) -> u8 {
        // No byte of path data is 0.
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_spaces(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<PathSegment>, Unusual> {
        use PathSegment as Segment;
        self.skip_spaces();
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let byte = self.byte();
        let command = match (byte, self.command) {
            (b'M' | b'm', _) => {
                self.at += 1;
                byte
            }
            (
                b'Z' | b'z' | b'L' | b'l' | b'H' | b'h' | b'V' | b'v' | b'C' | b'c' | b'S' | b's' | b'Q'
                | b'q' | b'T' | b't' | b'A' | b'a',
                Some(_),
            ) => {
                self.at += 1;
                byte
            }
            (b'0'..=b'9' | b'.' | b'-' | b'+', Some(before)) if !matches!(before, b'Z' | b'z') => before,
            _ => return Err(Unusual),
        };
        let abs = command.is_ascii_uppercase();
        let segment = match command | 0x20 {
            b'm' => Segment::MoveTo {
                abs,
                x: self.number()?,
                y: self.number()?,
            },
            b'l' => Segment::LineTo {
                abs,
                x: self.number()?,
                y: self.number()?,
            },
            b'h' => Segment::HorizontalLineTo {
                abs,
                x: self.number()?,
            },
            b'v' => Segment::VerticalLineTo {
                abs,
                y: self.number()?,
            },
            b'c' => Segment::CurveTo {
                abs,
                x1: self.number()?,
                y1: self.number()?,
                x2: self.number()?,
                y2: self.number()?,
                x: self.number()?,
                y: self.number()?,
            },
            b's' => Segment::SmoothCurveTo {
                abs,
                x2: self.number()?,
                y2: self.number()?,
                x: self.number()?,
                y: self.number()?,
            },
            b'q' => Segment::Quadratic {
                abs,
                x1: self.number()?,
                y1: self.number()?,
                x: self.number()?,
                y: self.number()?,
            },
            b't' => Segment::SmoothQuadratic {
                abs,
                x: self.number()?,
                y: self.number()?,
            },
            b'a' => Segment::EllipticalArc {
                abs,
                rx: self.number()?,
                ry: self.number()?,
                x_axis_rotation: self.number()?,
                large_arc: self.flag()?,
                sweep: self.flag()?,
                x: self.number()?,
                y: self.number()?,
            },
            _ => Segment::ClosePath { abs },
        };
        self.command = Some(match command {
            b'M' => b'L',
            b'm' => b'l',
            other => other,
        });
        Ok(Some(segment))
    }

    /// A number of a list, and what parts it from the next.
    #[inline]
    fn number(&mut self) -> Result<f64, Unusual> {
        self.skip_spaces();
        let (number, length) = decimal(&self.bytes[self.at..]).ok_or(Unusual)?;
        self.at += length;
        self.skip_spaces();
        if self.byte() == b',' {
            self.at += 1;
        }
        Ok(number)
    }

    /// One of the flags of an arc.
    fn flag(&mut self) -> Result<bool, Unusual> {
        self.skip_spaces();
        let flag = match self.byte() {
            b'0' => false,
            b'1' => true,
            _ => return Err(Unusual),
        };
        self.at += 1;
        if self.byte() == b',' {
            self.at += 1;
        }
        self.skip_spaces();
        Ok(flag)
    }
}

/// Powers of ten that are exact.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The decimal number that some text begins with, rounded to nearest, and how many bytes it has. `None` where it begins with none, and where it has an
/// exponent or digits beyond 2^53.
///
/// Whole numbers up to 2^53 and powers of ten up to 10^22 are exact, so that their quotient is rounded once (Clinger, "How to Read Floating Point
/// Numbers Accurately", 1990).
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    const MOST: u64 = 1 << 53;
    let byte = |at: usize| text.get(at).copied().unwrap_or(0);
    let sign = byte(0);
    let first = usize::from(matches!(sign, b'-' | b'+'));
    let (mut at, mut whole) = (first, 0_u64);
    let digits = |at: &mut usize, whole: &mut u64| {
        let from = *at;
        while byte(*at).is_ascii_digit() {
            *whole = whole.wrapping_mul(10).wrapping_add(u64::from(byte(*at) - b'0'));
            *at += 1;
        }
        *at - from
    };
    let mut count = digits(&mut at, &mut whole);
    let mut behind = 0;
    if byte(at) == b'.' {
        at += 1;
        behind = digits(&mut at, &mut whole);
        count += behind;
    }
    // So many digits fit `whole`.
    let is_known = count <= 19 && whole <= MOST && behind < TENS.len();
    if count == 0 || !is_known || matches!(byte(at), b'e' | b'E') {
        return None;
    }
    let number = whole as f64 / TENS[behind];
    Some((if sign == b'-' { -number } else { number }, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Affine, Limits, Rule, Sketch, shapes};

    /// Equal as numbers, and as zeros of either sign.
    fn bits(segment: &PathSegment) -> String {
        format!("{segment:?}")
    }

    /// What is filled without a path is what is filled by one.
    fn fill(data: &str) -> Result<(), TestCaseError> {
        let transform = Affine::new([1.25, 0.5, -0.25, 2.0, 3.0, -7.0]);
        let mut by_path = Sketch::new(Limits::default());
        let (path, fault) = shapes::path(data, transform);
        let filled = by_path.fill(&path, transform, 7, Rule::EvenOdd).map(|()| fault);
        let mut at_once = Sketch::new(Limits::default());
        let found = at_once.fill_data(data, transform, 7, Rule::EvenOdd);
        prop_assert_eq!(&filled, &found, "{}", data);
        if filled.is_ok() {
            prop_assert_eq!(by_path.finish(), at_once.finish(), "{}", data);
        }
        Ok(())
    }

    fn check(data: &str) -> Result<(), TestCaseError> {
        let ours: Vec<_> = Segments::new(data)
            .map(|segment| segment.as_ref().map(bits).map_err(ToString::to_string))
            .collect();
        let theirs: Vec<_> = PathParser::from(data)
            .map(|segment| segment.as_ref().map(bits).map_err(ToString::to_string))
            .collect();
        prop_assert_eq!(ours, theirs, "{}", data);
        fill(data)
    }

    proptest! {
        #[test]
        fn segments_and_faults_are_those_of_svgtypes(data in "[MmZzLlHhVvCcSsQqTtAa0-9 .,eE+\\-\n]{0,40}") {
            check(&data)?;
            check(&format!("M1-2{data}"))?;
        }

        #[test]
        fn data_of_whole_segments_are_those_of_svgtypes(
            parts in prop::collection::vec(
                ("[MmLlTt]", prop::collection::vec("[ ,]?[+-]?[0-9]{0,12}\\.?[0-9]{0,12}(e-?[0-9]{1,3})?", 2..7)), 1..9,
            ),
        ) {
            let mut data = "M0 0".to_owned();
            for (command, numbers) in parts {
                data += &command;
                data += &numbers.join(" ");
            }
            check(&data)?;
        }

        #[test]
        fn numbers_are_those_of_the_standard_library(text in "[+-]?[0-9]{1,17}(\\.[0-9]{0,24})?") {
            let (number, length) = match decimal(text.as_bytes()) {
                Some(found) => found,
                None => (text.parse().unwrap(), text.len()),
            };
            prop_assert_eq!(length, text.len());
            prop_assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{}", text);
        }
    }

    #[test]
    fn what_is_usual_is_read_here() {
        let mut segments =
            Segments::new("M1.5,-2L3 4.25 -.5 6zm1 1h-2v3c1 2 3 4 5 6s1 2 3 4q1 2 3 4t5 6a1 2 3 01 4 5");
        assert!(segments.by_ref().all(|segment| segment.is_ok()));
        assert!(
            segments.whole.is_none() && segments.given == 12,
            "{}",
            segments.given
        );
        assert_eq!(decimal(b"-0.125,"), Some((-0.125, 6)));
        assert_eq!(decimal(b"9007199254740993"), None);
        assert_eq!(decimal(b"1e5"), None);
        assert_eq!(decimal(b"-."), None);
    }
}
