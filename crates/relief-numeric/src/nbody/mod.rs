//! N bodies: each is pulled by all of them, by gravity or, where the strength is negative, by electrostatic repulsion.
//!
//! With d the way from a body to another one of mass m, ε the softening and s the strength, the acceleration is a sum over all
//! others (the body itself adds nothing, because d is 0):
//! - [`Space::Free`], three dimensions: s · Σ m d / (d² + ε²)^(3/2), Plummer's softening (H. C. Plummer, 1911);
//! - [`Space::Plane`], two dimensions, where a field falls with the distance and not with its square: s · Σ m d / (d² + ε²);
//! - [`Space::Torus`], the same in a square that repeats with period L: d leads to the nearest copy, and s · Σ m g / (h + ε²) with
//!   g = d (1 − 4 d² / L²) along each axis and h the sum of d² (1 − 2 d² / L²) over both. That is the plane's pull nearby, and 0 half a period
//!   away, where two copies are equally near. A pull that jumps there (d / d² to the nearest copy) is half as strong for
//!   waves along an axis that have an even number of periods as for odd ones, and repelled dots settle in rows; this one differs
//!   from the field of all copies by less than a quarter for all long waves. As an even background pulls evenly, repelled
//!   dots spread over the square: with little power at low frequencies, which is blue noise.
//!
//! A mass is what a body pulls with; what it weighs itself has no influence on how it moves. With charges of both signs,
//! [`accelerations`](cpu::accelerations) of some bodies by others are dots pulled by an image (Schmaltz, Gwosdek, Bruhn and
//! Weickert, "Electrostatic halftoning", 2010).
//!
//! All pairs are computed, so operations bind, not memory. A pair takes 12 of them (3 subtractions, 3 multiply-adds for d² + ε², 3
//! multiplications for m / (d² + ε²)^(3/2), 3 multiply-adds for the sums) beside an inverse square root. The literature
//! counts 20 a pair, whatever they are (Nyland, Harris and Prins, "Fast N-body simulation with CUDA", GPU Gems 3, 2007).
//!
//! **What results are.** Sums of floats whose order depends on nothing but the number of bodies, so that the bits are the same
//! for every layout and number of threads. Between machines they differ by a few of the last bits, because inverse square
//! roots do.
//!
//! Time goes on by leapfrog, kick, drift, kick: [`kick`](cpu::kick) by half a step, [`drift`](cpu::drift) by a whole one, new
//! accelerations, and the same kick again. It is of second order, and because it is symplectic the energy swings and does
//! not wander off (Hairer, Lubich and Wanner, "Geometric numerical integration illustrated by the Störmer–Verlet method", 2003).
//!
//! ```
//! use relief_numeric::nbody::{Body, Interaction, Space, cpu};
//!
//! // Two bodies that pull each other: what one gains the other loses.
//! let gravity = Interaction::new(Space::Free, 1.0, 0.1)?;
//! let body = |x| Body { place: [x, 0.0, 0.0], mass: 1.0 };
//! let bodies = [body(-1.0), body(1.0)];
//! let mut pulled = [[0.0; 4]; 2];
//! cpu::accelerations(&gravity, &bodies, &bodies, &mut pulled);
//! assert!(pulled[0][0] > 0.0);
//! assert_eq!(pulled[0][0], -pulled[1][0]);
//! # Ok::<(), relief_numeric::nbody::InteractionError>(())
//! ```

use bytemuck::{Pod, Zeroable};

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod relax;

#[cfg(test)]
mod tests;

/// A body: where it is, and what it pulls with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Body {
    /// Across, down, and in depth; in a plane the depth has no influence.
    pub place: [f32; 3],
    /// The mass or charge.
    pub mass: f32,
}

/// How much faster a body moves after a unit of time, across, down and in depth; the fourth number is 0. Velocities have
/// the same form.
pub type Motion = [f32; 4];

/// What bodies move in, and so how a field falls with the distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// Three dimensions: with the square of the distance.
    Free,
    /// Two: with the distance.
    Plane,
    /// As in a plane, but everything repeats with this period across and down, and the nearest copy pulls, less than in a plane the farther
    /// it is, and not at all half a period away.
    Torus(f32),
}

/// How bodies pull each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    space: Space,
    strength: f32,
    softening: f32,
}

/// Numbers that no interaction has.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InteractionError {
    /// The strength is not finite.
    #[error("a strength of {0}; a finite number is expected")]
    Strength(f32),
    /// The softening is too small or too great to be raised to the third power.
    #[error("a softening of {0}; 10⁻⁹ to 10⁹ is expected")]
    Softening(f32),
    /// The period is too small or too great, or so beside the softening.
    #[error("a period of {0}; 10⁻⁹ to 10⁹, and as many times the softening, is expected")]
    Period(f32),
}

impl Interaction {
    /// An interaction of this strength: positive for what attracts, negative for what repels.
    ///
    /// # Errors
    /// Where a number lies outside what the errors say.
    pub fn new(space: Space, strength: f32, softening: f32) -> Result<Self, InteractionError> {
        if !strength.is_finite() {
            return Err(InteractionError::Strength(strength));
        }
        if !(1e-9..=1e9).contains(&softening) {
            return Err(InteractionError::Softening(softening));
        }
        if let Space::Torus(period) = space
            && !((1e-9..=1e9).contains(&period) && (1e-9..=1e9).contains(&(softening / period)))
        {
            return Err(InteractionError::Period(period));
        }
        Ok(Self {
            space,
            strength,
            softening,
        })
    }

    /// What bodies move in.
    #[must_use]
    pub const fn space(&self) -> Space {
        self.space
    }

    /// The strength.
    #[must_use]
    pub const fn strength(&self) -> f32 {
        self.strength
    }

    /// The distance ε at which a field has become clearly weaker than without.
    #[must_use]
    pub const fn softening(&self) -> f32 {
        self.softening
    }

    /// ε², on a torus in periods.
    const fn softening_squared(&self) -> f32 {
        let softening = self.softening / self.period();
        softening * softening
    }

    /// What sums are multiplied by: on a torus they are of places in periods.
    const fn factor(&self) -> f32 {
        self.strength / self.period()
    }

    /// The period, 1 where there is none.
    const fn period(&self) -> f32 {
        match self.space {
            Space::Torus(period) => period,
            Space::Free | Space::Plane => 1.0,
        }
    }
}

/// Bodies whose pull is summed on its own before it is added to that of others: sums of many floats lose bits.
const RUN: usize = 512;
