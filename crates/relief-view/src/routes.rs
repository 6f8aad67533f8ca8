//! From a request to its answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use relief_design::NodeId;
use relief_engine::{Effort, Exactness, Statistic};
use tokio::sync::watch;

use crate::answer::{self, Answer};
use crate::body::Body;
use crate::fault::Fault;
use crate::queue::{self, Queue};
use crate::raster::{TILE, Window, level_size, square, statistic};
use crate::renderers::{Renderers, prefix};
use crate::request::{Guard, MAX_TARGET, Query, Viewports, number};
use crate::scene::{Scene, levels};
use crate::stage::Stage;
use crate::{dzi, events, page, why, zarr};

/// What the page asks first for a tile: samples of the raster to be computed, which takes some milliseconds.
const EFFORT: u64 = 1 << 20;

/// With more, a request may take long.
const SLOW: u64 = 1 << 23;

/// The most samples of one request.
const MAX_SAMPLES: u64 = 1 << 24;

/// How long a client that was sent away waits, in seconds.
const RETRY: HeaderValue = HeaderValue::from_static("1");

/// The page takes nothing from anywhere else, and stands in no other page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// What is proved of samples: `exact`, or `within 3` levels of gray.
const EXACTNESS: HeaderName = HeaderName::from_static("relief-exactness");

/// Columns, rows and bits of samples.
const SAMPLES: HeaderName = HeaderName::from_static("relief-samples");

/// All that answers.
pub(crate) struct App {
    pub(crate) guard: Guard,
    pub(crate) stage: Stage,
    pub(crate) queue: Arc<Queue>,
    pub(crate) renderers: Arc<Renderers>,
    pub(crate) viewports: Mutex<Viewports>,
    pub(crate) job: watch::Sender<String>,
    pub(crate) zarr: zarr::Known,
    /// The most samples computed for an answer that must be exact.
    pub(crate) cost: u64,
}

/// How long an answer holds.
pub(crate) enum Caching {
    /// For good: its address names the samples.
    Forever,
    /// Until it is another one, which this tells.
    Tag(String),
    /// It is asked for again.
    Never,
}

/// An answer before it is one.
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) caching: Caching,
}

impl Reply {
    /// Text that is there.
    pub(crate) fn text(text: impl Into<Bytes>, media: &'static str, caching: Caching) -> Self {
        let answer = Answer {
            bytes: text.into(),
            media,
            exactness: Exactness::Exact,
            samples: None,
        };
        Self { answer, caching }
    }
}

/// Answers a request, whatever it is.
pub(crate) async fn respond(app: Arc<App>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let origin = app.guard.allowed(request.headers()).cloned();
    let mut response = match answered(&app, &request).await {
        Ok(response) => response,
        Err(fault) => refused(&fault),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let across = if origin.is_some() {
        "cross-origin"
    } else {
        "same-origin"
    };
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static(across));
    headers.insert(
        "cross-origin-opener-policy",
        HeaderValue::from_static("same-origin"),
    );
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("relief-exactness, relief-samples, etag"),
        );
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    Ok(response)
}

fn refused(fault: &Fault) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from(fault.json())));
    *response.status_mut() = fault.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page::JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if fault.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, RETRY);
    }
    if fault.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

async fn answered(app: &Arc<App>, request: &Request<Incoming>) -> Result<Response<Body>, Fault> {
    app.guard.check(request.headers())?;
    if request.method() == Method::OPTIONS && app.guard.allowed(request.headers()).is_some() {
        return Ok(preflight());
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Fault::method());
    }
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |target| target.as_str());
    if target.len() > MAX_TARGET {
        return Err(Fault::too_long(format!(
            "a path with its query has at most {MAX_TARGET} bytes"
        )));
    }
    let (path, query) = (request.uri().path(), Query::new(request.uri().query()));
    if path == "/api/events" {
        return Ok(listening(app));
    }
    let tag = request.headers().get(IF_NONE_MATCH);
    let reply = routed(app, path, &query, request.headers()).await?;
    Ok(sent(reply, tag))
}

/// What a page of another asks before it asks.
fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD"),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("range, if-none-match"),
    );
    response
}

