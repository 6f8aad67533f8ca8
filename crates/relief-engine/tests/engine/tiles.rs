//! Tiles handed on by any thread, in any order.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use relief_engine::{
    Cancel, Error, Grid, NoImages, Options, Plan, Raster, Rect, Renderer, Samples, SamplesMut, Tile, TileSink,
};

/// Keeps the tiles it is given.
struct Kept {
    tile: (u64, u64),
    /// By number: the samples, or nothing.
    tiles: Mutex<Vec<Option<Vec<u8>>>>,
    grid: Option<Grid>,
    written: AtomicUsize,
    finished: bool,
    /// Fails at the tile of this number.
    fails: Option<u128>,
    /// Thrown at the first tile.
    cancel: Option<Cancel>,
    /// Takes tiles of zeros without their samples.
    takes_zeros: bool,
}

impl Kept {
    fn new(width: u64, height: u64) -> Self {
        Self {
            tile: (width, height),
            tiles: Mutex::default(),
            grid: None,
            written: AtomicUsize::new(0),
            finished: false,
            fails: None,
            cancel: None,
            takes_zeros: false,
        }
    }

    /// The raster, row by row; every tile must be there.
    fn whole(&self) -> Vec<u8> {
        let (grid, tiles) = (self.grid.unwrap(), self.tiles.lock().unwrap());
        let mut whole = vec![0; WIDTH * HEIGHT];
        for (number, samples) in tiles.iter().enumerate() {
            let rect = grid.rect(number as u128);
            let rows = samples.as_ref().unwrap().chunks(rect.width() as usize);
            for (row, y) in rows.zip(rect.y() as usize..) {
                let start = y * WIDTH + rect.x() as usize;
                whole[start..start + row.len()].copy_from_slice(row);
            }
        }
        whole
    }
}

impl TileSink for Kept {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        Ok(Grid::new(raster, self.tile.0, self.tile.1).unwrap())
    }

    fn memory(&self, _: &Raster, _: usize) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster, grid: &Grid, _: &Range<u128>) -> io::Result<()> {
        self.grid = Some(*grid);
        self.tiles.lock().unwrap().resize(grid.count() as usize, None);
        Ok(())
    }

    fn has(&self, number: u128) -> io::Result<bool> {
        Ok(self.tiles.lock().unwrap()[number as usize].is_some())
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
        if self.fails == Some(tile.number) {
            return Err(io::Error::other("the disk is full"));
        }
        let Samples::Eight(samples) = tile.samples else {
            panic!("samples of another depth");
        };
        assert_eq!(samples.len() as u128, tile.rect.area());
        self.written.fetch_add(1, Ordering::Relaxed);
        let before = self.tiles.lock().unwrap()[tile.number as usize].replace(samples.to_vec());
        assert!(before.is_none(), "a tile comes once");
        Ok(())
    }

    fn takes_zeros(&self) -> bool {
        self.takes_zeros
    }

    fn write_zeros(&self, number: u128) -> io::Result<()> {
        assert!(self.takes_zeros, "nobody asked for that");
        let count = self.grid.unwrap().rect(number).area() as usize;
        let before = self.tiles.lock().unwrap()[number as usize].replace(vec![0; count]);
        assert!(before.is_none(), "a tile comes once");
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.finished = true;
        Ok(())
    }
}

const WIDTH: usize = 301;
const HEIGHT: usize = 157;

/// A design with a halo, a lattice and noise, ready to run.
fn renderer(threads: usize, tiles: (u64, u64)) -> Renderer {
    let text = r#"relief version=1
canvas width=301 height=157
compose {
    (base)noise seed=7
    (add)distance radius=9 {
        (mask)lattice blend="max" {
            u 31 4
            v -5 27
            (pattern)disc diameter=11 value=255
        }
        profile "90 - 10 * d" beyond=0
    }
}
"#;
    let design = relief_design::parse("tiles.kdl", text, &relief_design::NoImages).unwrap();
    let options = Options::default().threads(threads).tiles(tiles);
    let plan = Plan::new(&design, &NoImages, &options).unwrap();
    Renderer::new(plan, &NoImages, &Cancel::new()).unwrap()
}

fn by_windows(renderer: &Renderer) -> Vec<u8> {
    let mut samples = vec![0; WIDTH * HEIGHT];
    let whole = Rect::sized(WIDTH as u64, HEIGHT as u64);
    renderer
        .read(whole, SamplesMut::Eight(&mut samples), &Cancel::new())
        .unwrap();
    samples
}

