//! Sources of pictures that fail, lie or panic: never a pixel of theirs.

use std::error::Error as _;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use relief_design::{Conversion, Design};
use relief_engine::{
    Cancel, Depth, Error, ImageError, ImageSource, Options, Picture, Plan, Rect, Renderer, SamplesMut,
};

use crate::pictures::Computed;

type Row<'a> = &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>;

/// A picture as these functions give it.
#[derive(Clone, Copy)]
struct Odd {
    info: fn() -> Result<Info, ImageError>,
    read: fn(Row<'_>) -> Result<(), ImageError>,
}

/// Columns, rows, and what reading holds.
type Info = (u64, u64, u64);

struct Opened {
    info: Info,
    odd: Odd,
}

impl ImageSource for Odd {
    fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Ok(Box::new(Opened {
            info: (self.info)()?,
            odd: *self,
        }))
    }
}

impl Picture for Opened {
    fn size(&self) -> (u64, u64) {
        (self.info.0, self.info.1)
    }

    fn memory(&self) -> u64 {
        self.info.2
    }

    fn read(&self, _: Rect, _: Depth, row: Row<'_>) -> Result<(), ImageError> {
        (self.odd.read)(row)
    }
}

fn honest() -> Result<Info, ImageError> {
    Ok((4, 3, 0))
}

fn rows(numbers: &[u64], samples: &[u16], row: Row<'_>) -> Result<(), ImageError> {
    for number in numbers {
        if row(*number, samples).is_break() {
            break;
        }
    }
    Ok(())
}

fn design() -> Design {
    let text = "relief version=1\ncanvas width=8 height=8\ncompose { (base)image \"p\" x=1 }";
    relief_design::parse("test.kdl", text, &|_: &str| Ok((4, 3))).unwrap()
}

fn outcome(odd: &Odd) -> Result<Renderer, Error> {
    let plan = Plan::new(&design(), odd, &Options::default())?;
    Renderer::new(plan, odd, &Cancel::new())
}

#[test]
fn rows_come_in_any_order() {
    let odd = Odd {
        info: honest,
        read: |row| rows(&[2, 0, 1], &[1, 2, 3, 4], row),
    };
    assert!(outcome(&odd).is_ok());
}

#[test]
fn pictures_with_rows_missing_repeated_short_or_beyond_are_refused() {
    let lies: [fn(Row<'_>) -> Result<(), ImageError>; 5] = [
        |_| Ok(()),
        |row| rows(&[0, 1], &[1; 4], row),
        |row| rows(&[0, 1, 1], &[1; 4], row),
        |row| rows(&[0, 1, 2], &[1; 3], row),
        |row| rows(&[0, 1, 3, u64::MAX], &[1; 4], row),
    ];
    for (index, read) in lies.into_iter().enumerate() {
        let found = outcome(&Odd { info: honest, read });
        assert!(
            matches!(found, Err(Error::ImageChanged { .. })),
            "{index}: {found:?}"
        );
    }
}

#[test]
fn a_picture_of_another_size_than_the_design_was_checked_with_is_refused() {
    let odd = Odd {
        info: || Ok((5, 3, 0)),
        read: |row| rows(&[0, 1, 2], &[1; 5], row),
    };
    assert!(matches!(outcome(&odd), Err(Error::ImageChanged { .. })));
}

#[test]
fn the_cause_of_a_picture_that_cannot_be_read_is_kept() {
    let odd = Odd {
        info: honest,
        read: |_| Err(ImageError::caused("torn", std::io::Error::other("by a dog"))),
    };
    let error = outcome(&odd).unwrap_err();
    let cause = error.source().unwrap();
    assert_eq!(cause.to_string(), "torn");
    assert_eq!(cause.source().unwrap().to_string(), "by a dog");
    let odd = Odd {
        info: || Err(ImageError::new("lost")),
        read: |_| Ok(()),
    };
    assert!(matches!(outcome(&odd), Err(Error::Image { .. })));
}

#[test]
fn a_source_that_panics_gives_an_error() {
    let reading = Odd {
        info: honest,
        read: |row| {
            let _ = row(0, &[1; 4]);
            panic!("on purpose")
        },
    };
    let asking = Odd {
        info: || panic!("on purpose"),
        read: |_| Ok(()),
    };
    for odd in [reading, asking] {
        let error = outcome(&odd).unwrap_err();
        assert!(matches!(error, Error::Image { .. }), "{error:?}");
        assert!(error.source().unwrap().to_string().contains("on purpose"));
    }
}

#[test]
fn samples_above_the_depth_become_the_greatest() {
    let odd = Odd {
        info: honest,
        read: |row| rows(&[0, 1, 2], &[1, 255, 256, 65_535], row),
    };
    let renderer = outcome(&odd).unwrap();
    let samples = crate::run::rendered(&renderer).unwrap();
    assert_eq!(samples[..8], [0, 1, 255, 255, 255, 0, 0, 0]);
}

#[test]
fn the_memory_that_decoding_takes_is_planned() {
    let odd = Odd {
        info: || Ok((4, 3, 1 << 40)),
        read: |row| rows(&[0, 1, 2], &[1; 4], row),
    };
    let Err(Error::Memory { needed, .. }) = outcome(&odd) else {
        panic!("a picture of a terabyte fits")
    };
    assert!(needed >= 1 << 40);
}

/// A source of one picture, of which a function makes the samples.
struct One(fn(u64, u64) -> u16, (u64, u64), u64);

impl ImageSource for One {
    fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Ok(Box::new(Computed {
            size: self.1,
            windowed: true,
            memory: self.2,
            sample: self.0,
        }))
    }
}

