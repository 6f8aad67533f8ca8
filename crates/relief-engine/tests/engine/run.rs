//! From a design and options to samples, by every way that the engine offers.

use relief_design::Design;
use relief_engine::{Cancel, Error, ImageSource, Options, Plan, Rect, Renderer, SamplesMut, Sink};

use crate::collect::Collect;
use crate::oracle::model::Model;
use crate::pictures::Pictures;

/// The design of a model.
pub(crate) fn design(model: &Model) -> Design {
    let pictures = Pictures(model.pictures.clone());
    let text = model.text();
    relief_design::parse("test.kdl", &text, &pictures)
        .unwrap_or_else(|report| panic!("{:#?}\n{text}", report.problems()))
}

/// The design of a text without pictures.
pub(crate) fn parse(text: &str) -> Design {
    parse_with(text, &Pictures::default())
}

/// The design of a text that names pictures.
pub(crate) fn parse_with(text: &str, pictures: &Pictures) -> Design {
    relief_design::parse("test.kdl", text, pictures)
        .unwrap_or_else(|report| panic!("{:#?}\n{text}", report.problems()))
}

pub(crate) fn renderer(design: &Design, images: &dyn ImageSource, options: &Options) -> Renderer {
    let plan = Plan::new(design, images, options).unwrap();
    Renderer::new(plan, images, &Cancel::new()).unwrap()
}

/// The raster, streamed into a sink.
pub(crate) fn rendered(renderer: &Renderer) -> Result<Vec<u16>, Error> {
    let mut sink = Collect::default();
    let (mut last, raster) = (0, renderer.plan().raster());
    let total = u128::from(raster.width) * u128::from(raster.height);
    renderer.render(
        &mut sink,
        &mut |progress| {
            assert!(progress.done > last && progress.total == total, "{progress:?}");
            last = progress.done;
        },
        &Cancel::new(),
    )?;
    assert_eq!(last, total, "the last progress is the whole");
    assert_eq!(sink.bands as u128, renderer.plan().bands());
    assert!(sink.finished);
    Ok(sink.samples)
}

/// The raster, band by band.
pub(crate) fn banded(renderer: &Renderer) -> Result<Vec<u16>, Error> {
    let mut sink = Collect::default();
    sink.begin(&renderer.plan().raster()).unwrap();
    for band in renderer.bands(&Cancel::new()) {
        sink.take(&band?.as_band());
    }
    sink.finish().unwrap();
    Ok(sink.samples)
}

/// A window of the streamed raster.
pub(crate) fn window(renderer: &Renderer, window: Rect) -> Result<Vec<u16>, Error> {
    let area = usize::try_from(window.area()).unwrap();
    let cancel = Cancel::new();
    if renderer.plan().depth().bits() == 8 {
        let mut samples = vec![0xA5_u8; area];
        renderer.read(window, SamplesMut::Eight(&mut samples), &cancel)?;
        Ok(samples.into_iter().map(u16::from).collect())
    } else {
        let mut samples = vec![0xA5A5_u16; area];
        renderer.read(window, SamplesMut::Sixteen(&mut samples), &cancel)?;
        Ok(samples)
    }
}

/// The part of a raster of this width.
pub(crate) fn part(raster: &[u16], width: u64, part: Rect) -> Vec<u16> {
    (part.y()..part.bottom())
        .flat_map(|y| {
            let start = y as usize * width as usize;
            raster[start + part.x() as usize..start + part.right() as usize].to_vec()
        })
        .collect()
}
