//! The page: files of our own, in the program.

use crate::routes::{Caching, Reply};

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal = $file:literal, $media:expr;)*) => {
        /// Path, content and media type of each.
        const FILES: &[(&str, &str, &str)] = &[
            $(($path, include_str!(concat!("../assets/", $file)), $media),)*
        ];
    };
}

files! {
    "/" = "index.html", HTML;
    "/style.css" = "style.css", CSS;
    "/icon.svg" = "icon.svg", SVG;
    "/main.js" = "main.js", SCRIPT;
    "/camera.js" = "camera.js", SCRIPT;
    "/tiles.js" = "tiles.js", SCRIPT;
    "/assembly.js" = "assembly.js", SCRIPT;
    "/shading.js" = "shading.js", SCRIPT;
    "/ramps.js" = "ramps.js", SCRIPT;
    "/gl.js" = "gl.js", SCRIPT;
    "/flat.js" = "flat.js", SCRIPT;
    "/panels.js" = "panels.js", SCRIPT;
    "/words.js" = "words.js", SCRIPT;
}

/// A file of the page.
pub(crate) fn reply(path: &str) -> Option<Reply> {
    let (_, content, media) = FILES.iter().find(|(name, ..)| *name == path)?;
    Some(Reply::text(*content, media, Caching::Never))
}
