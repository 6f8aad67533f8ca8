//! What the tests write to: a raster inside a larger one whose other samples must stay as they are.

use relief_raster::{Sample, View, ViewMut};

/// A raster of `size` with a border of samples that no kernel may touch, and rows that lie apart.
pub(crate) struct Canvas<S> {
    samples: Vec<S>,
    size: (usize, usize),
    stride: usize,
}

/// Samples around the raster on every side.
const BORDER: usize = 3;

impl<S: Sample> Canvas<S> {
    /// A raster whose samples are not what any test expects: they differ from place to place.
    pub(crate) fn poisoned((width, height): (usize, usize)) -> Self {
        let stride = width + 2 * BORDER;
        let count = stride * (height + 2 * BORDER);
        let samples = (0..count).map(Self::poison).collect();
        Self {
            samples,
            size: (width, height),
            stride,
        }
    }

    /// A raster of these samples.
    pub(crate) fn of(size: (usize, usize), mut sample: impl FnMut(usize, usize) -> S) -> Self {
        let mut canvas = Self::poisoned(size);
        for y in 0..size.1 {
            for x in 0..size.0 {
                let at = canvas.index(x, y);
                canvas.samples[at] = sample(x, y);
            }
        }
        canvas
    }

    fn poison(at: usize) -> S {
        S::from_u16((at * 37 + 101) as u16 % (S::MAX.to_u16() - 1) + 1)
    }

    fn index(&self, x: usize, y: usize) -> usize {
        (y + BORDER) * self.stride + x + BORDER
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> S {
        assert!(x < self.size.0 && y < self.size.1);
        self.samples[self.index(x, y)]
    }

    pub(crate) fn view(&mut self) -> ViewMut<'_, S> {
        let start = self.index(0, 0);
        ViewMut::new(&mut self.samples[start..], self.size.0, self.size.1, self.stride)
    }

    pub(crate) fn read(&self) -> View<'_, S> {
        View::new(
            &self.samples[self.index(0, 0)..],
            self.size.0,
            self.size.1,
            self.stride,
        )
    }

    /// Every sample is what `expected` says, and everything around the raster is untouched.
    #[track_caller]
    pub(crate) fn assert_is(&self, mut expected: impl FnMut(usize, usize) -> S) {
        let (width, height) = self.size;
        for (at, sample) in self.samples.iter().enumerate() {
            let (x, y) = (at % self.stride, at / self.stride);
            let inside = (BORDER..BORDER + width).contains(&x) && (BORDER..BORDER + height).contains(&y);
            if inside {
                let (x, y) = (x - BORDER, y - BORDER);
                assert_eq!(*sample, expected(x, y), "sample ({x}, {y}) of {width}×{height}");
            } else {
                assert_eq!(*sample, Self::poison(at), "written outside of {width}×{height}");
            }
        }
    }
}
