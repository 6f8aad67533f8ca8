//! Errors as the classes of `relief_surfaces.errors`.

use std::io;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use relief_design::{Problem, Report};
use relief_engine::Error;
use relief_io::SinkError;

/// Why something did not go.
pub(crate) enum Failure {
    /// The design is wrong.
    Design(Box<Report>, String),
    /// The engine refused or failed.
    Engine(Error),
    /// An output refused or failed.
    Sink(SinkError),
    /// A file could not be read or written.
    File(String, io::Error),
    /// What was asked for cannot be.
    Option(&'static str, String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<SinkError> for Failure {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

impl Failure {
    /// The exception that tells it.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        self.built(py).unwrap_or_else(|error| error)
    }

    fn built(self, py: Python<'_>) -> PyResult<PyErr> {
        match self {
            Self::Design(report, text) => {
                let problems = problems(py, &report, &text)?;
                raise(py, "DesignError", (report.to_string(), problems))
            }
            Self::File(action, error) => {
                let message = format!("{action}: {error}");
                raise(py, "FileError", (message, error.raw_os_error()))
            }
            Self::Option(option, problem) => raise(py, "OptionError", (option, problem)),
            Self::Sink(error) => of_sink(py, error),
            Self::Engine(error) => of_engine(py, error),
        }
    }
}

fn of_engine(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let message = chain(&error);
    match error {
        Error::Memory {
            needed,
            limit,
            advice,
        } => raise(py, "MemoryRefused", (message, needed, limit, advice)),
        Error::Region { .. } | Error::Part { .. } => raise(py, "RegionError", (message,)),
        Error::Option { option, problem } => raise(py, "OptionError", (option, problem)),
        Error::Image { path, .. } | Error::ImageChanged { path, .. } => {
            raise(py, "ImageError", (message, path))
        }
        Error::TooDeep { .. } => raise(py, "DesignError", (message, PyList::empty(py))),
        Error::Allocation { bytes, .. } => raise(py, "MemoryRefused", (message, bytes, py.None(), "")),
        Error::Sink(source) => match source.downcast::<SinkError>() {
            Ok(error) => of_sink(py, error),
            Err(source) => raise(py, "OutputError", (message, source.raw_os_error())),
        },
        Error::DeviceMemory { .. } | Error::DeviceBuffer { .. } | Error::Unsupported { .. } => {
            raise(py, "DeviceError", (message,))
        }
        Error::Cancelled => raise(py, "Cancelled", (message,)),
        Error::Panic { .. } => raise(py, "Defect", (message,)),
        #[cfg(feature = "gpu")]
        Error::Device { .. } => raise(py, "DeviceError", (message,)),
        _ => raise(py, "ReliefError", (message,)),
    }
}

fn of_sink(py: Python<'_>, error: SinkError) -> PyResult<PyErr> {
    let message = chain(&error);
    let number = match &error {
        SinkError::Write { source, .. } => source.raw_os_error(),
        _ => None,
    };
    raise(py, "OutputError", (message, number))
}

/// The exception of this class of `relief_surfaces.errors`.
fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyResult<PyErr> {
    let errors = py.import("relief_surfaces.errors")?;
    Ok(PyErr::from_value(errors.getattr(class)?.call1(arguments)?))
}

/// The problems of a report as `relief_surfaces.errors.Problem`.
pub(crate) fn problems<'py>(py: Python<'py>, report: &Report, text: &str) -> PyResult<Bound<'py, PyList>> {
    let class = py.import("relief_surfaces.errors")?.getattr("Problem")?;
    let list = PyList::empty(py);
    for problem in report.problems() {
        list.append(class.call((), Some(&fields(py, report.name(), problem, text)?))?)?;
    }
    Ok(list)
}

fn fields<'py>(py: Python<'py>, file: &str, problem: &Problem, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("code", problem.code())?;
    fields.set_item("message", problem.message())?;
    fields.set_item("help", problem.help_text())?;
    fields.set_item("warning", problem.is_warning())?;
    fields.set_item("file", file)?;
    let places = problem.pointers().map(|pointer| {
        let (start, length) = pointer.bytes;
        let excerpt = Excerpt::of(text, start, length);
        let place = (
            pointer.place.line,
            pointer.place.column,
            pointer.text,
            excerpt.line,
            excerpt.before,
            excerpt.marked,
        );
        place.into_bound_py_any(py)
    });
    fields.set_item("places", PyTuple::new(py, places.collect::<PyResult<Vec<_>>>()?)?)?;
    Ok(fields)
}

/// The most characters of a line that a problem shows.
const MAX_LINE: usize = 400;

/// A line of a text with what is meant in it, counted in characters.
struct Excerpt {
    line: String,
    before: usize,
    marked: usize,
}

impl Excerpt {
    fn of(text: &str, start: usize, length: usize) -> Self {
        let nothing = Self {
            line: String::new(),
            before: 0,
            marked: 0,
        };
        let (Some(head), Some(tail)) = (text.get(..start), text.get(start..)) else {
            return nothing;
        };
        let begin = head.rfind('\n').map_or(0, |at| at + 1);
        let end = start + tail.find(['\n', '\r']).unwrap_or(tail.len());
        let before = text[begin..start].chars().count();
        let meant = text.get(start..(start + length).min(end)).unwrap_or("");
        if before > MAX_LINE / 2 || end - begin > MAX_LINE {
            // A long line is shown from what is meant on.
            let line: String = text[start..end].chars().take(MAX_LINE).collect();
            return Self {
                marked: meant.chars().count().clamp(1, MAX_LINE),
                line,
                before: 0,
            };
        }
        Self {
            line: text[begin..end].to_owned(),
            before,
            marked: meant.chars().count().max(1),
        }
    }
}

/// An error with its causes, each told once: many say their cause themselves.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    relief_design::visible(&text).into_owned()
}
