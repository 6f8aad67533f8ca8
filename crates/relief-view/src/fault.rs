//! Why a request has no answer.

use hyper::StatusCode;
use relief_engine::Error;
use serde_json::json;

/// What is told instead of an answer: a word for programs and a sentence for people.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Fault {
    fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, code, text }
    }

    /// A request that nothing could answer.
    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", text)
    }

    /// What is not there.
    pub(crate) fn missing(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", text)
    }

    /// A host or a page that may not ask.
    pub(crate) fn forbidden(text: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", text)
    }

    /// A method that changes something.
    pub(crate) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            "only GET and HEAD are answered",
        )
    }

    /// A request that is too long.
    pub(crate) fn too_long(text: impl Into<String>) -> Self {
        Self::new(StatusCode::URI_TOO_LONG, "too-long", text)
    }

    /// Samples of a design that has changed.
    pub(crate) fn stale() -> Self {
        Self::new(
            StatusCode::GONE,
            "stale",
            "the design has changed; /api/state has the key of the present one",
        )
    }

    /// Nothing to be computed yet.
    pub(crate) fn loading(text: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "loading", text)
    }

    /// More is asked for than is computed.
    pub(crate) fn busy() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "newer requests came first; ask again",
        )
    }

    /// Samples that are not exact within the cost allowed.
    pub(crate) fn inexact(cost: u64) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "inexact",
            format!(
                "the samples are not exact after computing {cost} samples of the raster; ask for a finer level or a \
                 smaller window, or start the server with a greater --cost"
            ),
        )
    }

    /// The failure of a renderer.
    pub(crate) fn engine(error: &Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Memory { .. } => Self::memory(text),
            Error::Cancelled => Self::new(StatusCode::SERVICE_UNAVAILABLE, "cancelled", text),
            Error::Region { .. } => Self::request(text),
            _ => Self::failed(chain(error)),
        }
    }

    /// More memory than there is.
    pub(crate) fn memory(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "memory", text)
    }

    /// What went wrong inside.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", text)
    }

    pub(crate) fn json(&self) -> String {
        json!({"error": {"code": self.code, "text": relief_design::visible(&self.text)}}).to_string()
    }
}

/// An error with its causes.
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
    text
}
