//! Zarr 3 with OME-Zarr 0.5: <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html>,
//! <https://ngff.openmicroscopy.org/0.5/>.
//!
//! An array is a level, a chunk is computed when it is asked for. Chunks are exact or refused; one in which everything is 0 is missing, and
//! the reader fills it in. Levels are listed as far as they are exact within the cost that the server allows.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::HeaderValue;
use lru::LruCache;
use relief_engine::{Cancel, Exactness, OwnedSamples, Rect, Renderer, Statistic};
use serde_json::{Value, json};

use crate::answer::{self, Answer};
use crate::dzi::unchanged;
use crate::fault::Fault;
use crate::page::JSON;
use crate::queue::{self, Outcome};
use crate::raster::{Window, level_size, square, zeroed};
use crate::renderers::prefix;
use crate::request::number;
use crate::routes::{App, Caching, Reply};
use crate::scene::Scene;

/// A level has fewer chunks than that, where chunks may be as large as that takes.
const MAX_CHUNKS: u64 = 1 << 20;

/// The smallest and the largest side of a chunk.
const SIDES: (u64, u64) = (256, 4_096);

/// The windows of which the levels are remembered.
const MAX_KNOWN: usize = 64;

/// How many levels of what are exact.
pub(crate) struct Known(Mutex<LruCache<String, u32>>);

impl Default for Known {
    fn default() -> Self {
        let most = std::num::NonZeroUsize::new(MAX_KNOWN).unwrap_or(std::num::NonZeroUsize::MIN);
        Self(Mutex::new(LruCache::new(most)))
    }
}

/// What is served as a group.
#[derive(Clone)]
struct Group {
    scene: Arc<Scene>,
    /// The part of the raster.
    rect: Rect,
    /// The most bytes of a chunk.
    largest: u64,
    cost: u64,
}

/// What of a group is asked for.
enum Item {
    Group,
    Array(u32),
    Chunk(u32, u64, u64),
}

/// Answers `zarr.json`, `LEVEL/zarr.json` and `LEVEL/c/Y/X` under `/zarr`, `/zarr/KEY` and either with `window/X,Y,WxH`.
pub(crate) async fn reply(
    app: &Arc<App>,
    path: &[&str],
    known: Option<&HeaderValue>,
) -> Result<Reply, Fault> {
    let nothing = || Fault::missing("there is no such key in this store");
    let (key, rest) = match path {
        [key, rest @ ..] if key.len() >= 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            (Some(*key), rest)
        }
        rest => (None, rest),
    };
    let scene = app.scene(key.unwrap_or("0"))?;
    let canvas = scene.design.canvas();
    let (rect, rest) = match rest {
        ["window", text, rest @ ..] => (window(text, (canvas.width, canvas.height))?, rest),
        rest => (Rect::sized(canvas.width, canvas.height), rest),
    };
    let level = |text: &str| number(text).and_then(|level| u32::try_from(level).ok());
    let item = match rest {
        ["zarr.json"] => Item::Group,
        [text, "zarr.json"] => Item::Array(level(text).ok_or_else(nothing)?),
        [text, "c", y, x] => Item::Chunk(
            level(text).ok_or_else(nothing)?,
            number(y).ok_or_else(nothing)?,
            number(x).ok_or_else(nothing)?,
        ),
        _ => return Err(nothing()),
    };
    let caching = match key {
        Some(_) => Caching::Forever,
        None => Caching::Tag(format!("{}/{}", scene.key, path.join("/"))),
    };
    if let Some(reply) = unchanged(&caching, known) {
        return Ok(reply);
    }
    let group = Group {
        scene,
        rect,
        largest: app.queue.largest() / 2,
        cost: app.cost,
    };
    let levels = group.levels(app).await?;
    match item {
        Item::Group => Ok(Reply::text(group.json(levels).to_string(), JSON, caching)),
        Item::Array(level) if level < levels => {
            Ok(Reply::text(group.array(level).to_string(), JSON, caching))
        }
        Item::Chunk(level, y, x) if level < levels => {
            let answer = group.chunk(app, level, (x, y)).await?;
            Ok(Reply { answer, caching })
        }
        _ => Err(nothing()),
    }
}

