//! Bodies that move on a device, step by step.

use super::{Bodies, accelerations, drift, kick, motion_words, parts, scratch_words, words};
use crate::nbody::{Body, Interaction, Motion};
use relief_kernels::device::{Buffer, DeviceError, Gpu};

/// Bodies in motion on a device: places and velocities stay there from step to step.
pub struct Simulation {
    gpu: Gpu,
    interaction: Interaction,
    count: usize,
    bodies: Buffer,
    velocities: Buffer,
    accelerations: Buffer,
    /// Where bodies and velocities go next; nothing moves in place.
    next_bodies: Buffer,
    next_velocities: Buffer,
    scratch: Buffer,
}

impl Simulation {
    /// Bodies and their velocities at the beginning.
    ///
    /// # Errors
    /// Where the device fails or has too little memory, and where there is not a velocity for each body.
    pub fn new(
        gpu: &Gpu,
        interaction: Interaction,
        bodies: &[Body],
        velocities: &[Motion],
    ) -> Result<Self, DeviceError> {
        let count = bodies.len();
        gpu.matches(
            "velocities, one for each body",
            count as u64,
            velocities.len() as u64,
        )?;
        let buffer = || gpu.buffer(4 * count);
        let simulation = Self {
            gpu: gpu.clone(),
            interaction,
            count,
            bodies: gpu.upload(words(bodies))?,
            velocities: gpu.upload(motion_words(velocities))?,
            accelerations: buffer()?,
            next_bodies: buffer()?,
            next_velocities: buffer()?,
            scratch: gpu.buffer(scratch_words(count, parts(count, count)))?,
        };
        simulation.pull()?;
        Ok(simulation)
    }

    fn pull(&self) -> Result<(), DeviceError> {
        let bodies = Bodies {
            buffer: &self.bodies,
            count: self.count,
        };
        accelerations(
            &self.gpu,
            &self.interaction,
            bodies,
            bodies,
            &self.accelerations,
            &self.scratch,
        )
    }

    fn kick(&mut self, time: f32) -> Result<(), DeviceError> {
        kick(
            &self.gpu,
            &self.velocities,
            &self.accelerations,
            self.count,
            time,
            &self.next_velocities,
        )?;
        std::mem::swap(&mut self.velocities, &mut self.next_velocities);
        Ok(())
    }

    /// A step of leapfrog: kick, drift, kick. The device is only asked for it.
    ///
    /// # Errors
    /// Where the device fails.
    pub fn step(&mut self, time: f32) -> Result<(), DeviceError> {
        self.kick(time / 2.0)?;
        let bodies = Bodies {
            buffer: &self.bodies,
            count: self.count,
        };
        drift(
            &self.gpu,
            &self.interaction,
            bodies,
            &self.velocities,
            time,
            &self.next_bodies,
        )?;
        std::mem::swap(&mut self.bodies, &mut self.next_bodies);
        self.pull()?;
        self.kick(time / 2.0)
    }

    /// The bodies now, and their velocities.
    ///
    /// # Errors
    /// Where anything asked of the device failed.
    pub fn read(&self) -> Result<(Vec<Body>, Vec<Motion>), DeviceError> {
        let bodies = self.gpu.read(&self.bodies, 4 * self.count).wait()?;
        let velocities = self.gpu.read(&self.velocities, 4 * self.count).wait()?;
        let bytes = 16 * self.count;
        Ok((
            bytemuck::pod_collect_to_vec(&bodies[..bytes]),
            bytemuck::pod_collect_to_vec(&velocities[..bytes]),
        ))
    }
}
