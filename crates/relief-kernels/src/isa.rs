//! Which vector instructions the CPU kernels may use.
//!
//! A kernel is written once as a plain loop and compiled once for each [`Isa`] by [`versions!`](crate::versions); the compiler
//! vectorises it for each. The version is chosen when the kernel runs. Crates that do this choose by the machine
//! alone; here the tests must be able to run every version on one machine, so the choice is a value.
//!
//! ```
//! use relief_kernels::isa::{Isa, Level, versions};
//!
//! versions! {
//!     fn sum(values: &[u32]) -> u32 {
//!         values.iter().sum()
//!     }
//! }
//!
//! // The same function, compiled for each set of vector instructions.
//! assert_eq!(sum(Isa::best(), &[1, 2, 3]), 6);
//! let portable = Isa::at(Level::Portable).unwrap();
//! assert_eq!(sum(portable, &[1, 2, 3]), 6);
//! ```

use std::cell::Cell;

thread_local! {
    /// The set that [`Isa::each`] has chosen.
    static CHOSEN: Cell<Option<Isa>> = const { Cell::new(None) };
}

/// A set of vector instructions that this machine has been seen to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

/// The sets that kernels are compiled for, each holding those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every machine of the target has: SSE2 on x86-64, NEON on AArch64.
    Portable,
    /// x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64-v4.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// x86-64-v4 and byte permutes (VBMI).
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi,
}

/// The family of an AMD processor, 0x19 for Zen 3 and 4, 0x1A for Zen 5 ("AMD64 Architecture Programmer's Manual", volume 3, CPUID Fn0000_0001_EAX); nothing of others.
#[must_use]
pub fn amd_family() -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        // Asking may leave a virtual machine for its host: once.
        static FAMILY: std::sync::LazyLock<Option<u32>> = std::sync::LazyLock::new(|| {
            let vendor = __cpuid(0);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            let signature = __cpuid(1).eax;
            let family = match (signature >> 8) & 0xF {
                0xF => 0xF + ((signature >> 20) & 0xFF),
                family => family,
            };
            (name.as_flattened() == b"AuthenticAMD").then_some(family)
        });
        *FAMILY
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

impl Isa {
    /// The best set of this machine; within [`each`](Self::each), the one whose turn it is.
    #[must_use]
    pub fn best() -> Self {
        CHOSEN.get().unwrap_or_else(Self::detect)
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        use std::arch::is_x86_feature_detected as has;
        // The standard library asks the processor once and keeps the answer.
        let avx2 =
            has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("popcnt") && has!("lzcnt");
        let avx512 = avx2
            && has!("avx512f")
            && has!("avx512bw")
            && has!("avx512cd")
            && has!("avx512dq")
            && has!("avx512vl");
        Self(match (avx2, avx512, avx512 && has!("avx512vbmi")) {
            (_, _, true) => Level::Avx512Vbmi,
            (_, true, _) => Level::Avx512,
            (true, ..) => Level::Avx2,
            _ => Level::Portable,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        Self(Level::Portable)
    }

    /// The set. Whoever holds an `Isa` may run instructions of its level.
    #[inline]
    #[must_use]
    pub const fn level(self) -> Level {
        self.0
    }

    /// The set of this level, where the machine has it.
    #[must_use]
    pub fn at(level: Level) -> Option<Self> {
        (level <= Self::detect().0).then_some(Self(level))
    }

    /// Runs `test` once for each set that this machine has, which is [`best`](Self::best) of this thread meanwhile: how every version of a
    /// kernel is tested on one machine.
    pub fn each(mut test: impl FnMut()) {
        /// Ends the choice however the test ends.
        struct Unchosen;
        impl Drop for Unchosen {
            fn drop(&mut self) {
                CHOSEN.set(None);
            }
        }
        let _unchosen = Unchosen;
        #[cfg(target_arch = "x86_64")]
        let levels = [Level::Portable, Level::Avx2, Level::Avx512, Level::Avx512Vbmi];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [Level::Portable];
        for level in levels.into_iter().filter(|level| *level <= Self::detect().0) {
            CHOSEN.set(Some(Self(level)));
            test();
        }
    }
}

/// Compiles a function once for each [`Isa`]: `versions! { fn name<S: Sample>(arguments) -> Result { body } }` is
/// `fn name<S: Sample>(isa: Isa, arguments) -> Result`. What the body calls is compiled for the same set where it
/// is inlined, so it should be `#[inline(always)]`.
#[macro_export]
macro_rules! versions {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$($parameter:ident: $bound:path),+>)? ($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)?
        $body:block
    ) => {
        $(#[$meta])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        $vis fn $name $(<$($parameter: $bound),+>)? (isa: $crate::isa::Isa, $($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn plain $(<$($parameter: $bound),+>)? ($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
            fn avx2 $(<$($parameter: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                plain $(::<$($parameter),+>)? ($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            fn avx512 $(<$($parameter: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                plain $(::<$($parameter),+>)? ($($argument),*)
            }
            match isa.level() {
                $crate::isa::Level::Portable => plain $(::<$($parameter),+>)? ($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
                $crate::isa::Level::Avx2 => unsafe { avx2 $(::<$($parameter),+>)? ($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above; the level above holds these instructions too.
                $crate::isa::Level::Avx512 | $crate::isa::Level::Avx512Vbmi => unsafe { avx512 $(::<$($parameter),+>)? ($($argument),*) },
            }
        }
    };
}
pub use crate::versions;

#[cfg(test)]
mod tests {
    use super::*;

    versions! {
        fn sum(values: &[u32]) -> u32 {
            values.iter().sum()
        }
    }

    #[test]
    fn every_version_computes_the_same() {
        let mut runs = 0;
        Isa::each(|| {
            assert_eq!(sum(Isa::best(), &[1, 2, 3, 4]), 10);
            runs += 1;
        });
        assert!(runs >= 1);
    }
}
