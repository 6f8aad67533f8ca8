//! When each chunk was on its way to the device, computed, and on its way back, as a picture.
//!
//! ```text
//! cargo run --release -p relief-lab --example overlap_timeline -- cuda 4 timeline.svg
//! ```
//!
//! 64 MiB in chunks of 4 MiB from page-locked memory, in so many queues of NVIDIA's driver.

use std::error::Error;
use std::fmt::Write as _;

#[cfg(feature = "cuda")]
fn main() -> Result<(), Box<dyn Error>> {
    use relief_kernels::device::{DeviceChoice, Gpu, devices, select};

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, queues, path] = &arguments[..] else {
        return Err("a device, a number of queues and a file to write are expected".into());
    };
    let choice: DeviceChoice = device.parse()?;
    let ids = select(&choice, &devices())?;
    let id = ids.first().ok_or("no device")?;
    let gpu = Gpu::open(*id)?;
    let spans = relief_lab::families::overlap::timeline(&gpu, 1 << 24, 1 << 20, queues.parse()?)?;
    let lanes: Vec<(usize, [f64; 4])> = spans.iter().map(|span| (span.queue, span.times)).collect();
    std::fs::write(path, picture(&lanes)?)?;
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn main() -> Result<(), Box<dyn Error>> {
    let _ = picture(&[]);
    Err("this program was built without the feature cuda".into())
}

/// A row for each queue; up, computing and down in three colours.
fn picture(lanes: &[(usize, [f64; 4])]) -> Result<String, std::fmt::Error> {
    const WIDTH: f64 = 860.0;
    const ROW: f64 = 26.0;
    const STEPS: [(&str, &str); 3] = [
        ("#3b6fb6", "to the device"),
        ("#b6603b", "computed"),
        ("#3b9a6e", "to the host"),
    ];
    let end = lanes
        .iter()
        .map(|(_, times)| times[3])
        .fold(f64::MIN_POSITIVE, f64::max);
    let rows = lanes.iter().map(|(queue, _)| queue + 1).max().unwrap_or(1);
    let height = ROW * rows as f64 + 50.0;
    let at = |time: f64| 70.0 + time / end * (WIDTH - 80.0);
    let mut svg = String::new();
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">"#
    )?;
    for row in 0..rows {
        let y = ROW * row as f64 + 17.0;
        writeln!(svg, r#"<text x="4" y="{y}">queue {}</text>"#, row + 1)?;
    }
    for (queue, times) in lanes {
        let y = ROW * *queue as f64 + 4.0;
        for (pair, (colour, name)) in times.windows(2).zip(STEPS) {
            let (x, width) = (at(pair[0]), (at(pair[1]) - at(pair[0])).max(0.5));
            writeln!(
                svg,
                r#"<rect x="{x:.1}" y="{y}" width="{width:.1}" height="{:.0}" fill="{colour}" stroke="white" stroke-width="0.4"><title>{name}</title></rect>"#,
                ROW - 6.0
            )?;
        }
    }
    for (number, (colour, name)) in STEPS.iter().enumerate() {
        let (x, y) = (70.0 + 130.0 * number as f64, height - 16.0);
        writeln!(
            svg,
            r#"<rect x="{x}" y="{:.0}" width="12" height="12" fill="{colour}"/>"#,
            y - 10.0
        )?;
        writeln!(svg, r#"<text x="{}" y="{y:.0}">{name}</text>"#, x + 17.0)?;
    }
    writeln!(
        svg,
        r#"<text x="{}" y="{:.0}" text-anchor="end">{:.2} ms</text>"#,
        WIDTH - 10.0,
        height - 16.0,
        end * 1e3
    )?;
    svg.push_str("</svg>\n");
    Ok(svg)
}
