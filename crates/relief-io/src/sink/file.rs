//! A raster on its way to a file, a pipe or a writer, in one of the formats.

use std::io::{self, Write};

use relief_atomic::Cleanup;
use relief_engine::Workers;
use relief_engine::sink::{Band, Raster, Samples, Sink};

use super::SinkError;
use super::bmp::Bmp;
use super::format::Format;
use super::null::Null;
use super::order::Order;
use super::output::{BUFFER, Output};
use super::pgm::Pgm;
use super::png::Png;
use super::raw::Raw;
use super::stl::{self, Heights, Stl};
use super::target::{self, Ending, Target};
use super::tiff::Tiff;

/// How a format turns a raster into bytes. Samples come in order and complete.
pub(super) trait Encoding: Send {
    /// The threads of the job, for a format that works in parallel; called before the header.
    fn use_workers(&mut self, workers: &Workers) {
        let _ = workers;
    }

    /// The bytes held beyond those of the output.
    fn memory(&self, raster: &Raster) -> u64;

    /// The bytes of the file, where they are known before it is written.
    fn bytes(&self, raster: &Raster) -> Option<u128> {
        let _ = raster;
        None
    }

    /// What stands before the samples.
    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()>;

    /// The next samples.
    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()>;

    /// What stands after the samples.
    fn trailer(&mut self, output: &mut Output) -> io::Result<()>;
}

/// Writes a raster to a [`Target`] in a [`Format`].
///
/// [`begin`](Sink::begin) checks the size against the format and opens the target, [`finish`](Sink::finish) makes a
/// file appear under its name. After an error, and when the sink is dropped unfinished, the temporary file is
/// removed and an older file of that name is as it was. What a pipe, a device or a writer has taken by then cannot
/// be taken back: it ends early.
pub struct FileSink {
    format: Format,
    one_bit: bool,
    heights: Option<Heights>,
    encoding: Box<dyn Encoding>,
    cleanup: Cleanup,
    state: State,
}

enum State {
    Ready(Target),
    Open {
        order: Order,
        output: Output,
        ending: Ending,
    },
    Finished,
    Failed,
}

impl FileSink {
    /// A sink that writes this format to this target. The target is opened by [`begin`](Sink::begin), and not at all
    /// for [`Format::Null`].
    #[must_use]
    pub fn new(target: Target, format: Format) -> Self {
        Self::with_bits(target, format, false)
    }

    /// [`FileSink::new`] with one bit a pixel where `one_bit` says so: PNG and BMP hold that.
    ///
    /// What does not is refused by [`begin`](Sink::begin), and so is a raster with a sample that is neither 0 nor M, at
    /// that sample.
    #[must_use]
    pub fn with_bits(target: Target, format: Format, one_bit: bool) -> Self {
        let mut sink = match format {
            Format::Raw => Self::with(target, format, Box::new(Raw::new())),
            Format::Pgm => Self::with(target, format, Box::new(Pgm::new())),
            Format::Png => Self::with(target, format, Box::new(Png::new(one_bit))),
            Format::Bmp => Self::with(target, format, Box::new(Bmp::new(one_bit))),
            Format::Tiff => Self::with(target, format, Box::new(Tiff::new())),
            Format::Stl => Self::with(target, format, Box::new(Stl::new(None))),
            // It is refused when it begins.
            Format::Dzi | Format::Zarr | Format::Gcode => Self::with(target, format, Box::new(Null)),
            Format::Null => Self::with(Target::Writer(Box::new(io::sink())), format, Box::new(Null)),
        };
        sink.one_bit = one_bit;
        sink
    }

    /// A sink that writes a solid of these heights as STL.
    #[must_use]
    pub fn solid(target: Target, heights: Heights) -> Self {
        let mut sink = Self::with(target, Format::Stl, Box::new(Stl::new(Some(heights))));
        sink.heights = Some(heights);
        sink
    }

