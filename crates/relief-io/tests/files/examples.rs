//! The designs in `examples/`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use relief_design::kinds::Image;
use relief_design::tree::Kind;
use relief_engine::source::ImageSource;
use relief_io::{Files, Limits};
use relief_raster::Rect;

fn designs() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut folders: Vec<PathBuf> = fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.retain(|folder| folder.join("design.kdl").is_file());
    folders.sort();
    folders
}

#[test]
fn every_example_parses_and_its_pictures_read_without_leaving_its_folder() {
    let folders = designs();
    assert!(folders.len() >= 5);
    for folder in folders {
        let files =
            Files::confined(&folder).with_limits(Limits::default().with(|with| with.pixels = 1 << 24));
        let text = fs::read_to_string(folder.join("design.kdl")).unwrap();
        let design = relief_design::parse("design.kdl", &text, &files)
            .unwrap_or_else(|report| panic!("{}: {report:?}", folder.display()));
        for node in design.nodes() {
            let Kind::Image(image) = &node.kind else { continue };
            let Image {
                path,
                conversion,
                width,
                height,
            } = image;
            let mut samples = 0;
            let picture = files.open(path, conversion).unwrap();
            let whole = Rect::sized(*width, *height);
            picture
                .read(whole, design.canvas().depth, &mut |_, row| {
                    samples += row.len() as u64;
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert_eq!(samples, width * height);
        }
    }
}
