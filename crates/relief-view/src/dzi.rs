//! Deep Zoom: <https://learn.microsoft.com/previous-versions/windows/silverlight/dotnet-windows-silverlight/cc645077(v=vs.95)>.
//!
//! Its levels count from a single pixel up, ours from the raster down; tiles are exact or refused.

use std::sync::Arc;

use hyper::header::HeaderValue;
use relief_engine::{OwnedSamples, Statistic};

use crate::answer::{self, Answer};
use crate::fault::Fault;
use crate::queue;
use crate::raster::{TILE, Window, level_size, square};
use crate::request::number;
use crate::routes::{App, Asked, Caching, Reply, Samples};

/// Answers `image.dzi`, `image_files/LEVEL/X_Y.png`, and the same with the key of a design in place of `image`.
pub(crate) async fn reply(
    app: &Arc<App>,
    path: &[&str],
    known: Option<&HeaderValue>,
) -> Result<Reply, Fault> {
    let nothing = || Fault::missing("there are /dzi/image.dzi and its tiles /dzi/image_files/LEVEL/X_Y.png");
    let (name, tile) = match path {
        [name] => (name.strip_suffix(".dzi").ok_or_else(nothing)?, None),
        [name, level, tile] => (
            name.strip_suffix("_files").ok_or_else(nothing)?,
            Some((*level, *tile)),
        ),
        _ => return Err(nothing()),
    };
    // A number, too, is that of whatever is shown there.
    let present = matches!(name, "image" | "0" | "1");
    let scene = app.scene(if name == "image" { "0" } else { name })?;
    let caching = if present {
        Caching::Tag(format!("{}/{}", scene.key, path[1..].join("/")))
    } else {
        Caching::Forever
    };
    let canvas = scene.design.canvas();
    let size = (canvas.width, canvas.height);
    let Some((level, tile)) = tile else {
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" \
             Format=\"png\" Overlap=\"0\" TileSize=\"{TILE}\"><Size Width=\"{}\" Height=\"{}\"/></Image>\n",
            size.0, size.1
        );
        return Ok(Reply::text(text, "application/xml", caching));
    };
    if let Some(reply) = unchanged(&caching, known) {
        return Ok(reply);
    }
    let finest = size.0.max(size.1).next_power_of_two().trailing_zeros();
    let level = number(level)
        .and_then(|level| u32::try_from(level).ok())
        .and_then(|level| finest.checked_sub(level))
        .ok_or_else(|| Fault::missing(format!("there are levels 0 to {finest}")))?;
    let place = tile.strip_suffix(".png").and_then(|tile| tile.split_once('_'));
    let place = place
        .and_then(|(x, y)| Some((number(x)?, number(y)?)))
        .ok_or_else(nothing)?;
    let rect = square(place, TILE, level_size(size, level))
        .ok_or_else(|| Fault::missing("the level has no such tile"))?;
    let asked = Asked {
        what: "dzi",
        window: Window {
            level,
            rect,
            statistic: Statistic::Mean,
        },
        effort: app.cost,
        near: 0,
        exact: true,
        // Samples and the file.
        bytes: 3 * rect.area() as u64 * canvas.depth.bytes(),
    };
    let node = scene.design.root();
    let (width, height) = (rect.width() as u32, rect.height() as u32);
    let make = move |samples: Samples| encode(samples, width, height);
    let answer = app.compute(scene, node, asked, None, make).await?;
    Ok(Reply { answer, caching })
}

/// The reply to a client that has the present answer.
pub(crate) fn unchanged(caching: &Caching, known: Option<&HeaderValue>) -> Option<Reply> {
    let Caching::Tag(tag) = caching else { return None };
    (known?.to_str().ok()? == format!("\"{tag}\""))
        .then(|| Reply::text("", answer::RAW, Caching::Tag(tag.clone())))
}

fn encode(samples: Samples, width: u32, height: u32) -> queue::Outcome {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::Fast);
    let written = match &samples.samples {
        OwnedSamples::Eight(samples) => {
            encoder.set_depth(png::BitDepth::Eight);
            encoder
                .write_header()
                .and_then(|mut writer| writer.write_image_data(samples))
        }
        OwnedSamples::Sixteen(samples) => {
            encoder.set_depth(png::BitDepth::Sixteen);
            let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_be_bytes()).collect();
            encoder
                .write_header()
                .and_then(|mut writer| writer.write_image_data(&bytes))
        }
    };
    written.map_err(|error| Fault::failed(error.to_string()))?;
    Ok(Answer {
        bytes: answer::counted(file, samples.reservation),
        media: "image/png",
        exactness: samples.exactness,
        samples: Some((width.into(), height.into(), 0)),
    })
}
