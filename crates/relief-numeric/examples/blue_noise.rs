//! Dots that repel each other become blue noise; dots that a picture attracts become its halftone. Draws both.
//!
//! ```text
//! cargo run --release -p relief-numeric --example blue_noise -- docs/images/blue-noise.png
//! ```
//!
//! On the left 1 500 random dots of a square that repeats, and below them their spectrum; in the middle the same after 300 steps; on the
//! right a picture, and below it its 6 000 dots after 400.
#![allow(clippy::print_stderr)]

use std::error::Error;
use std::f32::consts::TAU;
use std::fs::File;
use std::io::BufWriter;
use std::thread;

use relief_numeric::nbody::relax::{follow, power};
use relief_numeric::nbody::{Body, Interaction, Motion, Space, cpu};

/// Pixels of a side of a panel, and between panels.
const SIDE: usize = 300;
const GAP: usize = 6;

/// Pixels of a side of the picture that attracts.
const PICTURE: usize = 150;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args().nth(1) else {
        return Err("a file to write is expected".into());
    };
    let before = random_dots(1_500);
    let mut after = before.clone();
    let grid = 1.0 / (after.len() as f32).sqrt();
    let torus = Interaction::new(Space::Torus(1.0), -1.0, grid / 8.0)?;
    relax(&torus, &mut after, &[], 300, grid / 2.0);

    let ink = picture();
    let total: f32 = ink.iter().sum();
    let mut dots = random_dots(6_000);
    let background: Vec<Body> = ink
        .iter()
        .enumerate()
        .map(|(k, ink)| Body {
            place: [centre(k % PICTURE, PICTURE), centre(k / PICTURE, PICTURE), 0.0],
            mass: -ink / total,
        })
        .collect();
    let plane = Interaction::new(Space::Plane, -1.0, 1.0 / PICTURE as f32)?;
    relax(&plane, &mut dots, &background, 400, 0.01);

    let mut page = Page::new(3, 2);
    page.draw(0, 0, |x, y| dotted(&before, 2.2, x, y));
    page.draw(0, 1, |x, y| spectrum(&before, x, y));
    page.draw(1, 0, |x, y| dotted(&after, 2.2, x, y));
    page.draw(1, 1, |x, y| spectrum(&after, x, y));
    page.draw(2, 0, |x, y| {
        1.0 - ink[y * PICTURE / SIDE * PICTURE + x * PICTURE / SIDE]
    });
    page.draw(2, 1, |x, y| dotted(&dots, 1.3, x, y));
    page.write(&path)
}

fn centre(place: usize, side: usize) -> f32 {
    (place as f32 + 0.5) / side as f32
}

/// Dots of 1 in all; a linear congruential generator's (Knuth's MMIX).
fn random_dots(count: usize) -> Vec<Body> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    };
    (0..count)
        .map(|_| Body {
            place: [next(), next(), 0.0],
            mass: 1.0 / count as f32,
        })
        .collect()
}

/// Lets dots go where they and a background push them.
fn relax(interaction: &Interaction, dots: &mut [Body], background: &[Body], steps: usize, most: f32) {
    let mut pulls: Vec<Motion> = vec![[0.0; 4]; dots.len()];
    let mut sources: Vec<Body> = dots.iter().chain(background).copied().collect();
    let part = dots
        .len()
        .div_ceil(thread::available_parallelism().map_or(1, usize::from));
    for _ in 0..steps {
        sources[..dots.len()].copy_from_slice(dots);
        thread::scope(|scope| {
            for (targets, pulls) in dots.chunks(part).zip(pulls.chunks_mut(part)) {
                let sources = &sources;
                scope.spawn(move || cpu::accelerations(interaction, targets, sources, pulls));
            }
        });
        follow(interaction, dots, &pulls, most);
    }
}

/// How much ink a picture has, pixel by pixel: a ball lit from the left on a ground that gets darker.
fn picture() -> Vec<f32> {
    (0..PICTURE * PICTURE)
        .map(|k| {
            let x = 2.0 * centre(k % PICTURE, PICTURE) - 1.0;
            let y = 2.0 * centre(k / PICTURE, PICTURE) - 1.0;
            let square = (x * x + y * y) / 0.49;
            if square < 1.0 {
                let light = (-0.5 * x - 0.5 * y) / 0.7 + 0.7 * (1.0 - square).sqrt();
                0.9 - 0.85 * light.clamp(0.0, 1.0)
            } else {
                0.12 + 0.3 * (y + 1.0) / 2.0 + 0.05 * (TAU * 2.0 * x).sin()
            }
        })
        .collect()
}

/// White but for dots of this radius, in pixels.
fn dotted(dots: &[Body], radius: f32, x: usize, y: usize) -> f32 {
    let (x, y) = (x as f32 + 0.5, y as f32 + 0.5);
    let covered = dots.iter().map(|dot| {
        let (dx, dy) = (dot.place[0] * SIDE as f32 - x, dot.place[1] * SIDE as f32 - y);
        (radius + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0)
    });
    1.0 - covered.fold(0.0, f32::max)
}

/// The power at one frequency for each two pixels, 0 in the middle; 4 and more is white.
fn spectrum(dots: &[Body], x: usize, y: usize) -> f32 {
    let frequency = |place: usize| (place / 2) as i32 - SIDE as i32 / 4;
    match (frequency(x), frequency(y)) {
        (0, 0) => 0.0,
        (across, down) => (power(dots, across, down) / 4.0) as f32,
    }
}

/// Panels side by side.
struct Page {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Page {
    fn new(across: usize, down: usize) -> Self {
        let length = |panels: usize| panels * SIDE + (panels - 1) * GAP;
        let (width, height) = (length(across), length(down));
        Self {
            width,
            height,
            bytes: vec![128; width * height],
        }
    }

    /// Fills a panel with what lies between 0, black, and 1, white.
    fn draw(&mut self, across: usize, down: usize, at: impl Fn(usize, usize) -> f32 + Sync) {
        let (left, top) = (across * (SIDE + GAP), down * (SIDE + GAP));
        let width = self.width;
        let rows: Vec<&mut [u8]> = self.bytes.chunks_mut(width).skip(top).take(SIDE).collect();
        let part = SIDE.div_ceil(thread::available_parallelism().map_or(1, usize::from));
        let mut parts: Vec<Vec<(usize, &mut [u8])>> = Vec::new();
        for (y, row) in rows.into_iter().enumerate() {
            if y % part == 0 {
                parts.push(Vec::new());
            }
            if let Some(last) = parts.last_mut() {
                last.push((y, &mut row[left..left + SIDE]));
            }
        }
        thread::scope(|scope| {
            for rows in parts {
                let at = &at;
                scope.spawn(move || {
                    for (y, row) in rows {
                        for (x, byte) in row.iter_mut().enumerate() {
                            // 16 levels keep the file small.
                            *byte = ((at(x, y).clamp(0.0, 1.0) * 15.0).round() * 17.0) as u8;
                        }
                    }
                });
            }
        });
    }

    fn write(&self, path: &str) -> Result<(), Box<dyn Error>> {
        let mut encoder = png::Encoder::new(
            BufWriter::new(File::create(path)?),
            self.width as u32,
            self.height as u32,
        );
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Four);
        encoder.set_compression(png::Compression::High);
        let pixels: Vec<u8> = self
            .bytes
            .chunks(self.width)
            .flat_map(|row| {
                row.chunks(2)
                    .map(|pair| pair[0] >> 4 << 4 | pair.get(1).map_or(0, |right| right >> 4))
            })
            .collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels)?;
        Ok(writer.finish()?)
    }
}