fn listening(app: &App) -> Response<Body> {
    let mut response = Response::new(events::stream(app.stage.state(), app.job.subscribe()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The response of a reply; without its bytes where the client has them.
fn sent(reply: Reply, known: Option<&HeaderValue>) -> Response<Body> {
    let Reply { answer, caching } = reply;
    let (control, tag) = match caching {
        Caching::Forever => ("public, max-age=31536000, immutable", None),
        Caching::Tag(tag) => ("no-cache", HeaderValue::from_str(&format!("\"{tag}\"")).ok()),
        Caching::Never => ("no-store", None),
    };
    let same = tag.is_some() && known == tag.as_ref();
    let mut response = Response::new(if same {
        Body::empty()
    } else {
        Body::from(answer.bytes)
    });
    if same {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(control));
    if let Some(tag) = tag {
        headers.insert(ETAG, tag);
    }
    if let Some((width, height, bits)) = answer.samples {
        let said = match answer.exactness {
            Exactness::Exact => "exact".to_owned(),
            Exactness::Within(levels) => format!("within {levels}"),
        };
        for (name, value) in [(EXACTNESS, said), (SAMPLES, format!("{width}x{height}x{bits}"))] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
    }
    response
}

async fn routed(app: &Arc<App>, path: &str, query: &Query<'_>, headers: &HeaderMap) -> Result<Reply, Fault> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["api", "state"] => Ok(Reply::text(
            app.stage.state().borrow().clone(),
            page::JSON,
            Caching::Never,
        )),
        ["api", "job"] => Ok(Reply::text(app.job.borrow().clone(), page::JSON, Caching::Never)),
        ["tile", key, node, figure, level, x, y] => tile(app, [key, node, figure, level, x, y], query).await,
        ["raw"] => raw(app, query).await,
        ["why"] => why::reply(app, query).await,
        ["zarr", ref rest @ ..] => zarr::reply(app, rest, headers.get(IF_NONE_MATCH)).await,
        ["dzi", ref rest @ ..] => dzi::reply(app, rest, headers.get(IF_NONE_MATCH)).await,
        _ => page::reply(path).ok_or_else(|| {
            Fault::missing("there is nothing of this path; docs/viewer.md lists what there is")
        }),
    }
}

impl App {
    /// The design of a key or number.
    pub(crate) fn scene(&self, text: &str) -> Result<Arc<Scene>, Fault> {
        self.stage.scene(text).ok_or_else(|| {
            if self.stage.is_loading() {
                Fault::loading("the design is being read; ask again")
            } else {
                Fault::stale()
            }
        })
    }

    /// Has a window of a node computed by the queue; `make` turns its samples into an answer. At most `effort` samples of the raster are
    /// looked at. `what` tells requests apart that differ in nothing else, `bytes` is what the answer takes.
    pub(crate) async fn compute(
        self: &Arc<Self>,
        scene: Arc<Scene>,
        node: NodeId,
        asked: Asked,
        viewport: Option<&str>,
        make: impl FnOnce(Samples) -> queue::Outcome + Send + 'static,
    ) -> queue::Outcome {
        if asked.bytes > self.queue.largest() {
            return Err(Fault::request(format!(
                "the answer has {} bytes, {} are allowed; ask for a smaller window, or start the server with more --memory",
                asked.bytes,
                self.queue.largest()
            )));
        }
        let Window {
            level,
            rect,
            statistic,
        } = asked.window;
        let key = format!(
            "{}{}/{level}/{}/{},{},{}x{}/{}/{}",
            prefix(&scene.key, node),
            asked.what,
            name(statistic),
            rect.x(),
            rect.y(),
            rect.width(),
            rect.height(),
            asked.effort,
            asked.near
        );
        let stamp = {
            let mut viewports = self.viewports.lock().unwrap_or_else(PoisonError::into_inner);
            viewports.stamp(viewport)
        };
        let renderers = Arc::clone(&self.renderers);
        // Where nodes are prepared first, that may take long.
        let slow = asked.effort > SLOW && level > 0 || !renderers.is_made(&scene, node);
        let work = move |cancel: &relief_engine::Cancel, reservation| {
            let renderer = renderers.get(&scene, node, &mut |_| (), cancel)?;
            let effort = Effort::new(asked.effort).near(asked.near);
            let (samples, exactness) = asked.window.read(&renderer, effort, cancel)?;
            if asked.exact && exactness != Exactness::Exact {
                return Err(Fault::inexact(asked.effort));
            }
            drop(renderer);
            make(Samples {
                samples,
                exactness,
                reservation,
            })
        };
        let request = queue::Request {
            key,
            stamp,
            slow,
            bytes: asked.bytes,
            work: Box::new(work),
        };
        self.queue.submit(request).answer().await
    }
}

/// What is to be computed.
pub(crate) struct Asked {
    pub(crate) what: &'static str,
    pub(crate) window: Window,
    pub(crate) effort: u64,
    /// What is known within so many of its value is left as it is, where not all is exact with this effort.
    pub(crate) near: u16,
    /// Whether anything else is refused.
    pub(crate) exact: bool,
    pub(crate) bytes: u64,
}

/// What was computed.
pub(crate) struct Samples {
    pub(crate) samples: relief_engine::OwnedSamples,
    pub(crate) exactness: Exactness,
    pub(crate) reservation: answer::Reservation,
}

/// Samples as they are.
fn plain(rect: relief_engine::Rect, bits: u32) -> impl FnOnce(Samples) -> queue::Outcome + Send {
    move |samples| {
        Ok(Answer {
            bytes: answer::little_endian(samples.samples, samples.reservation),
            media: answer::RAW,
            exactness: samples.exactness,
            samples: Some((rect.width(), rect.height(), bits)),
        })
    }
}

