//! N bodies on the CPU: 32 bodies are pulled at once, each in a lane, by one body after the other.
//!
//! The loops are plain; the compiler makes vectors of the lanes. An inverse square root is begun from the bits of the float
//! (halving the exponent; C. Lomont, "Fast inverse square root", 2003), which is right to 3.5 %, and mended by a step of
//! Halley's method and one of Newton's: 9 operations, right to 2 · 10⁻⁷. The machine's own root and division have every bit
//! right and take longer than all the rest: the loop then has 0.6 of this speed.
//!
//! Threads share the work by their parts of the bodies that are pulled.

use super::{Body, Interaction, Motion, RUN, Space};
use relief_kernels::isa::{Isa, Level, versions};

/// Bodies that are pulled at once.
const LANES: usize = 32;

/// The accelerations of `targets` by `sources`.
///
/// A source where a target is pulls it by 0, so both may be the same bodies. Several threads share the work by parts of
/// `targets` and `to`; the bits do not depend on how.
///
/// # Panics
/// Where there is not an acceleration for each target.
pub fn accelerations(interaction: &Interaction, targets: &[Body], sources: &[Body], to: &mut [Motion]) {
    let isa = Isa::best();
    accelerations_with(isa, interaction, targets, sources, to);
}

/// [`accelerations`] with these instructions.
fn accelerations_with(
    isa: Isa,
    interaction: &Interaction,
    targets: &[Body],
    sources: &[Body],
    to: &mut [Motion],
) {
    assert_eq!(targets.len(), to.len(), "an acceleration for each body");
    // Without an instruction for it, a multiply-add is a call.
    let fused = isa.level() != Level::Portable || cfg!(target_feature = "fma");
    match (interaction.space(), fused) {
        (Space::Free, true) => pulled::<Free, Fused>(isa, interaction, targets, sources, to),
        (Space::Free, false) => pulled::<Free, Apart>(isa, interaction, targets, sources, to),
        (Space::Plane, true) => pulled::<Plane, Fused>(isa, interaction, targets, sources, to),
        (Space::Plane, false) => pulled::<Plane, Apart>(isa, interaction, targets, sources, to),
        (Space::Torus(_), true) => pulled::<Torus, Fused>(isa, interaction, targets, sources, to),
        (Space::Torus(_), false) => pulled::<Torus, Apart>(isa, interaction, targets, sources, to),
    }
}

/// How a product is added.
trait Sum {
    fn multiply_add(a: f32, b: f32, c: f32) -> f32;
}

/// In one operation.
struct Fused;

impl Sum for Fused {
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// In two.
struct Apart;

impl Sum for Apart {
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// What depends on the space.
trait Metric {
    /// Whether the third coordinate counts.
    const DEPTH: bool;

    /// Along an axis, a square with what a difference adds to it, and in which direction it pulls.
    fn axis<S: Sum>(difference: f32, square: f32) -> (f32, f32);
}

struct Free;
struct Plane;
struct Torus;

impl Metric for Free {
    const DEPTH: bool = true;

    #[inline(always)]
    fn axis<S: Sum>(difference: f32, square: f32) -> (f32, f32) {
        (S::multiply_add(difference, difference, square), difference)
    }
}

impl Metric for Plane {
    const DEPTH: bool = false;

    #[inline(always)]
    fn axis<S: Sum>(difference: f32, square: f32) -> (f32, f32) {
        (S::multiply_add(difference, difference, square), difference)
    }
}

/// In periods.
impl Metric for Torus {
    const DEPTH: bool = false;

    #[inline(always)]
    fn axis<S: Sum>(difference: f32, square: f32) -> (f32, f32) {
        let way = difference - difference.round_ties_even();
        let own = way * way;
        (
            S::multiply_add(own, S::multiply_add(own, -2.0, 1.0), square),
            way * S::multiply_add(own, -4.0, 1.0),
        )
    }
}

/// 1 / √x of a positive normal number or infinity, right to 2 · 10⁻⁷.
#[inline(always)]
fn inverse_root<S: Sum>(x: f32) -> f32 {
    // Of squares past the greatest number the root is as good as that number's.
    let x = x.min(f32::MAX);
    let begun = f32::from_bits(0x5f37_5a86 - (x.to_bits() >> 1));
    let error = S::multiply_add(-(x * begun), begun, 1.0);
    let better = S::multiply_add(begun * error, S::multiply_add(error, 0.375, 0.5), begun);
    let error = S::multiply_add(-(x * better), better, 1.0);
    S::multiply_add(better * error, 0.5, better)
}

versions! {
    fn pulled<M: Metric, S: Sum>(
        interaction: &Interaction,
        targets: &[Body],
        sources: &[Body],
        to: &mut [Motion],
    ) {
        let (softening, inverse) = (interaction.softening_squared(), 1.0 / interaction.period());
        for (targets, to) in targets.chunks(LANES).zip(to.chunks_mut(LANES)) {
            let lanes = Lanes::of(targets, inverse);
            let mut total = [[0.0; LANES]; 3];
            for sources in sources.chunks(RUN) {
                let run = lanes.pull::<M, S>(softening, inverse, sources);
                for (total, run) in total.iter_mut().zip(&run) {
                    for (total, run) in total.iter_mut().zip(run) {
                        *total += run;
                    }
                }
            }
            let factor = interaction.factor();
            for (k, to) in to.iter_mut().enumerate() {
                *to = [0, 1, 2, 3].map(|axis: usize| total.get(axis).map_or(0.0, |sums| sums[k] * factor));
            }
        }
    }
}

/// The places of bodies, axis by axis, in periods; those that are missing are at 0.
struct Lanes([[f32; LANES]; 3]);

impl Lanes {
    #[inline(always)]
    fn of(bodies: &[Body], inverse: f32) -> Self {
        let mut places = [[0.0; LANES]; 3];
        for (k, body) in bodies.iter().enumerate() {
            for (axis, place) in places.iter_mut().zip(body.place) {
                axis[k] = place * inverse;
            }
        }
        Self(places)
    }

