//! Gray values.

use std::fmt;

/// The number of bits of every sample of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Depth {
    /// 8 bits: 0…255.
    Eight,
    /// 16 bits: 0…65 535.
    Sixteen,
}

impl Depth {
    /// The number of bits, 8 or 16.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// The number of bytes of one sample, 1 or 2.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }

    /// The greatest sample, M: 255 or 65 535.
    #[must_use]
    pub const fn max(self) -> u16 {
        match self {
            Self::Eight => 255,
            Self::Sixteen => 65_535,
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bits", self.bits())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

/// One gray value: `u8` or `u16`.
pub trait Sample:
    sealed::Sealed + Copy + Default + Ord + Send + Sync + fmt::Debug + fmt::Display + bytemuck::Pod + 'static
{
    /// The depth whose samples have this type.
    const DEPTH: Depth;
    /// The greatest sample, M.
    const MAX: Self;
    /// Zero: "nothing here".
    const ZERO: Self;

    /// The sample as a `u16`, unscaled.
    fn to_u16(self) -> u16;

    /// The sample of this value. A value above M, which no checked design holds, becomes M.
    fn from_u16(value: u16) -> Self;
}

impl Sample for u8 {
    const DEPTH: Depth = Depth::Eight;
    const MAX: Self = Self::MAX;
    const ZERO: Self = 0;

    #[inline]
    fn to_u16(self) -> u16 {
        u16::from(self)
    }

    #[inline]
    fn from_u16(value: u16) -> Self {
        Self::try_from(value).unwrap_or(Self::MAX)
    }
}

impl Sample for u16 {
    const DEPTH: Depth = Depth::Sixteen;
    const MAX: Self = Self::MAX;
    const ZERO: Self = 0;

    #[inline]
    fn to_u16(self) -> u16 {
        self
    }

    #[inline]
    fn from_u16(value: u16) -> Self {
        value
    }
}
