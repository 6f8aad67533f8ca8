//! The engine by itself, without Python: reads windows of a design whenever it is asked to, and answers how long each took, so that
//! `bench/python/run` lets it alternate with the package.
//!
//! Its argument is the design file. It is asked line by line on the standard input, and answers in seconds:
//!
//! - `held X Y WIDTH HEIGHT`: one window into memory that is held from window to window.
//! - `new X Y WIDTH HEIGHT`: one window into new memory, which is given back afterwards.
//! - `many SEED COUNT WIDTH HEIGHT`: so many windows at random places, each into new memory.

#![allow(clippy::unwrap_used, reason = "a measurement fails by a panic")]
#![allow(clippy::print_stdout, reason = "the answers")]

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use relief_engine::{Cancel, Options, Plan, Rect, Renderer, SamplesMut};
use relief_io::Files;

fn main() {
    let file = std::env::args_os().nth(1).unwrap();
    let file = Path::new(&file);
    let files = Files::new(file.parent().unwrap());
    let design = relief_design::parse("design", &std::fs::read_to_string(file).unwrap(), &files).unwrap();
    let cancel = Cancel::new();
    // As the package opens it.
    let plan = Plan::new(&design, &files, &Options::default().levels()).unwrap();
    let renderer = Renderer::new(plan, &files, &cancel).unwrap();
    let raster = renderer.plan().raster();
    let mut held = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let (word, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        let [x, y, width, height] = numbers[..] else {
            panic!("four numbers are expected: {line}")
        };
        let count = (width * height) as usize;
        let read = |x: u64, y: u64, out: &mut [u8]| {
            let rect = Rect::new(x.cast_signed(), y.cast_signed(), width, height).unwrap();
            renderer.read(rect, SamplesMut::Eight(out), &cancel).unwrap();
        };
        let seconds = match word {
            "held" => {
                held.resize(count, 0_u8);
                let start = Instant::now();
                read(x, y, &mut held);
                start.elapsed()
            }
            "new" => {
                let start = Instant::now();
                let mut new = vec![0_u8; count];
                read(x, y, &mut new);
                drop(black_box(new));
                start.elapsed()
            }
            "many" => {
                let (mut state, times) = (x, y);
                // SplitMix64.
                let mut random = |below: u64| {
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mut z = state;
                    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    (z ^ (z >> 31)) % below
                };
                let start = Instant::now();
                for _ in 0..times {
                    let place = (random(raster.width - width), random(raster.height - height));
                    let mut new = vec![0_u8; count];
                    read(place.0, place.1, &mut new);
                    black_box(new);
                }
                start.elapsed()
            }
            word => panic!("there is no {word}"),
        };
        println!("{}", seconds.as_secs_f64());
        io::stdout().flush().unwrap();
    }
}