/// `X,Y,WxH` of a raster.
fn window(text: &str, (width, height): (u64, u64)) -> Result<Rect, Fault> {
    let parsed = || {
        let mut parts = text.split(',');
        let (x, y) = (number(parts.next()?)?, number(parts.next()?)?);
        let (w, h) = parts.next()?.split_once('x')?;
        let (w, h) = (number(w)?, number(h)?);
        (parts.next().is_none() && w > 0 && h > 0).then_some(())?;
        (x.checked_add(w)? <= width && y.checked_add(h)? <= height).then_some(())?;
        Rect::new(i64::try_from(x).ok()?, i64::try_from(y).ok()?, w, h)
    };
    parsed().ok_or_else(|| {
        Fault::missing(format!(
            "{:?} is not a window of {width}×{height} pixels; X,Y,WxH is expected, such as 1000,2000,512x512",
            relief_design::visible(text)
        ))
    })
}

impl Group {
    fn size(&self, level: u32) -> (u64, u64) {
        level_size((self.rect.width(), self.rect.height()), level)
    }

    /// All levels there would be: the last is one chunk of the smallest side.
    fn all(&self) -> u32 {
        crate::scene::levels(self.rect.width(), self.rect.height()) + 1
    }

    /// The side of the chunks of a level.
    fn side(&self, level: u32) -> u64 {
        let (width, height) = self.size(level);
        let bytes = self.scene.design.canvas().depth.bytes();
        let fits = |side: u64| side * side * bytes <= self.largest;
        let mut side = SIDES.0;
        while side < SIDES.1
            && width.div_ceil(side).saturating_mul(height.div_ceil(side)) >= MAX_CHUNKS
            && fits(2 * side)
        {
            side *= 2;
        }
        side
    }