/// A sample that no neighbour has.
fn mixed(x: u64, y: u64) -> u16 {
    let mixed = (x ^ y.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 40) & 255) as u16
}

#[test]
fn a_picture_larger_than_memory_is_read_by_windows() {
    const SIDE: u64 = 1 << 40;
    let text =
        format!("relief version=1\ncanvas width={SIDE} height={SIDE}\nmap {{ (source)image \"p\"; invert }}");
    let design = relief_design::parse("test.kdl", &text, &|_: &str| Ok((SIDE, SIDE))).unwrap();
    let source = One(mixed, (SIDE, SIDE), 4096);
    let options = Options::default().memory(8 << 20).threads(2);
    let plan = Plan::new(&design, &source, &options).unwrap();
    assert!(plan.peak().total() <= 8 << 20);
    // What both threads hold while they read is counted.
    assert_eq!(plan.peak().images, 2 * 4096);
    let renderer = Renderer::new(plan, &source, &Cancel::new()).unwrap();
    for (x, y) in [(0, 0), (SIDE - 300, SIDE - 200), (123_456_789_012, 987_654_321)] {
        let window = Rect::new(x as i64, y as i64, 300, 200).unwrap();
        let mut samples = vec![0; 300 * 200];
        renderer
            .read(window, SamplesMut::Eight(&mut samples), &Cancel::new())
            .unwrap();
        for (at, sample) in samples.iter().enumerate() {
            let (dx, dy) = (at as u64 % 300, at as u64 / 300);
            assert_eq!(
                u16::from(*sample),
                255 - mixed(x + dx, y + dy),
                "{dx}, {dy} of {window:?}"
            );
        }
    }
}

/// A picture, and a source of it alone, that notes the windows that are read.
#[derive(Clone)]
struct Noted {
    size: (u64, u64),
    parts: Option<(u64, u64)>,
    windows: Arc<Mutex<Vec<Rect>>>,
}

impl ImageSource for Noted {
    fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Ok(Box::new(self.clone()))
    }
}

impl Picture for Noted {
    fn size(&self) -> (u64, u64) {
        self.size
    }

    fn windowed(&self) -> bool {
        true
    }

    fn parts(&self) -> Option<(u64, u64)> {
        self.parts
    }