#[test]
fn tiles_are_the_raster_whatever_their_size_and_the_threads() {
    let expected = by_windows(&renderer(1, (64, 64)));
    for threads in [1, 3] {
        for tile in [(1, 157), (64, 64), (301, 1), (100, 7), (4_096, 4_096)] {
            let renderer = renderer(threads, tile);
            let mut sink = Kept::new(tile.0, tile.1);
            let mut told = Vec::new();
            let mut progress = |progress: relief_engine::Progress| told.push((progress.done, progress.total));
            renderer
                .render_tiles(&mut sink, None, &mut progress, &Cancel::new())
                .unwrap();
            assert!(sink.whole() == expected, "{threads} threads, tiles of {tile:?}");
            assert!(sink.finished);
            let all = (WIDTH * HEIGHT) as u128;
            assert_eq!(told.last(), Some(&(all, all)));
            assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}

#[test]
fn parts_together_are_the_raster_and_what_is_there_is_not_computed_again() {
    let renderer = renderer(2, (40, 40));
    let mut sink = Kept::new(40, 40);
    let cancel = Cancel::new();
    let mut written = 0;
    for part in [2, 0, 1] {
        renderer
            .render_tiles(&mut sink, Some((part, 3)), &mut |_| (), &cancel)
            .unwrap();
        let now = sink.written.load(Ordering::Relaxed);
        // 8 × 4 tiles in three parts.
        assert!((10..=11).contains(&(now - written)), "part {part}");
        written = now;
    }
    assert!(sink.whole() == by_windows(&renderer));
    renderer
        .render_tiles(&mut sink, None, &mut |_| (), &cancel)
        .unwrap();
    assert_eq!(sink.written.load(Ordering::Relaxed), 32, "all were there");
    for part in [(3, 3), (0, 0)] {
        let refused = renderer.render_tiles(&mut sink, Some(part), &mut |_| (), &cancel);
        assert!(
            matches!(refused, Err(Error::Option { option: "part", .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn a_sink_that_fails_or_a_switch_ends_the_run_unfinished() {
    let renderer = renderer(3, (16, 16));
    let mut sink = Kept::new(16, 16);
    sink.fails = Some(17);
    let failed = renderer.render_tiles(&mut sink, None, &mut |_| (), &Cancel::new());
    assert!(matches!(failed, Err(Error::Sink(_))), "{failed:?}");
    assert!(!sink.finished);

    let mut sink = Kept::new(16, 16);
    let cancel = Cancel::new();
    sink.cancel = Some(cancel.clone());
    let ended = renderer.render_tiles(&mut sink, None, &mut |_| (), &cancel);
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert!(!sink.finished);

    // What was written before a failure is there for the next run.
    sink.cancel = None;
    renderer
        .render_tiles(&mut sink, None, &mut |_| (), &Cancel::new())
        .unwrap();
    assert!(sink.whole() == by_windows(&renderer));
}

#[test]
fn a_grid_counts_and_places_its_tiles() {
    let raster = Raster::new((1 << 40) - 3, 1 << 40, relief_engine::Depth::Eight);
    let grid = Grid::new(&raster, 1, 1).unwrap();
    assert_eq!(grid.count(), ((1 << 40) - 3) << 40);
    assert_eq!(grid.pixels(&(0..grid.count())), grid.count());
    let last = grid.rect(grid.count() - 1);
    assert_eq!((last.right(), last.bottom()), ((1 << 40) - 3, 1 << 40));
    assert!(grid.rect(grid.count()).is_empty());
    assert_eq!(Grid::new(&raster, 0, 8), None);

    let raster = Raster::new(10, 7, relief_engine::Depth::Eight);
    let grid = Grid::new(&raster, 4, 3).unwrap();
    for first in 0..=9 {
        for last in first..=9 {
            let one_by_one: u128 = (first..last).map(|number| grid.rect(number).area()).sum();
            assert_eq!(grid.pixels(&(first..last)), one_by_one, "{first}..{last}");
        }
    }
    for parts in 1..=12 {
        let all: Vec<u128> = (0..parts)
            .flat_map(|part| grid.part(part, parts).unwrap())
            .collect();
        assert_eq!(all, (0..9).collect::<Vec<u128>>(), "{parts} parts");
    }
}

/// What a sink wants is a wish: it changes how a raster is cut, never a sample, and yields to memory.
#[test]
fn bands_are_a_multiple_of_the_rows_that_are_wanted_where_memory_allows() {
    for inner in [
        "noise seed=1",
        "distance radius=20 { (mask)noise seed=1; profile \"d\" beyond=0 }",
    ] {
        let text = format!("relief version=1\ncanvas width=3000 height=5000\n{inner}");
        let design = relief_design::parse("rows.kdl", &text, &relief_design::NoImages).unwrap();
        let plan = |rows, memory| {
            let options = Options::default()
                .threads(2)
                .with(|with| with.rows = rows)
                .with(|with| with.memory = memory);
            Plan::new(&design, &NoImages, &options).unwrap()
        };
        for rows in [1, 7, 256, 1_024] {
            let height = plan(Some(rows), None).shape().band_height;
            assert_eq!(height % rows, 0, "bands of {height} rows for {rows}");
        }
        // More than the raster has are all of them.
        assert_eq!(plan(Some(1 << 40), None).shape().band_height, 5_000);
        // 1 024 rows of 3 000 samples exceed what is allowed here.
        let narrow = plan(Some(1_024), Some(4 << 20));
        assert!(narrow.peak().total() <= 4 << 20 && narrow.shape().band_height < 1_024);
    }
}

/// Waits in its second tile until it is told that the run ends.
#[derive(Default)]
struct Waiting {
    stopped: (Mutex<bool>, std::sync::Condvar),
}

impl TileSink for Waiting {
    fn grid(&self, raster: &Raster) -> io::Result<Grid> {
        Ok(Grid::new(raster, 16, 16).unwrap())
    }

    fn memory(&self, _: &Raster, _: usize) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster, _: &Grid, _: &Range<u128>) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, tile: &Tile<'_>) -> io::Result<()> {
        if tile.number == 0 {
            return Err(io::Error::other("the disk is full"));
        }
        let (stopped, told) = &self.stopped;
        let mut stopped = stopped.lock().unwrap();
        while !*stopped {
            stopped = told.wait(stopped).unwrap();
        }
        Err(io::Error::other("nobody goes on"))
    }

    fn stop(&self) {
        *self.stopped.0.lock().unwrap() = true;
        self.stopped.1.notify_all();
    }

    fn finish(&mut self) -> io::Result<()> {
        panic!("it is not complete")
    }
}

#[test]
fn a_sink_that_waits_for_another_tile_is_told_when_none_comes() {
    let renderer = renderer(3, (16, 16));
    let failed = renderer.render_tiles(&mut Waiting::default(), None, &mut |_| (), &Cancel::new());
    let Err(Error::Sink(error)) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(error.to_string(), "the disk is full");
}

/// What a plan says of a period holds for all pairs of pixels; of a design that does not repeat it says nothing.
#[test]
fn the_period_of_a_plan_is_one_of_its_raster() {
    let plan = |inner: &str, region: Option<Rect>| {
        let text = format!("relief version=1\ncanvas width=120 height=90\n{inner}");
        let design = relief_design::parse("period.kdl", &text, &relief_design::NoImages).unwrap();
        let options = Options::default().with(|with| with.region = region);
        Plan::new(&design, &NoImages, &options).unwrap()
    };
    let lattice =
        "lattice blend=\"max\" { u 11 3; v -4 9; (pattern)ramp axis=\"x\" from=20 to=200 width=7 height=5 }";
    for region in [None, Rect::new(17, 5, 80, 61)] {
        let plan = plan(lattice, region);
        let (period, valid) = plan.period().unwrap();
        let raster = plan.raster();
        assert_eq!(valid, Rect::sized(raster.width, raster.height));
        assert_eq!(period.cell(), 11 * 9 + 3 * 4);
        let renderer = Renderer::new(plan, &NoImages, &Cancel::new()).unwrap();
        let mut samples = vec![0; (raster.width * raster.height) as usize];
        renderer
            .read(valid, SamplesMut::Eight(&mut samples), &Cancel::new())
            .unwrap();
        let mut known = std::collections::HashMap::new();
        for (at, sample) in samples.iter().enumerate() {
            let (x, y) = (at as u64 % raster.width, at as u64 / raster.width);
            let place = period.reduce(x as i64, y as i64);
            assert_eq!(known.entry(place).or_insert(sample), &sample, "({x}, {y})");
        }
    }
    assert!(plan("noise seed=1", None).period().is_none());
}

#[test]
fn tiles_that_are_known_to_be_zero_are_not_computed_for_who_takes_them_so() {
    let text = "relief version=1
canvas width=301 height=157
compose {
    (base)fill value=0
    (max)disc diameter=40 value=9 x=100 y=70
}
";
    let design = relief_design::parse("zeros.kdl", text, &relief_design::NoImages).unwrap();
    let options = Options::default().threads(2).tiles((16, 16));
    let plan = Plan::new(&design, &NoImages, &options).unwrap();
    let renderer = Renderer::new(plan, &NoImages, &Cancel::new()).unwrap();
    let expected = by_windows(&renderer);
    assert!(expected.contains(&9));
    for takes_zeros in [false, true] {
        let mut sink = Kept::new(16, 16);
        sink.takes_zeros = takes_zeros;
        renderer
            .render_tiles(&mut sink, None, &mut |_| (), &Cancel::new())
            .unwrap();
        assert!(sink.whole() == expected);
        // The square around the disc touches the tiles of columns 6 to 8 and of rows 4 to 6.
        let written = if takes_zeros { 3 * 3 } else { 19 * 10 };
        assert_eq!(sink.written.into_inner(), written);
    }
}
