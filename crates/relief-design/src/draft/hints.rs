//! Words of other programs, and what stands for them here.

/// What to write for a word that other programs know; a sentence without its end.
pub(super) fn foreign(word: &str) -> Option<&'static str> {
    HINTS
        .iter()
        .find(|(words, _)| words.contains(&word.to_lowercase().as_str()))
        .map(|(_, hint)| *hint)
}

const HINTS: [(&[&str], &str); 10] = [
    (
        &["rect", "rectangle", "square", "box", "background"],
        "a rectangle is `fill` with x, y, width and height",
    ),
    (&["circle", "dot", "ellipse"], "a circle is `disc`"),
    (&["gradient", "linear"], "a gradient is `ramp`"),
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
        &["tile", "tiles", "grid", "array", "step"],
        "`repeat` copies a node along the axes, `lattice` along any two vectors",
    ),
    (
        &["brightness", "contrast"],
        "brightness and contrast are changed by `levels` within a `map`",
    ),
    (
        &["gaussian", "gauss", "blur", "smooth", "filter"],
        "no node blurs: blur the picture before, or shape edges by `distance` with a `profile`",
    ),
    (
        &["text", "font", "svg", "polygon", "line", "path"],
        "no node draws this: make a picture of it and read that with `image`",
    ),
];