    fn read(&self, window: Rect, _: Depth, row: Row<'_>) -> Result<(), ImageError> {
        self.windows.lock().unwrap().push(window);
        for y in window.y()..window.bottom() {
            let samples: Vec<u16> = (window.x()..window.right())
                .map(|x| mixed(x as u64, y as u64))
                .collect();
            if row(y as u64, &samples).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Tiles side by side are read together, and what several threads need is read once.
#[test]
fn windows_of_a_picture_are_wide_and_read_once() {
    let text = "relief version=1\ncanvas width=30000 height=700\nmap { (source)image \"p\"; invert }";
    let design = relief_design::parse("test.kdl", text, &|_: &str| Ok((30_000, 700))).unwrap();
    let source = Noted {
        size: (30_000, 700),
        parts: None,
        windows: Arc::default(),
    };
    let options = Options::default().memory(12 << 20).threads(3);
    let plan = Plan::new(&design, &source, &options).unwrap();
    let renderer = Renderer::new(plan, &source, &Cancel::new()).unwrap();
    let samples = crate::run::rendered(&renderer).unwrap();
    for (at, sample) in samples.iter().enumerate() {
        let (x, y) = (at as u64 % 30_000, at as u64 / 30_000);
        assert_eq!(*sample, 255 - mixed(x, y), "{x}, {y}");
    }
    let windows = source.windows.lock().unwrap();
    let all: u128 = windows.iter().map(Rect::area).sum();
    assert!(
        all <= 30_000 * 700 * 5 / 4,
        "{all} samples in {} windows",
        windows.len()
    );
    let rows: u64 = windows.iter().map(Rect::height).sum();
    assert!(all / u128::from(rows) >= 2_048, "{all} samples in {rows} rows");
}

/// Beyond a picture that is smaller than the canvas samples are 0, and nothing of it is asked for.
#[test]
fn windows_of_a_picture_do_not_leave_it() {
    let (width, height) = (30_000, 700);
    let text = "relief version=1\ncanvas width=30700 height=1500\nimage \"p\"";
    let design = relief_design::parse("test.kdl", text, &|_: &str| Ok((width, height))).unwrap();
    let source = Noted {
        size: (width, height),
        parts: None,
        windows: Arc::default(),
    };
    let options = Options::default().memory(12 << 20).threads(2);
    let plan = Plan::new(&design, &source, &options).unwrap();
    let renderer = Renderer::new(plan, &source, &Cancel::new()).unwrap();
    let samples = crate::run::rendered(&renderer).unwrap();
    for (at, sample) in samples.iter().enumerate() {
        let (x, y) = (at as u64 % 30_700, at as u64 / 30_700);
        let expected = if x < width && y < height { mixed(x, y) } else { 0 };
        assert_eq!(*sample, expected, "{x}, {y}");
    }
    let windows = source.windows.lock().unwrap();
    let (first, whole) = (windows.first().unwrap(), Rect::sized(width, height));
    assert!(*first != whole, "the picture is read window by window");
    for window in &*windows {
        assert!(whole.contains(window) && !window.is_empty(), "{window:?}");
    }
}

/// One that is held is read part by part: rows of all would have each part decoded for every few of them.
#[test]
fn a_picture_that_is_stored_in_parts_is_read_part_by_part() {
    let text = "relief version=1\ncanvas width=1300 height=1300\ncompose { (base)image \"p\" x=-150 }";
    let design = relief_design::parse("test.kdl", text, &|_: &str| Ok((1_500, 1_300))).unwrap();
    let source = Noted {
        size: (1_500, 1_300),
        parts: Some((700, 600)),
        windows: Arc::default(),
    };
    let plan = Plan::new(&design, &source, &Options::default().threads(1)).unwrap();
    let renderer = Renderer::new(plan, &source, &Cancel::new()).unwrap();
    let read = std::mem::take(&mut *source.windows.lock().unwrap());
    let expected: Vec<Rect> = [(0, 600), (600, 1_200), (1_200, 1_300)]
        .into_iter()
        .flat_map(|(top, bottom)| {
            [(150, 700), (700, 1_400), (1_400, 1_450)]
                .map(|(left, right)| Rect::between(left, top, right, bottom))
        })
        .collect();
    assert_eq!(read, expected);
    let mut samples = vec![0; 1_300 * 1_300];
    renderer
        .read(
            Rect::sized(1_300, 1_300),
            SamplesMut::Eight(&mut samples),
            &Cancel::new(),
        )
        .unwrap();
    for (at, sample) in samples.iter().enumerate() {
        let (x, y) = (at as u64 % 1_300 + 150, at as u64 / 1_300);
        assert_eq!(u16::from(*sample), mixed(x, y), "{x}, {y}");
    }
    assert!(source.windows.lock().unwrap().is_empty());
}

#[test]
fn windows_that_are_missing_rows_or_panic_end_the_job() {
    struct Torn(fn(Row<'_>) -> Result<(), ImageError>);
    impl ImageSource for Torn {
        fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
            Ok(Box::new(Self(self.0)))
        }
    }
    impl Picture for Torn {
        fn size(&self) -> (u64, u64) {
            (1 << 30, 1 << 30)
        }
        fn windowed(&self) -> bool {
            true
        }
        fn read(&self, _: Rect, _: Depth, row: Row<'_>) -> Result<(), ImageError> {
            (self.0)(row)
        }
    }
    let text = "relief version=1\ncanvas width=1073741824 height=1073741824\nimage \"p\"";
    let design = relief_design::parse("test.kdl", text, &|_: &str| Ok((1 << 30, 1 << 30))).unwrap();
    let lies: [fn(Row<'_>) -> Result<(), ImageError>; 4] = [
        |_| Ok(()),
        |row| rows(&[0, 0, 1], &[1; 4], row),
        |_| Err(ImageError::new("the disk is gone")),
        |_| panic!("on purpose"),
    ];
    for (index, lie) in lies.into_iter().enumerate() {
        let source = Torn(lie);
        let plan = Plan::new(&design, &source, &Options::default().memory(32 << 20)).unwrap();
        let renderer = Renderer::new(plan, &source, &Cancel::new()).unwrap();
        let mut samples = [7; 12];
        let window = Rect::new(5, 5, 4, 3).unwrap();
        let error = renderer
            .read(window, SamplesMut::Eight(&mut samples), &Cancel::new())
            .unwrap_err();
        assert!(
            matches!(error, Error::ImageChanged { .. } | Error::Image { .. }),
            "{index}: {error:?}"
        );
    }
}
