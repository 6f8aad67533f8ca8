//! The heights of a mesh against those that rays of trimesh meet (`make.py`).

use relief_kernels::mesh::{Index, cpu};
use relief_raster::ViewMut;
use relief_vector::Limits;
use relief_vector::mesh::{Mesh, View};

#[test]
fn heights_are_those_that_rays_of_trimesh_meet() {
    let text = include_bytes!("../../../relief-engine/tests/golden/coin.stl");
    let mesh = Mesh::read(&text[..], Limits::default()).unwrap();
    let [[left, _], [_, top], _] = mesh.bounds().unwrap();
    let view = View {
        scale: 10.0,
        left,
        top,
        low: 0.0,
        high: 0.3,
        max: 65_535,
    };
    let solid = mesh.seen(&view).unwrap();
    let index = Index::new(solid.points().clone(), solid.triangles()).unwrap();
    let mut samples = vec![0_u16; 34 * 34];
    assert_eq!(
        cpu::compute(&index, (0, 0), ViewMut::packed(&mut samples, 34, 34)),
        None
    );
    let mut lines = include_str!("coin.expected").lines();
    assert_eq!(lines.next(), Some("34 34"));
    let heights = lines.flat_map(|line| line.split(' '));
    let mut met = 0;
    for (at, (sample, height)) in samples.iter().zip(heights).enumerate() {
        let (is, height) = (f64::from(*sample) / 65_535.0 * 0.3, height.parse().unwrap_or(0.0));
        met += usize::from(height > 0.0);
        // Corners are rounded to 1/256 px, and the steepest sides rise by 2.
        assert!(
            (is - height).abs() < 5e-4,
            "pixel {at} is {is} mm high, not {height}"
        );
    }
    assert!(met > 850);
}
