//! Dots that repel each other until they rest: blue noise, and halftones of pictures.
//!
//! Every dot goes where it is pushed, by a part of the way, again and again (Schmaltz, Gwosdek, Bruhn and Weickert, "Electrostatic
//! halftoning", 2010). In a plane a field falls with the distance, so what flows out of a region is what charge is in it: after a
//! step every region has nearly as much as its background wants, large ones as soon as small ones. Dots of 1 / n each that fill a
//! square of side 1 evenly are at rest up to their grid within some dozens of steps.

use super::{Body, Interaction, Motion, Space};

/// What part of a charge's field a dot goes: where dots and background are 1 in all, steps of more than 1 / π swing up.
pub const STEP: f32 = 0.15;

/// Moves dots by [`STEP`] × their accelerations, each at most by `most`; on a torus they come back at the other side, elsewhere they stop at the
/// sides of the square from 0 to 1.
///
/// # Panics
/// Where there is not an acceleration for each dot.
pub fn follow(interaction: &Interaction, dots: &mut [Body], accelerations: &[Motion], most: f32) {
    assert_eq!(dots.len(), accelerations.len(), "an acceleration for each dot");
    for (dot, acceleration) in dots.iter_mut().zip(accelerations) {
        let [x, y] = [acceleration[0], acceleration[1]].map(|pull| pull * STEP);
        let way = (x * x + y * y).sqrt();
        let part = if way > most { most / way } else { 1.0 };
        for (place, pull) in dot.place.iter_mut().zip([x, y]) {
            *place += pull * part;
            *place = match interaction.space() {
                Space::Torus(period) => *place - period * (*place / period).floor(),
                Space::Free | Space::Plane => place.clamp(0.0, 1.0),
            };
        }
    }
}

/// How strongly dots in a square of side 1 vary `across` and `down` times over it: |Σ exp(−2πi (across · x + down · y))|² / n, which is 1
/// on average for random dots, and near 0 at low frequencies for blue noise.
#[must_use]
pub fn power(dots: &[Body], across: i32, down: i32) -> f64 {
    let (mut real, mut imaginary) = (0.0, 0.0);
    for dot in dots {
        let [x, y, _] = dot.place.map(f64::from);
        let (sin, cos) = (std::f64::consts::TAU * (f64::from(across) * x + f64::from(down) * y)).sin_cos();
        real += cos;
        imaginary += sin;
    }
    (real * real + imaginary * imaginary) / dots.len().max(1) as f64
}
