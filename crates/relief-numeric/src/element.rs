//! What the numbers of an array are, for kernels that take several kinds.
//!
//! ```
//! use relief_numeric::element::{Element, Keys};
//!
//! // Ten numbers of 16 bits in whole vectors of four words.
//! assert_eq!(Element::U16.words(10), 8);
//! let between = Keys::within(-1.0_f32, 2.5).unwrap();
//! assert_ne!(between, Keys::at_least(-1.0_f32));
//! ```

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// Integers of 8 bits, without a sign.
    U8,
    /// Integers of 16 bits, without a sign.
    U16,
    /// Integers of 32 bits, without a sign.
    U32,
    /// Integers of 32 bits with a sign.
    I32,
    /// Floating-point numbers of 32 bits.
    F32,
}

impl Element {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::U8, Self::U16, Self::U32, Self::I32, Self::F32];

    /// Its name, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
        }
    }

    /// Bits of a number.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 => 8,
            Self::U16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
        }
    }

    /// Words that hold `len` numbers on a device, packed, the first in the lowest bits: whole vectors of 4 words.
    #[must_use]
    pub const fn words(self, len: u64) -> u64 {
        len.div_ceil(self.per_vector()).saturating_mul(4)
    }

    /// Numbers of a vector of 16 bytes.
    #[must_use]
    pub const fn per_vector(self) -> u64 {
        128 / self.bits() as u64
    }
}

/// A type of number. It is sealed: kernels rely on [`ELEMENT`](Self::ELEMENT) being the size and kind of the type.
pub trait Number: crate::sealed::Sealed + bytemuck::Pod + PartialEq + Send + Sync + std::fmt::Debug {
    /// Which it is.
    const ELEMENT: Element;

    /// A word in the order of the numbers: [`f32::total_cmp`]'s for floats.
    fn key(self) -> u32;

    /// The number of a key.
    fn from_key(key: u32) -> Self;
}

macro_rules! unsigned {
    ($type:ty, $element:ident) => {
        impl Number for $type {
            const ELEMENT: Element = Element::$element;

            #[inline(always)]
            fn key(self) -> u32 {
                u32::from(self)
            }

            #[inline(always)]
            fn from_key(key: u32) -> Self {
                key as Self
            }
        }
    };
}

unsigned!(u8, U8);
unsigned!(u16, U16);
unsigned!(u32, U32);

impl Number for i32 {
    const ELEMENT: Element = Element::I32;

    #[inline(always)]
    fn key(self) -> u32 {
        self.cast_unsigned() ^ (1 << 31)
    }

    #[inline(always)]
    fn from_key(key: u32) -> Self {
        (key ^ (1 << 31)).cast_signed()
    }
}

impl Number for f32 {
    const ELEMENT: Element = Element::F32;

    #[inline(always)]
    fn key(self) -> u32 {
        let bits = self.to_bits();
        // Negative numbers in reverse, and below the others.
        bits ^ ((bits.cast_signed() >> 31).cast_unsigned() | (1 << 31))
    }

    #[inline(always)]
    fn from_key(key: u32) -> Self {
        let negative = (!key).cast_signed() >> 31;
        Self::from_bits(key ^ (negative.cast_unsigned() | (1 << 31)))
    }
}

/// A range of [keys](Number::key): the numbers from one to another, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keys {
    pub(crate) first: u32,
    /// How many follow the first, modulo 2^32.
    pub(crate) span: u32,
}

impl Keys {
    /// Those of a number and of all above it.
    #[must_use]
    pub fn at_least<T: Number>(least: T) -> Self {
        let first = least.key();
        Self {
            first,
            span: Self::most::<T>() - first,
        }
    }

    /// Those of a number and of all below it.
    #[must_use]
    pub fn at_most<T: Number>(greatest: T) -> Self {
        Self {
            first: 0,
            span: greatest.key(),
        }
    }

