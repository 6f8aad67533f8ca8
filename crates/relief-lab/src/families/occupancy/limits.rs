//! How many warps a multiprocessor holds: what a device allows, and what a kernel leaves of it.
//!
//! The figures are those of the table of technical specifications in NVIDIA's "CUDA C++ Programming Guide".

/// Units of a warp.
const LANES: u32 = 32;

/// What a multiprocessor holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Warps.
    pub warps: u32,
    /// Cubes.
    pub cubes: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes of it that a cube takes beside its own.
    pub reserved: u32,
    /// Registers of 32 bits.
    pub registers: u32,
}

impl Limits {
    /// Those of a compute capability, where they are documented.
    #[must_use]
    pub const fn of(major: u32, minor: u32) -> Option<Self> {
        let (warps, cubes, kibibytes) = match (major, minor) {
            (3, _) => (64, 16, 48),
            (5, 0) | (6, 0) => (64, 32, 64),
            (5, _) | (6, _) | (7, 0) => (64, 32, 96),
            (7, _) => (32, 16, 64),
            (8, 0) => (64, 32, 164),
            (8, 6) => (48, 16, 100),
            (8, _) => (48, 24, 100),
            (9, _) | (10, _) => (64, 32, 228),
            _ => return None,
        };
        Some(Self {
            warps,
            cubes,
            shared: kibibytes << 10,
            reserved: if major >= 8 { 1 << 10 } else { 0 },
            registers: 1 << 16,
        })
    }

    /// Those of a device, by what its driver calls itself. One that does not tell is taken for compute capability 9.0: what is asked for
    /// is then the same as there, and what comes of it is the device's affair.
    #[must_use]
    pub fn of_driver(driver: &str) -> Self {
        const UNKNOWN: Limits = match Limits::of(9, 0) {
            Some(limits) => limits,
            None => panic!("it is documented"),
        };
        let told = driver.split("compute capability ").nth(1);
        let told = told.and_then(|version| {
            let digits = |text: &str| {
                let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                text[..end].parse().ok()
            };
            let (major, minor) = version.split_once('.')?;
            Self::of(digits(major)?, digits(minor)?)
        });
        told.unwrap_or(UNKNOWN)
    }

    /// Warps that are resident of cubes of `units` units, `shared` bytes and `registers` registers a unit.
    #[must_use]
    pub fn resident(&self, units: u32, shared: u32, registers: u32) -> u32 {
        let warps = units.div_ceil(LANES).max(1);
        // Registers are given to warps, 256 at a time.
        let of_warp = (registers * LANES).next_multiple_of(256).max(1);
        let mut cubes = self.cubes.min(self.warps / warps);
        cubes = cubes.min(self.registers / of_warp / warps);
        // Shared memory is given to cubes, 128 bytes at a time.
        let of_cube = shared.next_multiple_of(128) + self.reserved;
        cubes = cubes.min(self.shared.checked_div(of_cube).unwrap_or(cubes));
        cubes * warps
    }

    /// The bytes of shared memory by which exactly so many warps are resident of cubes of `units` units; nothing where no amount
    /// does that.
    #[must_use]
    pub fn shared_for(&self, warps: u32, units: u32) -> Option<u32> {
        let of_cube = units.div_ceil(LANES).max(1);
        let cubes = warps / of_cube;
        if cubes == 0 {
            return None;
        }
        let most = (self.shared / cubes).saturating_sub(self.reserved) / 128 * 128;
        let mut amounts = [0, most].into_iter();
        amounts.find(|shared| self.resident(units, *shared, 32) == warps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_s_table_is_reproduced() {
        // Maxwell, Pascal, Volta; Turing.
        for (major, minor, warps) in [
            (5, 0, 64),
            (5, 2, 64),
            (6, 0, 64),
            (6, 1, 64),
            (7, 0, 64),
            (7, 5, 32),
        ] {
            assert_eq!(Limits::of(major, minor).unwrap().resident(256, 0, 32), warps);
        }
        assert_eq!(Limits::of(2, 0), None);
    }

    #[test]
    fn a_driver_tells_the_compute_capability() {
        for driver in [
            "CUDA 13.0, compute capability 7.5",
            "compute capability 7.5, CUDA 13.0",
        ] {
            assert_eq!(Limits::of_driver(driver), Limits::of(7, 5).unwrap());
        }
        assert_eq!(Limits::of_driver("Mesa 25"), Limits::of(9, 0).unwrap());
    }

    #[test]
    fn whatever_is_scarcest_limits() {
        let hopper = Limits::of(9, 0).unwrap();
        // Cubes, warps, registers, shared memory.
        assert_eq!(hopper.resident(32, 0, 32), 32);
        assert_eq!(hopper.resident(1_024, 0, 32), 64);
        assert_eq!(hopper.resident(768, 0, 32), 48);
        assert_eq!(hopper.resident(256, 0, 64), 32);
        assert_eq!(hopper.resident(256, 48 << 10, 32), 4 * 8);
        assert_eq!(hopper.resident(256, 227 << 10, 32), 8);
        assert_eq!(hopper.resident(256, 228 << 10, 32), 0);
    }

    #[test]
    fn memory_is_found_for_every_number_of_warps_that_cubes_make() {
        for limits in [(9, 0), (8, 6), (7, 5)].map(|(major, minor)| Limits::of(major, minor).unwrap()) {
            for units in [32, 64, 128, 256, 512, 1_024] {
                for warps in 1..=limits.warps {
                    let found = limits.shared_for(warps, units);
                    let whole = warps % (units / 32) == 0 && warps / (units / 32) <= limits.cubes;
                    assert_eq!(found.is_some(), whole, "{warps} warps of {units} units");
                    let resident = found.map(|shared| limits.resident(units, shared, 32));
                    assert!(resident.is_none_or(|resident| resident == warps));
                }
            }
        }
    }
}
