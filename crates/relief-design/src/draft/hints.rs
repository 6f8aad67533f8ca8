//! What problems say of node kinds by their names: which of them helps, and what stands for a word of other programs.
//!
//! Sentences and parts of sentences; no check depends on them.

/// A node that stands in any role.
pub(crate) const EXAMPLE_NODE: &str = "fill";

/// Nodes that a design often begins with, where no word is near to what was written.
pub(super) const SOME_NODES: [&str; 6] = ["fill", "image", "text", "repeat", "compose", "map"];

/// Where the list of all nodes is; the end of a sentence.
pub(super) const ALL_NODES: &str = "`relief nodes` lists all of them";

/// A root.
pub(crate) const EXAMPLE_ROOT: &str = "fill value=128";

/// What takes several nodes in one role.
pub(crate) const MANY_NODES: &str = "`compose` folds any number of nodes";

/// What makes one node of several.
pub(crate) const ONE_NODE: &str = "`compose` folds nodes into one";

/// What makes one node of the several of a definition.
pub(crate) const ONE_DEFINITION: &str = "`compose` folds several into one";

/// What makes one root of several.
pub(crate) const ONE_ROOT: &str = "fold them into one with `compose`, or name one with `define`";

/// What moves a root.
pub(crate) const MOVED_ROOT: &str = "put it into a `compose` to move it";

/// What takes nodes on one level.
pub(crate) const FEWER_LEVELS: &str = "leave levels out: a `compose` takes any number of children";

/// What draws many copies as one node.
pub(crate) const FEWER_NODES: &str = "draw repetitions with `repeat` or `lattice`";

/// What to write for a word that other programs know; a sentence without its end.
pub(super) fn foreign(word: &str) -> Option<&'static str> {
    HINTS
        .iter()
        .find(|(words, _)| words.contains(&word.to_lowercase().as_str()))
        .map(|(_, hint)| *hint)
}

/// Where a word belongs that is none of these; a sentence without its end.
pub(super) fn word_elsewhere(word: &str, words: &[&str]) -> Option<&'static str> {
    let diffusions = ["floyd-steinberg", "jarvis", "stucki", "atkinson"];
    let is_diffusion = diffusions.contains(&word) || word == "error-diffusion";
    (is_diffusion && !words.contains(&diffusions[0])).then_some(
        "error diffusion is of whole lines: write it into the `scan`, as halftone \"floyd-steinberg\", or give it to `relief render` as --halftone",
    )
}

const HINTS: [(&[&str], &str); 22] = [
    (
        &["rect", "square", "background"],
        "a rectangle of whole pixels is `fill` with x, y, width and height, any other `rectangle`",
    ),
    (
        &["circle", "dot"],
        "a circle is `disc`, or `ellipse` with smooth edges",
    ),
    (
        &[
            "linear",
            "radial",
            "conical",
            "conic",
            "vignette",
            "lineargradient",
            "radialgradient",
        ],
        "`gradient` changes along a line, from a centre outwards or around it; `ramp` from the first pixel to the last",
    ),
    (&["random", "grain"], "random samples are `noise`"),
    (
        &["group", "layer", "layers", "merge", "overlay", "blend", "stack"],
        "`compose` folds nodes into one",
    ),
    (
        &["picture", "photo", "bitmap", "img", "png", "tiff"],
        "a picture is `image`",
    ),
    (
        &["tile", "tiles", "grid", "step"],
        "`repeat` copies a node along the axes, `lattice` along any two vectors",
    ),
    (
        &["lighten", "darken", "exposure"],
        "a `map` changes samples by `brightness`, `contrast`, `levels` and others",
    ),
    (
        &["gaussian", "blur", "smooth", "filter"],
        "`gauss` blurs: gauss sigma=2 { (source)image \"photo.png\" }",
    ),
    (
        &["denoise", "despeckle", "smart-blur"],
        "`median` removes specks, `bilateral` evens out what differs little",
    ),
    (
        &["unsharp", "unsharp-mask", "usm", "clarity"],
        "`sharpen` makes edges stand out: sharpen sigma=2 amount=0.8 { (source)image \"photo.png\" }",
    ),
    (
        &[
            "edges",
            "edge-detect",
            "prewitt",
            "scharr",
            "laplace",
            "emboss",
            "kernel",
            "convolution",
        ],
        "`sobel` shows slopes, and `convolve` takes any kernel of whole numbers",
    ),
    (
        &["adaptive-threshold", "binarize", "binarise", "niblack", "sauvola"],
        "`local-threshold` compares with what lies around: local-threshold radius=20 method=\"sauvola\" { (source)image \"page.png\" }",
    ),
    (
        &[
            "erosion",
            "dilation",
            "opening",
            "closing",
            "minimum",
            "maximum",
            "tophat",
            "white-tophat",
            "black-tophat",
            "bottom-hat",
        ],
        "these are `erode`, `dilate`, `open`, `close` and `top-hat`",
    ),
    (
        &["scale", "resample", "zoom", "shrink", "enlarge", "thumbnail"],
        "`resize` makes a source larger or smaller: resize width=800 height=600 { (source)image \"photo.png\" }",
    ),
    (
        &[
            "rotate",
            "rotation",
            "skew",
            "shear",
            "transform",
            "warp-affine",
            "warpaffine",
        ],
        "`affine` turns by any angle, scales and shears: affine angle=30 { (source)image \"photo.png\" }; `turn` turns by quarters",
    ),
    (
        &[
            "autolevels",
            "auto-levels",
            "stretch",
            "normalize",
            "autocontrast",
        ],
        "`normalise` stretches samples over all levels, `equalise` spreads them evenly",
    ),
    (
        &["percentile", "rank-filter", "quantile"],
        "`rank` takes a sample by its place among those around",
    ),
    (
        &["clouds", "turbulence", "simplex", "fractal", "fbm"],
        "`perlin` is smooth noise: perlin seed=1 size=40 octaves=4",
    ),
    (
        &["voronoi", "cellular", "cells", "mosaic"],
        "`worley` makes cells around random points: worley seed=1 size=40 of=\"cell\"",
    ),
    (
        &[
            "halftone",
            "bayer",
            "blue-noise",
            "screen",
            "ordered-dither",
            "raster-screen",
        ],
        "`dither` makes grays of dots: dither \"bayer\" size=8 { (source)image \"photo.png\" }",
    ),
    (
        &["polyline", "stroke", "curve", "spline", "bezier"],
        "`line` draws lines between places, `path` curves in the words of SVG",
    ),
];
