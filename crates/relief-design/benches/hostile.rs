//! What reading a hostile design takes: `cargo bench -p relief-design --bench hostile`, on Unix. Each text is read, and
//! what is wrong with it rendered, by a process of its own, whose figures these are.

#![allow(clippy::print_stdout, reason = "the figures are the output")]

#[path = "../tests/hostile/texts.rs"]
mod texts;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use miette::{GraphicalReportHandler, GraphicalTheme};
use nix::sys::resource::{UsageWho, getrusage};
use relief_design::parse;
use texts::{curves, folded};

/// Profiles of the greatest radius, each of its own.
fn profiles(profile: impl Fn(usize) -> String) -> String {
    folded(8, 12, |i| {
        format!(
            "(add)distance radius=4096 {{ (mask)fill value=1; profile {} }}\n",
            profile(i)
        )
    })
}

/// An expression of about 4 000 bytes that begins with a number of its own.
fn long_expression(i: usize, step: &str) -> String {
    format!("{i}{}", step.repeat((4_080 - step.len()) / step.len()))
}

/// Tables that take as much work as they can.
fn tables() -> Vec<(&'static str, String)> {
    vec![
        (
            "long sums, 256 values each",
            curves(8, 5_000, |i| {
                format!("expression \"{}\"", long_expression(i, "+1"))
            }),
        ),
        (
            "long sums of v",
            curves(8, 5_000, |i| {
                format!("expression \"{}\"", long_expression(i, "+v"))
            }),
        ),
        (
            "long sums of signs",
            curves(8, 5_000, |i| {
                format!("expression \"{}\"", long_expression(i, "+-v"))
            }),
        ),
        (
            "long expressions, one value each",
            folded(8, 5_000, |i| {
                format!(
                    "(add)distance radius=0 {{ (mask)fill value=1; profile \"{}\" }}\n",
                    long_expression(i, "+sin(d)")
                )
            }),
        ),
        (
            "long digits",
            curves(8, 5_000, |i| {
                format!("expression \"0.1{}{i}\"", "8".repeat(4_000))
            }),
        ),
        ("powers of v", curves(16, 20_000, |i| format!("gamma 1.{i:05}"))),
        (
            "powers of v at 8 bits",
            curves(8, 32_000, |i| format!("gamma 1.{i:05}")),
        ),
        (
            "levels at 8 bits",
            curves(8, 32_000, |i| format!("levels {} 255 0 {}", i % 255, i / 255)),
        ),
        (
            "short expressions",
            curves(8, 32_000, |i| format!("expression \"v+{i}\"")),
        ),
        ("powers of d", profiles(|i| format!("\"d^1.{i}\""))),
        ("powers of numbers", profiles(|i| format!("\"1.{i}^d\""))),
        (
            "sines of great numbers",
            profiles(|i| format!("\"tan(1e300*d)+{i}\"")),
        ),
        (
            "numbers below 1e-307",
            profiles(|i| format!("\"d*1e-310*{i}+d\"")),
        ),
        (
            "exponentials below 1e-307",
            profiles(|i| format!("\"exp(-708.5-d/4000)+{i}\"")),
        ),
        ("logarithms", profiles(|i| format!("\"ln(d+1)+log2(d+2)+{i}\""))),
        (
            "angles",
            profiles(|i| format!("\"asin(d/4097)+acos(d/4097)+{i}\"")),
        ),
        ("points", profiles(|i| format!("{{ point {i} 9; point 4000 0 }}"))),
        ("sums", profiles(|i| format!("\"d+{i}\""))),
        ("tables, then long sums", {
            let tables = profiles(|i| format!("\"d+{i}\"")).replace("}\n}\n", "}\n");
            let more = curves(8, 3_900, |i| {
                format!("expression \"{}\"", long_expression(i, "+1"))
            });
            tables + more.split_once("compose {\n").map_or("", |(_, rest)| rest)
        }),
    ]
}

/// Reads the text and tells what that took.
fn measure(name: &str, text: &str) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let images = |_: &str| Err::<(u64, u64), _>("there is none".to_owned());
    let mut shown = String::new();
    if let Err(report) = parse("hostile.kdl", text, &images) {
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
            .render_report(&mut shown, &report.underlined())?;
    }
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec().unsigned_abs())
            + Duration::from_micros(time.tv_usec().unsigned_abs())
    };
    // `ru_maxrss` counts what the process held before it became this program; Linux tells the peak of the program as well.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.map_or("unknown", str::trim);
    let processor = seconds(usage.user_time()) + seconds(usage.system_time());
    println!(
        "{name:34} {:9} bytes  {:.2} s  {:.2} s of processors  {peak:>10}  {:7} bytes told",
        text.len(),
        wall.as_secs_f64(),
        processor.as_secs_f64(),
        shown.len(),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = &arguments[..]
        && flag == "--only"
    {
        return measure(name, &std::io::read_to_string(std::io::stdin())?);
    }
    for (name, text) in tables().into_iter().chain(texts::long()) {
        let program = std::env::current_exe()?;
        let mut reader = Command::new(program)
            .args(["--only", name])
            .stdin(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = reader.stdin.take() {
            stdin.write_all(text.as_bytes())?;
        }
        reader.wait()?;
    }
    Ok(())
}
