//! A design on the CPU and on a device, by every way that the engine offers.

use relief_design::Design;
use relief_engine::{DeviceId, Error, ImageSource, Options, Plan, Rect, Renderer};

use crate::device::device;
use crate::oracle::model::Picture;
use crate::pictures::Pictures;
use crate::run::{banded, part, rendered, renderer, window};

/// The pictures p0…p3 of all designs written here: gray steps, an odd one, a single pixel, a few marks.
pub(crate) fn pictures(max: u16) -> Pictures {
    let picture = |width: u64, height: u64, sample: fn(u64) -> u64| Picture {
        width,
        height,
        samples: (0..width * height)
            .map(|i| (sample(i) % (u64::from(max) + 1)) as u16)
            .collect(),
    };
    Pictures(vec![
        picture(12, 11, |i| i * 997),
        picture(7, 5, |i| (i % 3) * i * 1_003),
        picture(1, 1, |_| 200),
        picture(40, 30, |i| if i % 173 == 91 { i + 1 } else { 0 }),
    ])
}

/// A design of this root on a canvas, and the pictures that it may name. `$M`, `$H` and `$Q` stand for the greatest
/// sample of the depth, its half and its quarter.
pub(crate) fn canvas(width: u64, height: u64, depth: u8, root: &str) -> (Design, Pictures) {
    let max: u16 = if depth == 8 { 255 } else { 65_535 };
    let mut root = root.to_owned();
    for (name, value) in [("$M", max), ("$H", max / 2), ("$Q", max / 4)] {
        root = root.replace(name, &value.to_string());
    }
    let pictures = pictures(max);
    let text = format!(
        "relief version=1\ncanvas width={width} height={height} depth={depth} rounding=\"nearest\"\n{root}"
    );
    let design = relief_design::parse("test.kdl", &text, &pictures)
        .unwrap_or_else(|report| panic!("{:#?}\n{text}", report.problems()));
    (design, pictures)
}

/// Computes a root in both depths on the device, as [`agree`].
pub(crate) fn both(width: u64, height: u64, root: &str) {
    with(width, height, root, &Options::default());
}

/// As [`both`], with other options.
pub(crate) fn with(width: u64, height: u64, root: &str, options: &Options) {
    let Some(device) = device() else { return };
    for depth in [8, 16] {
        let (design, images) = canvas(width, height, depth, root);
        agree(device, &design, &images, options)
            .unwrap_or_else(|error| panic!("{width}×{height} of {depth} bits, {options:?}\n{root}\n{error}"));
    }
}

/// The options for this device.
pub(crate) fn on(device: DeviceId, options: &Options) -> Options {
    options.clone().devices(vec![device]).threads(2)
}

/// Computes a design on the CPU and on the device: streamed, band by band and through windows. Says where samples
/// differ, and where the device took more memory than was planned.
pub(crate) fn agree(
    device: DeviceId,
    design: &Design,
    images: &dyn ImageSource,
    options: &Options,
) -> Result<(), String> {
    let here = Options::default()
        .with(|with| with.region = options.region)
        .threads(2);
    let expected = rendered(&renderer(design, images, &here)).unwrap();
    let there = on_device(device, design, images, options).map_err(|error| format!("{error:?}"))?;
    let raster = there.plan().raster();
    let whole = Rect::sized(raster.width, raster.height);
    let failed = |error: Error| format!("{error:?}");
    same("render", &rendered(&there).map_err(failed)?, &expected, whole)?;
    same("bands", &banded(&there).map_err(failed)?, &expected, whole)?;
    for asked in windows(whole) {
        let found = window(&there, asked).map_err(failed)?;
        same("read", &found, &part(&expected, raster.width, asked), asked)?;
    }
    within_the_plan(&there)
}

/// A renderer on the device; nothing of it is unwrapped, so that refusals can be looked at.
pub(crate) fn on_device(
    device: DeviceId,
    design: &Design,
    images: &dyn ImageSource,
    options: &Options,
) -> Result<Renderer, Error> {
    let options = on(device, options);
    let plan = Plan::new(design, images, &options)?;
    let limit = options.memory.unwrap_or(relief_engine::DEFAULT_MEMORY);
    assert!(plan.peak().total() <= limit, "{:?} of {limit} bytes", plan.peak());
    Renderer::new(plan, images, &relief_engine::Cancel::new())
}

/// A corner of one pixel, and a part with odd edges.
fn windows(whole: Rect) -> [Rect; 2] {
    let (width, height) = (whole.width() as i64, whole.height() as i64);
    [
        Rect::between(width - 1, height - 1, width, height),
        Rect::between(width / 3, height / 5, width.min(width / 3 + 37), height),
    ]
}

fn within_the_plan(renderer: &Renderer) -> Result<(), String> {
    let planned = renderer.plan().device().unwrap().bytes;
    for (id, peak) in renderer.device_memory() {
        if peak > planned {
            return Err(format!("{id} took {peak} bytes, {planned} were planned"));
        }
    }
    Ok(())
}

/// Says where samples differ.
pub(crate) fn same(way: &str, found: &[u16], expected: &[u16], rect: Rect) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!(
            "{way}: {} samples, {} are right",
            found.len(),
            expected.len()
        ));
    }
    match (0..found.len()).find(|at| found[*at] != expected[*at]) {
        None => Ok(()),
        Some(at) => {
            let (x, y) = (at as u64 % rect.width(), at as u64 / rect.width());
            let wrong = found.iter().zip(expected).filter(|(a, b)| a != b).count();
            Err(format!(
                "{way}: sample {x},{y} of {rect:?} is {}, {} is right; {wrong} of {} are wrong",
                found[at],
                expected[at],
                found.len()
            ))
        }
    }
}
