//! Words that are said in other words before the engine sees them: sides and levels of distances, steps that are no whole
//! number of pixels, several tones, arrays and chains. Each is held to its definition, pixel by pixel.

use relief_engine::{NoImages, Options};

use crate::run::{parse, rendered, renderer};

/// All samples of a design, by tiles of odd sizes without anything kept, and as planned.
fn samples(text: &str) -> Vec<u16> {
    let design = parse(&format!("relief version=1\n{text}"));
    assert_eq!(design.validate(), Ok(()));
    let ways = [
        Options::default(),
        Options::default().tile((7, 5)).kept(0).threads(2),
    ];
    let mut rasters = ways.map(|options| rendered(&renderer(&design, &NoImages, &options)).unwrap());
    assert!(rasters[0] == rasters[1], "{text}");
    std::mem::take(&mut rasters[0])
}

const WIDTH: i64 = 61;
const HEIGHT: i64 = 47;

/// What a mask of its own size holds at a place of a canvas of 61 × 47 pixels; 0 where it is not.
fn mask(raster: &[u16], (width, height): (i64, i64), (left, top): (i64, i64), x: i64, y: i64) -> u16 {
    let (x, y) = (x - left, y - top);
    if (0..width).contains(&x) && (0..height).contains(&y) {
        raster[(y * width + x) as usize]
    } else {
        0
    }
}

#[test]
fn distances_are_told_on_the_side_and_from_the_level_that_are_given() {
    let size = (50_i64, 41_i64);
    for (at, radius, level, bits) in [
        ((-7, 3), 6_i64, 1_i64, 8),
        ((4, -9), 9, 200, 8),
        ((0, 0), 4, 40_000, 16),
        ((20, 20), 7, 255, 8),
    ] {
        // Large areas of one sort, so that some pixels are far from the other.
        let spread =
            |place: &str| format!("equalise{place} {{ (source)gauss sigma=2.5 {{ (source)noise seed=5 }} }}");
        let (width, height) = size;
        let raster = samples(&format!(
            "canvas width={width} height={height} bits={bits}\n{}",
            spread("")
        ));
        let is_set = |x: i64, y: i64| i64::from(mask(&raster, size, at, x, y)) >= level;
        for (side, outside, inside) in [
            ("outside", true, false),
            ("inside", false, true),
            ("both", true, true),
        ] {
            let placed = spread(&format!(" x={} y={} width={width} height={height}", at.0, at.1));
            let found = samples(&format!(
                "canvas width={WIDTH} height={HEIGHT} bits={bits}\n\
                 distance radius={radius} side=\"{side}\" level={level} {{\n\
                 (mask){placed}\n profile \"7 + 10 * d\" beyond=3\n}}"
            ));
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let here = is_set(x, y);
                    let told = if here { inside } else { outside };
                    let nearest = if told {
                        let around =
                            (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dx, dy)));
                        around
                            .filter(|(dx, dy)| is_set(x + dx, y + dy) != here)
                            .map(|(dx, dy)| dx * dx + dy * dy)
                            .filter(|square| *square <= radius * radius)
                            .min()
                    } else {
                        Some(0)
                    };
                    let expected = match nearest {
                        // Half away from zero; no value lies on a half.
                        Some(square) => (7.0 + 10.0 * (square as f64).sqrt()).round() as u16,
                        None => 3,
                    };
                    let index = (y * WIDTH + x) as usize;
                    assert_eq!(found[index], expected, "{side} level {level} at {x}, {y}");
                }
            }
        }
    }
}

#[test]
fn copies_with_fractional_steps_lie_at_the_nearest_pixels() {
    // 2.1 mm at 100 dpi are 1 050 / 127 pixels; 47 / 5 rows.
    let (n, d, rows) = (1_050_i64, 127_i64, 5_i64);
    for (x0, y0) in [(0, 0), (3, -4), (-100, 77)] {
        let found = samples(&format!(
            "canvas width={WIDTH} height={HEIGHT} dpi=100\n\
             repeat step-x=\"2.1mm\" count-y={rows} {{ (pattern)noise seed=3 width=6 height=8 x={x0} y={y0} }}"
        ));
        let pattern = samples("canvas width=6 height=8\nnoise seed=3");
        let begin = |i: i64, n: i64, d: i64| (2 * i * n + d).div_euclid(2 * d);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                // The copy whose begin is the greatest that is not beyond the pixel.
                let copy = |at: i64, n: i64, d: i64| {
                    let i = (-60..60).rev().find(|i| begin(*i, n, d) <= at).unwrap();
                    at - begin(i, n, d)
                };
                let (column, row) = (copy(x - x0, n, d), copy(y - y0, HEIGHT, rows));
                let expected = if column < 6 && row < 8 {
                    pattern[(row * 6 + column) as usize]
                } else {
                    0
                };
                assert_eq!(found[(y * WIDTH + x) as usize], expected, "{x0}, {y0}: {x}, {y}");
            }
        }
    }
}

#[test]
fn tones_are_applied_in_order_and_rounded_once() {
    let found = samples(
        "canvas width=256 height=1\n\
         map { brightness 12.5; contrast -40; gamma 2; invert; levels 10 250 255 20; expression \"v / 3\" \n\
         (source)ramp axis=\"x\" from=0 to=255 }",
    );
    for (v, found) in found.into_iter().enumerate() {
        let clamp = |v: f64| v.clamp(0.0, 255.0);
        let mut z = clamp(v as f64 + 255.0 * 12.5 / 100.0);
        z = clamp(127.5 + (z - 127.5) * 0.6);
        z = clamp(255.0 * (z / 255.0).powi(2));
        z = clamp(255.0 - z);
        z = clamp(255.0 + (20.0 - 255.0) * (z.clamp(10.0, 250.0) - 10.0) / 240.0);
        z = clamp(z / 3.0);
        // Values that lie within rounding of a half may go either way here; there are none.
        assert!(((z - z.floor()) - 0.5).abs() > 1e-6, "{v}");
        assert_eq!(f64::from(found), z.round(), "{v}");
    }
}

#[test]
fn chains_and_arrays_have_the_samples_of_what_they_stand_for() {
    let canvas = format!("canvas width={WIDTH} height={HEIGHT}\n");
    for (said, meant) in [
        (
            "chain { noise seed=4; gauss sigma=1.5; threshold level=128 }",
            "threshold level=128 { (source)gauss sigma=1.5 { (source)noise seed=4 } }",
        ),
        (
            "array columns=3 rows=2 step-x=20 step-y=\"50%\" { (max)disc diameter=\"${5 + 2 * i}\" value=\"${50 + 40 * n}\" }",
            "compose {
                (max)disc diameter=5 value=50
                (max)disc diameter=7 value=90 x=20
                (max)disc diameter=9 value=130 x=40
                (max)disc diameter=5 value=170 y=24
                (max)disc diameter=7 value=210 x=20 y=24
                (max)disc diameter=9 value=250 x=40 y=24
            }",
        ),
    ] {
        assert!(
            samples(&format!("{canvas}{said}")) == samples(&format!("{canvas}{meant}")),
            "{said}"
        );
    }
}
