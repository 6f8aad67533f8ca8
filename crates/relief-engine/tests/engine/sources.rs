//! Sources of pictures that fail, lie or panic: never a pixel of theirs.

use std::error::Error as _;
use std::ops::ControlFlow;

use relief_design::{Conversion, Design};
use relief_engine::{Cancel, Depth, Error, ImageError, ImageInfo, ImageSource, Options, Plan, Renderer};

type Row<'a> = &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>;

/// A picture of 4 × 3 pixels as this function gives it.
struct Odd {
    info: fn() -> Result<ImageInfo, ImageError>,
    read: fn(Row<'_>) -> Result<(), ImageError>,
}

impl ImageSource for Odd {
    fn info(&self, _: &str, _: &Conversion) -> Result<ImageInfo, ImageError> {
        (self.info)()
    }

    fn read(&self, _: &str, _: &Conversion, _: Depth, row: Row<'_>) -> Result<(), ImageError> {
        (self.read)(row)
    }
}

fn honest() -> Result<ImageInfo, ImageError> {
    Ok(ImageInfo {
        width: 4,
        height: 3,
        memory: 0,
    })
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
        info: || {
            Ok(ImageInfo {
                width: 5,
                height: 3,
                memory: 0,
            })
        },
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
        info: || {
            Ok(ImageInfo {
                width: 4,
                height: 3,
                memory: 1 << 40,
            })
        },
        read: |row| rows(&[0, 1, 2], &[1; 4], row),
    };
    let Err(Error::Memory { needed, .. }) = outcome(&odd) else {
        panic!("a picture of a terabyte fits")
    };
    assert!(needed >= 1 << 40);
}
