//! How near the approximations of the bilateral filter come to its definition, in dB: ten times the logarithm of the squared greatest value
//! over the mean squared difference.

#![allow(clippy::print_stdout)]

use relief_lab::array::{Array, Fill, Kind};
use relief_lab::families::bilateral::{Picture, Way};
use relief_lab::family::Problem;

fn filtered(way: Way, sigma: u32, fill: Fill) -> Vec<f32> {
    let picture = Picture::new(Kind::F32, way, (320, 240), sigma);
    let mut outputs: Vec<Array> = picture.outputs().into_iter().map(Array::new).collect();
    picture.reference(&picture.inputs(fill), &mut outputs);
    outputs[0].slice::<f32>().to_vec()
}

fn decibels(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
    -10.0 * (squares.sum::<f64>() / a.len() as f64).log10()
}

fn main() {
    println!("320 × 240 f32, range 0.1; dB against the disc of radius 1.5 sigma");
    println!(
        "{:8} {:24} {:>10} {:>10}",
        "sigma", "picture", "grid", "separable"
    );
    for sigma in [2, 4, 8, 16, 32, 64] {
        for (fill, name) in [
            (Fill::Random, "waves, edges and noise"),
            (Fill::Structured, "fields"),
        ] {
            let exact = filtered(Way::Disc, sigma, fill);
            let of = |way| decibels(&filtered(way, sigma, fill), &exact);
            println!(
                "{sigma:<8} {name:24} {:>10.1} {:>10.1}",
                of(Way::Grid),
                of(Way::Separable)
            );
        }
    }
}
