//! Files that are given as a design and are what a design is made of: drawings, pictures, meshes.

use std::path::Path;

use relief_design::SIGNATURES;

/// What a file is, and the word of the node that takes it.
struct Kind {
    what: &'static str,
    node: &'static str,
}

const fn kind(what: &'static str, node: &'static str) -> Kind {
    Kind { what, node }
}

/// By the first bytes; what is text, beside a sign that no design begins with.
const SIGNS: [(&[u8], Kind); 17] = [
    (b"\x89PNG\r\n", kind("a PNG picture", "image")),
    (b"II*\0", kind("a TIFF picture", "image")),
    (b"MM\0*", kind("a TIFF picture", "image")),
    (b"II+\0", kind("a BigTIFF picture", "image")),
    (b"MM\0+", kind("a BigTIFF picture", "image")),
    (b"\xff\xd8\xff", kind("a JPEG picture", "image")),
    (b"P2", kind("a PGM picture", "image")),
    (b"P4", kind("a PBM picture", "image")),
    (b"P5", kind("a PGM picture", "image")),
    (b"P6", kind("a PPM picture", "image")),
    (b"BM", kind("a BMP picture", "image")),
    (b"\x00\x06\x00\x02", kind("a GDSII layout", "gds")),
    (b"%SEMI-OASIS", kind("an OASIS layout", "oasis")),
    (b"<svg", kind("an SVG drawing", "svg")),
    (b"<?xml", kind("an SVG drawing", "svg")),
    (b"G04 ", kind("a Gerber file", "gerber")),
    (b"%FS", kind("a Gerber file", "gerber")),
];

/// By the extension, where the first bytes do not tell.
const EXTENSIONS: [(&[&str], Kind); 7] = [
    (&["gds", "gds2", "gdsii"], kind("a GDSII layout", "gds")),
    (&["oas", "oasis"], kind("an OASIS layout", "oasis")),
    (&["dxf"], kind("a DXF drawing", "dxf")),
    (&["svg"], kind("an SVG drawing", "svg")),
    (&["gbr", "ger", "gtl", "gbl"], kind("a Gerber file", "gerber")),
    (&["stl"], kind("a mesh", "mesh")),
    (
        &[
            "png", "tif", "tiff", "btf", "jpg", "jpeg", "bmp", "pgm", "pbm", "ppm",
        ],
        kind("a picture", "image"),
    ),
];

/// What a file given as a design seems to be, and how a design uses it; `None` where it may be a design.
pub(crate) fn told(path: &Path, bytes: &[u8]) -> Option<String> {
    let name = path.file_name().and_then(std::ffi::OsStr::to_str);
    let extension = path.extension().and_then(std::ffi::OsStr::to_str);
    let extension = extension.map(str::to_ascii_lowercase).unwrap_or_default();
    let signs = SIGNS.iter().find(|(sign, _)| bytes.starts_with(sign));
    let kind = match signs {
        Some((_, kind)) => kind,
        // A design may be called anything.
        None if bytes.windows(7).any(|word| word == b"relief ") => return None,
        None => {
            let known = EXTENSIONS
                .iter()
                .find(|(extensions, _)| extensions.contains(&&*extension));
            &known?.1
        }
    };
    let Kind { what, node } = kind;
    let line = line(node, name.unwrap_or("file"));
    Some(format!(
        "it seems to be {what}; a design is a text that says what is made of it: relief version=1, a canvas, and a line such as {line}; \
         `relief nodes {node}` tells more"
    ))
}

/// How a design draws a file: as the example of the node, with this name.
fn line(node: &str, name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    let signature = SIGNATURES.iter().find(|signature| signature.name == node);
    // Where a picture lies in the example is of no use elsewhere.
    let example = signature
        .map(|signature| signature.example)
        .filter(|_| node != "image");
    let mut parts = example.unwrap_or_default().splitn(3, '"');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(word), Some(_), Some(rest)) => format!("{word}\"{name}\"{rest}"),
        _ => format!("{node} \"{name}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_of_its_node_and_names_the_file() {
        let extensions = EXTENSIONS.iter().map(|(_, kind)| kind);
        for kind in SIGNS.iter().map(|(_, kind)| kind).chain(extensions) {
            assert!(
                SIGNATURES.iter().any(|known| known.name == kind.node),
                "{}",
                kind.node
            );
            let line = line(kind.node, "a \"b\".x");
            assert!(
                line.starts_with(&format!("{} \"a \\\"b\\\".x\"", kind.node)),
                "{line}"
            );
        }
    }

    #[test]
    fn a_design_is_a_design_whatever_it_is_called() {
        let design = b"// a picture\nrelief version=1\n";
        assert_eq!(told(Path::new("a.png"), design), None);
        assert_eq!(told(Path::new("a.kdl"), b"fill value=1"), None);
        assert!(told(Path::new("a.png"), b"").is_some());
        assert!(told(Path::new("a.kdl"), b"\x89PNG\r\n\x1a\n").is_some());
    }
}