    /// Those of the numbers from `least` to `greatest`, both of them too; nothing where no number is one.
    #[must_use]
    pub fn within<T: Number>(least: T, greatest: T) -> Option<Self> {
        let (first, last) = (least.key(), greatest.key());
        (first <= last).then(|| Self {
            first,
            span: last - first,
        })
    }

    /// Those of all numbers but these; nothing where these are all.
    #[must_use]
    pub fn outside<T: Number>(least: T, greatest: T) -> Option<Self> {
        let (first, last) = (least.key(), greatest.key());
        let most = Self::most::<T>();
        if first > last {
            return Some(Self { first: 0, span: most });
        }
        // From the key after the last round to that before the first.
        (first > 0 || last < most).then(|| Self {
            first: last.wrapping_add(1),
            span: first.wrapping_sub(last).wrapping_sub(2),
        })
    }

    /// The greatest key.
    const fn most<T: Number>() -> u32 {
        u32::MAX >> (32 - T::ELEMENT.bits())
    }

    /// Whether a key is one of them.
    #[inline(always)]
    #[must_use]
    pub const fn hold(self, key: u32) -> bool {
        key.wrapping_sub(self.first) <= self.span
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What ranges hold is what comparisons say.
    fn ranges_hold<T: Number>(least: T, greatest: T, number: T, inside: bool) {
        let holds = |keys: Option<Keys>| keys.is_some_and(|keys| keys.hold(number.key()));
        assert_eq!(holds(Keys::within(least, greatest)), inside);
        assert_eq!(holds(Keys::outside(least, greatest)), !inside);
        let (above, below) = (least.key() <= number.key(), number.key() <= greatest.key());
        assert_eq!(holds(Some(Keys::at_least(least))), above);
        assert_eq!(holds(Some(Keys::at_most(greatest))), below);
    }

    proptest! {
        #[test]
        fn keys_hold_the_numbers_from_one_to_another(least: u8, greatest: u8, number: u8, words: [i32; 3], floats: [u32; 3]) {
            // The ends of a kind are rare among all of its numbers.
            let ends = |number: u8| if number % 4 == 0 { 0 } else if number % 4 == 1 { 255 } else { number };
            for (a, b) in [(least, greatest), (ends(least), ends(greatest))] {
                ranges_hold(a, b, number, a <= number && number <= b);
                let (c, d, e) = (u16::from(a) * 257, u16::from(b) * 257, u16::from(number) * 257);
                ranges_hold(c, d, e, c <= e && e <= d);
            }
            let [a, b, c] = words;
            for (a, b) in [(a, b), (i32::MIN, b), (a, i32::MAX), (i32::MIN, i32::MAX)] {
                ranges_hold(a, b, c, a <= c && c <= b);
                let [d, e, f] = [a, b, c].map(i32::cast_unsigned);
                ranges_hold(d, e, f, d <= f && f <= e);
            }
            let [a, b, c] = floats.map(f32::from_bits);
            ranges_hold(a, b, c, a.total_cmp(&c).is_le() && c.total_cmp(&b).is_le());
        }
    }

    #[test]
    fn keys_are_in_the_order_of_the_numbers_and_give_them_back() {
        let floats = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.5,
            -1e-40,
            -0.0,
            0.0,
            1e-40,
            2.0,
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
        ];
        assert!(floats.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert!(
            floats
                .iter()
                .all(|f| f32::from_key(f.key()).to_bits() == f.to_bits())
        );
        let integers = [i32::MIN, -1, 0, 1, i32::MAX];
        assert!(integers.windows(2).all(|pair| pair[0].key() < pair[1].key()));
        assert!(integers.iter().all(|i| i32::from_key(i.key()) == *i));
        assert_eq!(u8::from_key(200_u8.key()), 200);
    }

    #[test]
    fn buffers_hold_whole_vectors() {
        assert_eq!(Element::U8.words(0), 0);
        assert_eq!(Element::U8.words(16), 4);
        assert_eq!(Element::U8.words(17), 8);
        assert_eq!(Element::F32.words(5), 8);
    }
}
