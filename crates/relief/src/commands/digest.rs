//! `relief digest`: the name of a raster.

use std::io::{self, Write};

use relief_engine::Cancel;
use relief_io::DigestSink;

use crate::arguments::Digest;
use crate::design::Warnings;
use crate::failure::Failure;
use crate::{design, interrupt, job};

pub(crate) fn run(digest: &Digest) -> Result<(), Failure> {
    let opened = design::open(
        &digest.job.file,
        &digest.job.reading(),
        Warnings::unless(digest.watch.is_silent()),
    )?;
    let mut sink = DigestSink::new();
    let plan = job::plan_for(&opened, &digest.job, &sink)?;
    let cancel = Cancel::new();
    let guard = interrupt::watch(&cancel, None);
    job::run(&opened, plan, None, &mut sink, &digest.watch, &cancel)?;
    drop(guard);
    if let Some(hash) = sink.digest() {
        writeln!(io::stdout(), "{hash}")?;
    }
    Ok(())
}