    /// How many levels are exact within the cost, as far as their first and their middle chunk tell.
    async fn levels(&self, app: &Arc<App>) -> Result<u32, Fault> {
        let name = format!("{}/{:?}", self.scene.key, self.rect);
        let known = {
            let mut known = app.zarr.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&name).copied()
        };
        if let Some(levels) = known {
            return Ok(levels);
        }
        let group = self.clone();
        let counted = move |renderer: &Renderer, cancel: &Cancel, _| {
            let exact = |level: &u32| group.is_exact(renderer, *level, cancel);
            let mut levels = 0;
            while levels < group.all() && exact(&levels)? {
                levels += 1;
            }
            Ok(Answer {
                bytes: levels.to_string().into(),
                media: JSON,
                exactness: Exactness::Exact,
                samples: None,
            })
        };
        let bytes = 2 * SIDES.0 * SIDES.0 * self.scene.design.canvas().depth.bytes();
        let answer = self.ask(app, "levels", bytes, counted).await?;
        let levels = std::str::from_utf8(&answer.bytes)
            .ok()
            .and_then(|text| text.parse().ok());
        let levels = levels.ok_or_else(|| Fault::failed("the number of levels is none"))?;
        let mut known = app.zarr.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.put(name, levels);
        Ok(levels)
    }

    /// Whether chunks of a level are exact within the cost.
    fn is_exact(&self, renderer: &Renderer, level: u32, cancel: &Cancel) -> Result<bool, Fault> {
        let (side, size) = (self.side(level), self.size(level));
        // So many can be computed one by one.
        let pixels = u128::from(side) << level;
        if pixels * pixels <= u128::from(self.cost) {
            return Ok(true);
        }
        let middle = (size.0 / side / 2, size.1 / side / 2);
        for place in [(0, 0), middle] {
            let Some(rect) = square(place, SIDES.0, size) else {
                continue;
            };
            let window = Window {
                level,
                rect,
                statistic: Statistic::Mean,
            };
            if window.read(renderer, self.cost.into(), cancel)?.1 != Exactness::Exact {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The metadata of the group, with that of its arrays: over HTTP nobody can list them.
    fn json(&self, levels: u32) -> Value {
        let canvas = &self.scene.design.canvas();
        // Micrometres of a pixel; pixels where the design does not say it.
        let pixel = canvas.pixel.map(|pixel| pixel.to_metres() * 1e6);
        let axis = |name: &str| match pixel {
            Some(_) => json!({"name": name, "type": "space", "unit": "micrometer"}),
            None => json!({"name": name, "type": "space"}),
        };
        let datasets: Vec<Value> = (0..levels)
            .map(|level| {
                let side = (level as f64).exp2();
                let scale = pixel.unwrap_or(1.0) * side;
                let shift = pixel.unwrap_or(1.0) * (side - 1.0) / 2.0;
                json!({"path": level.to_string(), "coordinateTransformations": [
                    {"type": "scale", "scale": [scale, scale]},
                    {"type": "translation", "translation": [shift, shift]},
                ]})
            })
            .collect();
        let arrays: serde_json::Map<String, Value> = (0..levels)
            .map(|level| (level.to_string(), self.array(level)))
            .collect();
        json!({
            "zarr_format": 3, "node_type": "group",
            "attributes": {
                "ome": {"version": "0.5", "multiscales": [{
                    "name": "relief", "axes": [axis("y"), axis("x")], "datasets": datasets,
                    "type": "mean", "metadata": {"description": "exact means, rounded once, halves up"},
                }]},
                "relief": {
                    "key": self.scene.key, "levels": levels, "of": self.all(),
                    "window": [self.rect.x(), self.rect.y(), self.rect.width(), self.rect.height()],
                },
            },
            "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": arrays},
        })
    }

    /// The metadata of an array.
    fn array(&self, level: u32) -> Value {
        let ((width, height), side) = (self.size(level), self.side(level));
        let bits = self.scene.design.canvas().depth.bits();
        let codec = match bits {
            8 => json!({"name": "bytes"}),
            _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        };
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [height, width], "data_type": format!("uint{bits}"),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [side, side]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0, "codecs": [codec], "dimension_names": ["y", "x"], "attributes": {},
        })
    }

    /// A chunk, filled up with zeros where it leaves the level.
    async fn chunk(&self, app: &Arc<App>, level: u32, place: (u64, u64)) -> Result<Answer, Fault> {
        let side = self.side(level);
        let rect = square(place, side, self.size(level))
            .ok_or_else(|| Fault::missing("the level has no such chunk"))?;
        let (bits, cost) = (self.scene.design.canvas().depth.bits(), self.cost);
        let make = move |renderer: &Renderer, cancel: &Cancel, reservation| {
            let window = Window {
                level,
                rect,
                statistic: Statistic::Mean,
            };
            let empty = || Fault::missing("all samples of this chunk are 0, the fill value");
            if level == 0 && renderer.bounds(rect).is_ok_and(|(_, greatest)| greatest == 0) {
                return Err(empty());
            }
            let samples = match window.exact(renderer, cost, cancel)? {
                OwnedSamples::Eight(samples) if samples.iter().all(|sample| *sample == 0) => {
                    return Err(empty());
                }
                OwnedSamples::Sixteen(samples) if samples.iter().all(|sample| *sample == 0) => {
                    return Err(empty());
                }
                OwnedSamples::Eight(samples) => OwnedSamples::Eight(padded(samples, rect, side)?),
                OwnedSamples::Sixteen(samples) => OwnedSamples::Sixteen(padded(samples, rect, side)?),
            };
            Ok(Answer {
                bytes: answer::little_endian(samples, reservation),
                media: answer::RAW,
                exactness: Exactness::Exact,
                samples: Some((side, side, bits)),
            })
        };
        let what = format!("zarr/{level}/{}/{}", place.0, place.1);
        // What is computed, and what is sent.
        let bytes = 2 * side * side * u64::from(bits) / 8;
        self.ask(app, &what, bytes, make).await
    }

    /// Has something made of the renderer of this part by the queue.
    async fn ask(
        &self,
        app: &Arc<App>,
        what: &str,
        bytes: u64,
        make: impl FnOnce(&Renderer, &Cancel, answer::Reservation) -> Outcome + Send + 'static,
    ) -> Outcome {
        let (scene, rect) = (Arc::clone(&self.scene), self.rect);
        let node = scene.design.root();
        let key = format!("{}{what}/{rect:?}", prefix(&scene.key, node));
        let renderers = Arc::clone(&app.renderers);
        let work = move |cancel: &Cancel, reservation| {
            let renderer = renderers.get(&scene, node, &mut |_| (), cancel)?;
            let part = renderer.part(rect).map_err(|error| Fault::engine(&error))?;
            make(&part, cancel, reservation)
        };
        let stamp = {
            let mut viewports = app.viewports.lock().unwrap_or_else(PoisonError::into_inner);
            viewports.stamp(None)
        };
        let request = queue::Request {
            key,
            stamp,
            slow: true,
            bytes,
            work: Box::new(work),
        };
        app.queue.submit(request).answer().await
    }
}

/// Samples of a square of which only `rect` is in the raster; its corner is the square's.
fn padded<S: Copy + Default>(samples: Vec<S>, rect: Rect, side: u64) -> Result<Vec<S>, Fault> {
    if (rect.width(), rect.height()) == (side, side) {
        return Ok(samples);
    }
    let (columns, side) = (rect.width() as usize, side as usize);
    let mut square = zeroed(side * side)?;
    for (row, to) in samples.chunks_exact(columns).zip(square.chunks_exact_mut(side)) {
        to[..columns].copy_from_slice(row);
    }
    Ok(square)
}
