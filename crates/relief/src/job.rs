//! What all commands that compute share.

use relief_design::Design;
use relief_engine::{Cancel, Options, Plan, Prepared, Progress, Raster, Renderer, Sink, select_prepared};
use relief_raster::Rect;

use crate::arguments::{Job, Watch};
use crate::design::Opened;
use crate::failure::Failure;
use crate::show::Meter;

/// The part of the canvas that a job asks for, in pixels.
pub(crate) fn region(design: &Design, job: &Job) -> Result<Option<Rect>, Failure> {
    let region = job.region.as_ref().map(|region| region.of(&design.canvas));
    region.transpose()
}

/// The raster that a job will stream.
pub(crate) fn raster(design: &Design, job: &Job) -> Result<Raster, Failure> {
    let (canvas, region) = (design.canvas, region(design, job)?);
    let width = region.map_or(canvas.width, |region| region.width());
    let height = region.map_or(canvas.height, |region| region.height());
    Ok(Raster::new(width, height, canvas.depth).with_pixel(canvas.pixel))
}

/// The plan of a job into a sink.
pub(crate) fn plan_for(opened: &Opened, job: &Job, sink: &dyn Sink) -> Result<Plan, Failure> {
    let raster = raster(&opened.design, job)?;
    planned(opened, job, sink.memory(&raster), Some(sink.wants(&raster)))
}

/// The plan of a job whose sink holds `sink` bytes.
pub(crate) fn plan(opened: &Opened, job: &Job, sink: u64) -> Result<Plan, Failure> {
    planned(opened, job, sink, None)
}

fn planned(opened: &Opened, job: &Job, sink: u64, rows: Option<u64>) -> Result<Plan, Failure> {
    let region = region(&opened.design, job)?;
    let options = Options::default()
        .with(|with| with.region = region)
        .with(|with| with.threads = job.threads)
        .with(|with| with.memory = job.memory)
        .with(|with| with.device_memory = job.device_memory)
        .with(|with| with.tile = job.tile)
        .with(|with| with.rows = rows)
        .sink(sink)
        .devices(select_prepared(&job.device)?);
    Ok(Plan::new(&opened.design, &opened.files, &options)?)
}

/// Makes a plan ready to run, and shows how far what comes before the first band is.
pub(crate) fn renderer(
    opened: &Opened,
    plan: Plan,
    prepared: Option<&Prepared>,
    watch: &Watch,
    cancel: &Cancel,
) -> Result<Renderer, Failure> {
    let mut meter = (plan.preparation() > 0).then(|| Meter::preparing(watch));
    let mut tell = |progress| {
        if let Some(meter) = &mut meter {
            meter.tell(progress);
        }
    };
    let renderer = Renderer::prepare(plan, &opened.files, prepared, &mut tell, cancel);
    if let Some(meter) = &mut meter {
        meter.end(renderer.is_ok());
    }
    Ok(renderer?)
}

/// Computes everything into `sink`, and says how long that took.
pub(crate) fn run(
    opened: &Opened,
    plan: Plan,
    sink: &mut dyn Sink,
    watch: &Watch,
    cancel: &Cancel,
) -> Result<Option<Progress>, Failure> {
    let renderer = renderer(opened, plan, None, watch, cancel)?;
    let mut meter = Meter::new(watch);
    let outcome = renderer.render(sink, &mut |progress| meter.tell(progress), cancel);
    let progress = meter.end(outcome.is_ok());
    outcome?;
    Ok(progress)
}
