//! Jobs into files of tiles: what their tests share.

use std::io;
use std::ops::Range;

use relief_engine::{
    Cancel, Grid, NoImages, Options, Plan, Progress, Raster, Renderer, SamplesMut, Tile, TileSink,
};
use relief_raster::{Depth, Rect};

/// Hears of progress and does nothing.
pub(crate) fn nothing(_: Progress) {}

/// The renderer of a design, with options.
pub(crate) fn renderer(text: &str, options: &Options) -> Renderer {
    let text = format!("relief version=1\n{text}");
    let design = relief_design::parse("design.kdl", &text, &relief_design::NoImages).unwrap();
    let plan = Plan::new(&design, &NoImages, options).unwrap();
    Renderer::new(plan, &NoImages, &Cancel::new()).unwrap()
}

/// The samples of a window.
pub(crate) fn window(renderer: &Renderer, rect: Rect) -> Vec<u16> {
    let count = rect.area() as usize;
    match renderer.plan().depth() {
        Depth::Eight => {
            let mut samples = vec![0; count];
            let out = SamplesMut::Eight(&mut samples);
            renderer.read(rect, out, &Cancel::new()).unwrap();
            samples.into_iter().map(u16::from).collect()
        }
        Depth::Sixteen => {
            let mut samples = vec![0; count];
            let out = SamplesMut::Sixteen(&mut samples);
            renderer.read(rect, out, &Cancel::new()).unwrap();
            samples
        }
    }
}

/// All samples.
pub(crate) fn whole(renderer: &Renderer) -> Vec<u16> {
    let raster = renderer.plan().raster();
    window(renderer, Rect::sized(raster.width, raster.height))
}

/// Fails from the tile of this number on.
pub(crate) struct Stops<T>(pub(crate) T, pub(crate) u128);

impl<T: TileSink> TileSink for Stops<T> {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        self.0.grid(raster)
    }

    fn memory(&self, raster: &Raster, threads: usize) -> u64 {
        self.0.memory(raster, threads)
    }

    fn begin(&mut self, raster: &Raster, grid: &Grid, tiles: &Range<u128>) -> io::Result<()> {
        self.0.begin(raster, grid, tiles)
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        self.0.has(number)
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        if tile.number >= self.1 {
            return Err(io::Error::other("it is to stop"));
        }
        self.0.write(tile)
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