    pub(super) fn with(target: Target, format: Format, encoding: Box<dyn Encoding>) -> Self {
        Self {
            format,
            one_bit: false,
            heights: None,
            encoding,
            cleanup: Cleanup::default(),
            state: State::Ready(target),
        }
    }

    /// The bytes of the file of a raster, where they are known before it is written: compressed formats do not know them.
    #[must_use]
    pub fn bytes(&self, raster: &Raster) -> Option<u128> {
        self.encoding.bytes(raster)
    }

    /// A handle that removes the partial file, from any thread and at any time.
    #[must_use]
    pub fn cleanup(&self) -> Cleanup {
        self.cleanup.clone()
    }

    /// Whether the file can hold a raster: its size, and where the format asks for them its depth, pixel and heights.
    ///
    /// # Errors
    /// What it cannot hold, with the formats that can.
    pub fn check(&self, raster: &Raster) -> Result<(), SinkError> {
        self.format.check(raster)?;
        if self.one_bit && !matches!(self.format, Format::Png | Format::Bmp | Format::Null) {
            return Err(SinkError::NoBits { format: self.format });
        }
        match self.format {
            Format::Dzi | Format::Zarr => Err(SinkError::Folder { format: self.format }),
            Format::Gcode => Err(SinkError::Lines { format: self.format }),
            Format::Stl => stl::check(raster, self.heights),
            Format::Bmp => super::bmp::check(raster, self.one_bit),
            _ => Ok(()),
        }
    }

    fn open(&mut self, target: Target, raster: &Raster) -> io::Result<State> {
        let order = Order::new(raster)?;
        self.check(raster)?;
        let (mut output, ending) = target::open(target, &self.cleanup)?;
        let written = self.encoding.header(raster, &mut output);
        outcome(written, &output)?;
        Ok(State::Open {
            order,
            output,
            ending,
        })
    }

    fn take(&mut self, call: &'static str) -> Result<State, SinkError> {
        let state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Failed => "has failed before",
            State::Finished => "has finished",
            State::Ready(target) if call != "begin" => {
                self.state = State::Ready(target);
                "has not begun"
            }
            State::Open { .. } if call == "begin" => "has begun",
            state => return Ok(state),
        };
        Err(SinkError::State { call, state })
    }
}

/// The failure of the output itself, where there was one: encoders may hide it or lose its cause.
fn outcome(result: io::Result<()>, output: &Output) -> io::Result<()> {
    let result = output
        .take_failure()
        .map_or(result, |failure| Err(failure.into()));
    if result.is_err() {
        output.close();
    }
    result
}

impl Sink for FileSink {
    fn use_workers(&mut self, workers: &Workers) {
        self.encoding.use_workers(workers);
    }

    fn memory(&self, raster: &Raster) -> u64 {
        self.encoding.memory(raster).saturating_add(BUFFER as u64)
    }

    fn begin(&mut self, raster: &Raster) -> io::Result<()> {
        if let State::Ready(target) = self.take("begin")? {
            self.state = self.open(target, raster)?;
        }
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        let State::Open { order, output, .. } = &mut self.state else {
            return self.take("write").map(|_| ()).map_err(io::Error::from);
        };
        let result = order.accept(band).map_err(io::Error::from);
        let result = result.and_then(|()| self.encoding.samples(band.samples, output));
        let result = outcome(result, output);
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }

    fn finish(&mut self) -> io::Result<()> {
        if let State::Open {
            order,
            mut output,
            ending,
        } = self.take("finish")?
        {
            let complete = order.complete().map_err(io::Error::from);
            let result = complete
                .and_then(|()| self.encoding.trailer(&mut output))
                .and_then(|()| output.flush());
            outcome(result, &output)?;
            output.close();
            ending.complete()?;
            self.state = State::Finished;
        }
        Ok(())
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        if let State::Open { output, .. } = &self.state {
            output.close();
        }
    }
}

impl std::fmt::Debug for FileSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Ready(_) => "ready",
            State::Open { .. } => "open",
            State::Finished => "finished",
            State::Failed => "failed",
        };
        f.debug_struct("FileSink")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
