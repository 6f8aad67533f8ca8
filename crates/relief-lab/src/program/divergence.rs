//! `relief-lab divergence`: how many planes of a launch diverge, counted, not measured.

use std::io::{self, Write};

use clap::Args;
use relief_lab::families::votes::divergence::{Blocks, Divergence};

use super::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Counted {
    /// A picture, of which each unit of the cubes that cover it takes a pixel where there is one
    #[arg(value_name = "WxH", value_parser = side, required_unless_present = "product")]
    picture: Option<(u64, u64)>,
    /// The product of two matrices of N × N by tiles as large as a cube, of which units load what lies inside
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    product: Option<u64>,
    /// Units of a cube across and down; a row of 256 is 256x1
    #[arg(long, value_name = "WxH", value_parser = cube, default_value = "16x16")]
    cube: (u32, u32),
    /// Lanes of a plane
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128), default_value_t = 32)]
    lanes: u32,
}

/// W×H, both at least 1.
fn sides(text: &str) -> Result<(u64, u64), String> {
    let expected = || format!("'{text}' is no size; columns and rows are expected, such as 62x76");
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(expected)?;
    let side = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
    match (side(width)?, side(height)?) {
        (0, _) | (_, 0) => Err(format!("{text} is empty; both sides must be at least 1")),
        sides => Ok(sides),
    }
}

/// W×H, of at most 2^31 each, so that planes are counted in 64 bits.
fn side(text: &str) -> Result<(u64, u64), String> {
    let (width, height) = sides(text)?;
    if width.max(height) > 1 << 31 {
        return Err(format!("{text} is too large; both sides may have 2^31 pixels"));
    }
    Ok((width, height))
}

/// W×H, of at most 1 024 units.
fn cube(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = sides(text)?;
    match width.checked_mul(height) {
        Some(1..=1_024) => Ok((width as u32, height as u32)),
        _ => Err(format!("{text} is too large; a cube has at most 1 024 units")),
    }
}

pub(crate) fn run(counted: &Counted) -> Result<(), Failure> {
    let Counted {
        cube: (width, height),
        lanes,
        ..
    } = *counted;
    let blocks = Blocks { width, height, lanes };
    if counted.product.is_some() && width != height {
        let problem = format!("--product takes square cubes; {width}x{height} is none");
        return Err(Failure::Usage(problem));
    }
    let mut out = io::stdout();
    let how = format!("cubes of {width} × {height}, planes of {lanes}");
    if let Some((across, down)) = counted.picture {
        let all = told(blocks.picture(across, down), "planes");
        writeln!(out, "a picture of {across} × {down}, {how}: {all}")?;
    }
    if let Some(side) = counted.product {
        let [inside, edge] = blocks.product(side);
        let of = [inside.plus(edge), inside, edge].map(|counted| told(counted, "phases of planes"));
        let [all, inside, edge] = of;
        writeln!(
            out,
            "a product of {side} × {side}, {how}: {all}\n  cubes with all their rows inside: {inside}\n  cubes across the lower edge: {edge}",
        )?;
    }
    Ok(())
}

fn told(counted: Divergence, what: &str) -> String {
    let (Divergence { planes, divergent }, part) = (counted, 100.0 * counted.part());
    format!("{divergent} of {planes} {what} diverge, {part:.1} %")
}
