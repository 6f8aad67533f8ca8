//! What a plan says of nodes that the host computes for a device.

use relief_engine::{Options, Plan};

use crate::compare::{canvas, on};
use crate::device::device;

/// The kinds of the nodes of a plan, children first, and what the host copies of each for a band.
type Copied = Vec<(&'static str, Option<u64>)>;

/// What the host copies of every node; the plan of 1 000 × 300 pixels in bands of 50 rows.
fn copied(root: &str, depth: u8) -> Option<(Plan, Copied)> {
    let device = device()?;
    let (design, images) = canvas(1_000, 300, depth, root);
    let options = Options::default().tile((1_024, 50));
    let plan = Plan::new(&design, &images, &on(device, &options)).unwrap();
    assert_eq!((plan.shape().band_width, plan.shape().band_height), (1_000, 50));
    let nodes = plan.nodes();
    let copied = nodes.iter().map(|node| (node.kind, node.by_host)).collect();
    Some((plan, copied))
}

const FORMULA: &str = "formula \"0.5 * a\" { (source)noise seed=3 name=\"a\" }";

/// A row of 1 000 samples lies in 1 008 or 2 000 bytes: a multiple of 16.
#[test]
fn a_plane_of_the_host_is_the_band_in_rows_of_16_bytes() {
    for (depth, row) in [(8, 1_008), (16, 2_000)] {
        let Some((_, nodes)) = copied(FORMULA, depth) else {
            return;
        };
        assert_eq!(nodes, [("noise", Some(0)), ("formula", Some(50 * row))]);
    }
}

#[test]
fn what_a_device_computes_is_not_copied() {
    let root = "gauss sigma=3 { (source)compose { (base)noise seed=1; (add)disc diameter=90 value=9 } }";
    let Some((_, nodes)) = copied(root, 8) else {
        return;
    };
    assert!(nodes.iter().all(|(_, bytes)| bytes.is_none()), "{nodes:?}");
}

/// A polygon is smaller than the band: its box is copied. What is made once, as a picture and a cell, is not computed for each band.
#[test]
fn only_what_is_computed_for_each_band_counts() {
    let root = "compose {
        (base)image \"p3\"
        (max)polygon value=9 origin=\"box\" { vertex 0 0; vertex 60 0; vertex 0 20 }
        (max)repeat step-x=9 { (pattern)polygon value=9 origin=\"box\" { vertex 0 0; vertex 5 0; vertex 0 5 } }
    }";
    let Some((_, nodes)) = copied(root, 8) else {
        return;
    };
    let of = |kind: &str| -> Vec<Option<u64>> {
        let of_kind = nodes.iter().filter(|(name, _)| *name == kind);
        of_kind.map(|(_, bytes)| *bytes).collect()
    };
    assert_eq!(of("image"), [None]);
    assert_eq!(of("repeat"), [None]);
    assert_eq!(of("polygon"), [Some(64 * 20), None]);
}

/// Bands of a strip share a plane that is as high as all of them and the halos around them: each carries its share.
#[test]
fn bands_that_share_a_plane_share_its_bytes() {
    let Some((plan, nodes)) = copied(&format!("gauss sigma=5 {{ (source){FORMULA} }}"), 8) else {
        return;
    };
    let strip = plan.device().unwrap().strip;
    let halo = u64::from(plan.nodes().last().unwrap().children[0].halo);
    assert!(strip > 1 && halo > 0, "{plan:?}");
    let rows = (strip * 50 + 2 * halo).min(300);
    let bytes = (1_008 * rows).div_ceil(strip);
    assert_eq!(
        nodes,
        [("noise", Some(0)), ("formula", Some(bytes)), ("gauss", None)]
    );
}

#[test]
fn on_the_cpu_nothing_is_copied() {
    let (design, images) = canvas(1_000, 300, 8, FORMULA);
    let plan = Plan::new(&design, &images, &Options::default()).unwrap();
    assert!(plan.nodes().iter().all(|node| node.by_host.is_none()));
}