    #[inline(always)]
    fn pull<M: Metric, S: Sum>(&self, softening: f32, inverse: f32, sources: &[Body]) -> [[f32; LANES]; 3] {
        let [x, y, z] = &self.0;
        let (mut across, mut down, mut deep) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for source in sources {
            let place = source.place.map(|place| place * inverse);
            for k in 0..LANES {
                let (square, dy) = M::axis::<S>(place[1] - y[k], softening);
                let (mut square, dx) = M::axis::<S>(place[0] - x[k], square);
                let mut dz = 0.0;
                if M::DEPTH {
                    (square, dz) = M::axis::<S>(place[2] - z[k], square);
                }
                let root = inverse_root::<S>(square);
                let mut weight = source.mass * (root * root);
                if M::DEPTH {
                    weight *= root;
                    deep[k] = S::multiply_add(weight, dz, deep[k]);
                }
                across[k] = S::multiply_add(weight, dx, across[k]);
                down[k] = S::multiply_add(weight, dy, down[k]);
            }
        }
        [across, down, deep]
    }
}

/// Makes bodies faster: velocities grow by accelerations × `time`.
///
/// # Panics
/// Where there is not an acceleration for each velocity.
pub fn kick(velocities: &mut [Motion], accelerations: &[Motion], time: f32) {
    assert_eq!(
        velocities.len(),
        accelerations.len(),
        "an acceleration for each velocity"
    );
    for (velocity, acceleration) in velocities.iter_mut().zip(accelerations) {
        for (velocity, acceleration) in velocity.iter_mut().zip(acceleration) {
            *velocity += acceleration * time;
        }
    }
}

/// Moves bodies: places grow by velocities × `time`. On a torus they come back at the other side.
///
/// # Panics
/// Where there is not a velocity for each body.
pub fn drift(interaction: &Interaction, bodies: &mut [Body], velocities: &[Motion], time: f32) {
    assert_eq!(bodies.len(), velocities.len(), "a velocity for each body");
    for (body, velocity) in bodies.iter_mut().zip(velocities) {
        for (place, velocity) in body.place.iter_mut().zip(velocity) {
            *place += velocity * time;
        }
        if let Space::Torus(period) = interaction.space() {
            for place in &mut body.place[..2] {
                *place -= period * (*place / period).floor();
            }
        }
    }
}

/// A step of leapfrog: `accelerations` are those of the bodies before, and afterwards those of the bodies then.
///
/// # Panics
/// Where there is not a velocity and an acceleration for each body.
pub fn step(
    interaction: &Interaction,
    bodies: &mut [Body],
    velocities: &mut [Motion],
    accelerations: &mut [Motion],
    time: f32,
) {
    kick(velocities, accelerations, time / 2.0);
    drift(interaction, bodies, velocities, time);
    self::accelerations(interaction, bodies, bodies, accelerations);
    kick(velocities, accelerations, time / 2.0);
}

/// The energy of bodies in motion, of which each weighs its mass: of motion, Σ m v² / 2, and of their places, a sum over all
/// pairs: −s · m m' / √(d² + ε²) in free space, s · m m' · ln(d² + ε²) / 2 in a plane, with h for d² on a torus. In floats of 64 bits.
///
/// # Panics
/// Where there is not a velocity for each body.
#[must_use]
pub fn energy(interaction: &Interaction, bodies: &[Body], velocities: &[Motion]) -> f64 {
    assert_eq!(bodies.len(), velocities.len(), "a velocity for each body");
    let softening = f64::from(interaction.softening()).powi(2);
    let mut energy = 0.0;
    for (i, (body, velocity)) in bodies.iter().zip(velocities).enumerate() {
        let speed: f64 = velocity[..3].iter().map(|v| f64::from(*v).powi(2)).sum();
        energy += f64::from(body.mass) * speed / 2.0;
        for other in &bodies[..i] {
            let way = |axis: usize| f64::from(other.place[axis]) - f64::from(body.place[axis]);
            let part = |axis: usize| match interaction.space() {
                Space::Torus(period) => {
                    let period = f64::from(period);
                    let way = way(axis) - period * (way(axis) / period).round_ties_even();
                    way.powi(2) * (1.0 - 2.0 * (way / period).powi(2))
                }
                Space::Free | Space::Plane => way(axis).powi(2),
            };
            let flat = part(0) + part(1) + softening;
            let potential = match interaction.space() {
                Space::Free => -1.0 / (flat + part(2)).sqrt(),
                Space::Plane | Space::Torus(_) => flat.ln() / 2.0,
            };
            let masses = f64::from(body.mass) * f64::from(other.mass);
            energy += f64::from(interaction.strength()) * masses * potential;
        }
    }
    energy
}
