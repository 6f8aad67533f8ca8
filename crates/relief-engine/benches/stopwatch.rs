//! Runs one job whenever it is asked to, and answers how long it took: `bench/performance/run` lets it alternate
//! with rivals in other processes.
//!
//! Asked line by line on the standard input, answers line by line:
//!
//! - `run NAME THREADS`: seconds and samples of a whole job to nowhere; its pictures and cells are made before.
//! - `memset BYTES BUFFER THREADS`: seconds to write so many bytes into one buffer, each thread its own part.
//! - `forget`: drops the jobs that were made.
//! - `write FOLDER`: writes every design, and every picture as PGM.

#![allow(clippy::unwrap_used, reason = "a measurement fails by a panic")]
#![allow(clippy::print_stdout, reason = "the answers")]

mod cases;

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use relief_engine::Renderer;

fn main() {
    let cases = cases::all();
    let mut made: HashMap<(String, usize), Renderer> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words.as_slice() {
            ["run", name, threads] => {
                let threads = threads.parse().unwrap();
                let case = cases.iter().find(|case| case.name == *name);
                let renderer = made
                    .entry(((*name).to_owned(), threads))
                    .or_insert_with(|| cases::renderer(case.unwrap(), threads));
                let start = Instant::now();
                let samples = cases::run(renderer);
                format!("{} {samples}", start.elapsed().as_secs_f64())
            }
            ["memset", bytes, buffer, threads] => {
                let (bytes, buffer) = (bytes.parse().unwrap(), buffer.parse().unwrap());
                format!("{} {bytes}", memset(bytes, buffer, threads.parse().unwrap()))
            }
            ["forget"] => {
                made.clear();
                "done".to_owned()
            }
            ["write", folder] => {
                write(&cases, Path::new(folder)).unwrap();
                "done".to_owned()
            }
            // `cargo bench` runs the program without a question.
            _ => break,
        };
        println!("{answer}");
    }
}

/// Seconds that `threads` threads take to write `bytes` bytes into one buffer, over and over.
fn memset(bytes: u64, buffer: usize, threads: usize) -> f64 {
    let mut memory = vec![1_u8; buffer];
    let times = bytes / buffer as u64;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in memory.chunks_mut(buffer.div_ceil(threads)) {
            scope.spawn(move || {
                for time in 0..times {
                    black_box(&mut *part).fill(time as u8);
                }
            });
        }
    });
    start.elapsed().as_secs_f64()
}

fn write(cases: &[cases::Case], folder: &Path) -> io::Result<()> {
    for case in cases {
        std::fs::write(folder.join(format!("{}.kdl", case.name)), &case.design)?;
        for name in case.design.split('"').skip(1).step_by(2) {
            let path = folder.join(name);
            if path.exists() {
                continue;
            }
            let Some(picture) = cases::Picture::named(name) else {
                continue;
            };
            let mut file = std::fs::File::create(path)?;
            write!(file, "P5\n{} {}\n255\n", picture.width, picture.height)?;
            file.write_all(&picture.samples)?;
        }
    }
    Ok(())
}
