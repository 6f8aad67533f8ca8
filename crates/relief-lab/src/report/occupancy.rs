//! How fast a kernel is by the size of its cubes and by how many warps are resident: a field for each, the darker the faster.

use crate::families::occupancy::Limits;
use crate::quantity::{bytes, digits, seconds};

use super::{Section, variants};
use super::svg::{Anchor, Svg};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 120.0;
const TOP: f64 = 24.0;
const HIGH: f64 = 44.0;

/// The ladders that it is for: those of the family.
pub(super) fn is_of(section: &Section<'_>) -> bool {
    section.ladder.starts_with("occupancy/")
}

/// Rows are sizes of cubes, columns resident warps; a field says what part of the fastest one's throughput was reached, and by how much
/// shared memory the warps were made so many. `driver` tells the device's limits.
pub(super) fn fields(section: &Section<'_>, driver: &str) -> Option<String> {
    let limits = Limits::of_driver(driver);
    let rows = || section.cases.iter().flat_map(|case| case.rows.iter().copied());
    let variants = variants(rows().filter(|row| row.summary.is_some()));
    let fastest = rows().filter_map(|row| row.throughput()).fold(0.0, f64::max);
    if variants.is_empty() || fastest <= 0.0 {
        return None;
    }
    let wide = (WIDTH - LEFT) / section.cases.len() as f64;
    let mut svg = Svg::new(WIDTH, TOP + HIGH * variants.len() as f64 + 26.0);
    for (y, first) in variants.iter().enumerate() {
        let variant = &first.variant;
        let top = TOP + HIGH * y as f64;
        svg.text(
            "label",
            Anchor::End,
            (LEFT - 8.0, top + HIGH / 2.0 + 4.0),
            variant,
        );
        for (x, case) in section.cases.iter().enumerate() {
            let Some(row) = case.rows.iter().find(|row| row.variant == *variant) else {
                continue;
            };
            let left = LEFT + wide * x as f64;
            let middle = left + wide / 2.0;
            let Some((time, throughput)) = row.time().zip(row.throughput()) else {
                svg.text("note", Anchor::Middle, (middle, top + HIGH / 2.0 + 4.0), "–");
                continue;
            };
            let part = throughput / fastest;
            let warps = row.place.unwrap_or(0.0) as u32;
            let units = variant.rsplit(' ').next().and_then(|units| units.parse().ok());
            let shared = units.and_then(|units| limits.shared_for(warps, units));
            let shared = shared.map_or(String::new(), |shared| bytes(shared.into()));
            let tip = format!(
                "{variant}, {warps} warps resident by {shared} of shared memory a cube: {}",
                seconds(time)
            );
            // Ten steps of shade.
            let class = format!("field f{}", ((part * 10.0).ceil() as u32).clamp(1, 10));
            svg.rect(&class, (left + 1.0, top + 1.0), (wide - 2.0, HIGH - 2.0), &tip);
            let text = format!("{} %", digits(100.0 * part, 3));
            svg.text("value", Anchor::Middle, (middle, top + 19.0), &text);
            svg.text("small", Anchor::Middle, (middle, top + 35.0), &shared);
        }
    }
    for (x, case) in section.cases.iter().enumerate() {
        let warps = case.rows.first().and_then(|row| row.place).unwrap_or(0.0);
        let place = (LEFT + wide * (x as f64 + 0.5), TOP - 8.0);
        svg.text("tick", Anchor::Middle, place, &format!("{warps:.0}"));
    }
    svg.text("tick", Anchor::End, (LEFT - 8.0, TOP - 8.0), "resident warps");
    let note = "part of the fastest throughput; below it the shared memory of a cube that leaves room for so many warps";
    let bottom = TOP + HIGH * variants.len() as f64 + 17.0;
    svg.text("note", Anchor::Start, (LEFT, bottom), note);
    Some(svg.finish(&format!("{} by cubes and resident warps", section.ladder)))
}