const fn name(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::Mean => "mean",
        Statistic::Least => "least",
        Statistic::Greatest => "greatest",
    }
}

pub(crate) fn node_of(scene: &Scene, text: &str) -> Result<NodeId, Fault> {
    scene
        .node(text)
        .ok_or_else(|| Fault::missing(format!("the design has no node {}", relief_design::visible(text))))
}

fn statistic_of(text: &str) -> Result<Statistic, Fault> {
    statistic(text).ok_or_else(|| {
        Fault::request(format!(
            "{:?} is not a statistic; there are mean, min and max",
            relief_design::visible(text)
        ))
    })
}

/// A tile of a level: of 256 × 256 samples, fewer at the right and the bottom.
async fn tile(app: &Arc<App>, parts: [&str; 6], query: &Query<'_>) -> Result<Reply, Fault> {
    let [key, node, figure, level, x, y] = parts;
    let scene = app.scene(key)?;
    let node = node_of(&scene, node)?;
    let statistic = statistic_of(figure)?;
    let whole = |text: &str, what: &str| {
        number(text).ok_or_else(|| Fault::request(format!("the {what} of a tile is a whole number")))
    };
    let place = (whole(x, "column")?, whole(y, "row")?);
    let size = (scene.design.node(node).width, scene.design.node(node).height);
    let coarsest = levels(size.0, size.1);
    let level = whole(level, "level")?;
    let level = u32::try_from(level)
        .ok()
        .filter(|level| *level <= coarsest)
        .ok_or_else(|| Fault::missing(format!("there is no level {level}; the coarsest is {coarsest}")))?;
    let rect = square(place, TILE, level_size(size, level))
        .ok_or_else(|| Fault::missing("the level has no such tile"))?;
    let depth = scene.design.canvas().depth;
    let effort = query.number("effort", Some(EFFORT))?;
    // A part of the greatest sample.
    let near = match query.number("near", Some(0))? {
        0 => 0,
        parts => (u64::from(depth.max()) / parts) as u16,
    };
    let asked = Asked {
        what: "tile",
        window: Window {
            level,
            rect,
            statistic,
        },
        effort,
        near,
        exact: false,
        bytes: rect.area() as u64 * depth.bytes(),
    };
    let answer = app
        .compute(scene, node, asked, query.get("view"), plain(rect, depth.bits()))
        .await?;
    let caching = match answer.exactness {
        // A number names another design tomorrow.
        Exactness::Exact if key.len() > 1 => Caching::Forever,
        _ => Caching::Never,
    };
    Ok(Reply { answer, caching })
}

/// Any window, exactly.
async fn raw(app: &Arc<App>, query: &Query<'_>) -> Result<Reply, Fault> {
    let design = query.get("design").unwrap_or("0");
    let scene = app.scene(design)?;
    let node = node_of(&scene, query.get("node").unwrap_or("root"))?;
    let statistic = statistic_of(query.get("statistic").unwrap_or("mean"))?;
    let level = query.number("level", Some(0))?;
    let level = u32::try_from(level)
        .ok()
        .filter(|level| *level <= relief_engine::MAX_LEVEL)
        .ok_or_else(|| {
            Fault::missing(format!(
                "there is no level {level}; the coarsest is {}",
                relief_engine::MAX_LEVEL
            ))
        })?;
    let size = level_size(
        (scene.design.node(node).width, scene.design.node(node).height),
        level,
    );
    let [x, y, width, height] = ["x", "y", "w", "h"].map(|name| query.number(name, None));
    let (x, y, width, height) = (x?, y?, width?, height?);
    let inside = |from: u64, length: u64, whole: u64| {
        length > 0 && from.checked_add(length).is_some_and(|end| end <= whole)
    };
    if !inside(x, width, size.0) || !inside(y, height, size.1) {
        return Err(Fault::request(format!(
            "{width}×{height} samples at {x},{y} do not lie in the {}×{} of level {level}",
            size.0, size.1
        )));
    }
    if width.saturating_mul(height) > MAX_SAMPLES {
        return Err(Fault::request(format!(
            "{width}×{height} are more than {MAX_SAMPLES} samples; ask for several windows"
        )));
    }
    let rect = relief_engine::Rect::new(x.cast_signed(), y.cast_signed(), width, height)
        .ok_or_else(|| Fault::request("the window is too far out"))?;
    let depth = scene.design.canvas().depth;
    let asked = Asked {
        what: "raw",
        window: Window {
            level,
            rect,
            statistic,
        },
        effort: app.cost,
        near: 0,
        exact: true,
        bytes: rect.area() as u64 * depth.bytes(),
    };
    let answer = app
        .compute(scene, node, asked, query.get("view"), plain(rect, depth.bits()))
        .await?;
    let caching = if design.len() > 1 {
        Caching::Forever
    } else {
        Caching::Never
    };
    Ok(Reply { answer, caching })
}
