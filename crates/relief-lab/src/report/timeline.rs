//! When the chunks of a problem were where: a bar for each step of each chunk, a line of them for each queue.

use std::collections::BTreeSet;

use crate::quantity::{digits, seconds};
use crate::record::Timeline;

use super::svg::{Anchor, Svg};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 10.0;

/// A step's bars, and what they are.
const STEPS: [(&str, &str); 3] = [
    ("step up", "to the device"),
    ("step computed", "computed"),
    ("step down", "to the host"),
];

/// The three steps of a queue lie below each other, so that what goes on at once is seen at once.
pub(super) fn timeline(timeline: &Timeline) -> String {
    const THIN: f64 = 9.0;
    const ROW: f64 = 3.0 * THIN + 8.0;
    let spans = &timeline.spans;
    // A line for each queue that there is, whatever its number.
    let queues: BTreeSet<usize> = spans.iter().map(|span| span.queue).collect();
    let line = |queue: usize| queues.range(..queue).count() as f64;
    let end = spans.iter().map(|span| span.times[3]).fold(0.0, f64::max);
    let bottom = ROW * queues.len() as f64 + 6.0;
    let mut svg = Svg::new(WIDTH, bottom + 44.0);
    let part = |time: f64| (time / end.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let at = |time: f64| LEFT + part(time) * (WIDTH - LEFT - RIGHT);
    for queue in &queues {
        let y = ROW * line(*queue) + ROW / 2.0 + 4.0;
        let number = queue.saturating_add(1);
        svg.text("label", Anchor::Start, (4.0, y), &format!("queue {number}"));
    }
    for (number, span) in spans.iter().enumerate() {
        for (step, (pair, (class, what))) in span.times.windows(2).zip(STEPS).enumerate() {
            let place = (at(pair[0]), ROW * line(span.queue) + 4.0 + THIN * step as f64);
            let size = ((at(pair[1]) - at(pair[0])).max(0.7), THIN - 1.0);
            let (number, time, start) = (number + 1, seconds(pair[1] - pair[0]), seconds(pair[0]));
            let tip = format!("chunk {number}, {what}: {time} from {start} on");
            svg.rect(class, place, size, &tip);
        }
    }
    for part in 0..=4_u32 {
        let time = end * f64::from(part) / 4.0;
        svg.line("grid", (at(time), 0.0), (at(time), bottom));
        let anchor = match part {
            0 => Anchor::Start,
            4 => Anchor::End,
            _ => Anchor::Middle,
        };
        let written = if part == 0 { "0".to_owned() } else { seconds(time) };
        svg.text("tick", anchor, (at(time), bottom + 13.0), &written);
    }
    for (step, (class, what)) in STEPS.into_iter().enumerate() {
        let (x, y) = (LEFT + 220.0 * step as f64, bottom + 36.0);
        svg.rect(class, (x, y - 9.0), (10.0, 10.0), what);
        let busy = busy(timeline, step) / end.max(f64::MIN_POSITIVE);
        let text = format!("{what}: {} % of the time", digits(100.0 * busy, 3));
        svg.text("note", Anchor::Start, (x + 16.0, y), &text);
    }
    svg.finish(&format!("{}, {}", timeline.ladder, timeline.name))
}

/// How long some chunk was at a step.
fn busy(timeline: &Timeline, step: usize) -> f64 {
    let pairs = timeline
        .spans
        .iter()
        .map(|span| (span.times[step], span.times[step + 1]));
    let mut pairs: Vec<(f64, f64)> = pairs.collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = 0.0_f64;
    let mut sum = 0.0;
    for (from, to) in pairs {
        sum += (to - from.max(reached)).max(0.0);
        reached = reached.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Span;

    #[test]
    fn what_overlaps_is_counted_once() {
        let span = |queue, times| Span { queue, times };
        let timeline = Timeline {
            spans: vec![
                span(0, [0.0, 4.0, 5.0, 6.0]),
                span(1, [2.0, 5.0, 6.0, 7.0]),
                span(0, [8.0, 9.0, 9.0, 10.0]),
            ],
            ..Timeline::default()
        };
        assert_eq!(busy(&timeline, 0), 6.0);
        assert_eq!(busy(&timeline, 1), 2.0);
        assert_eq!(busy(&timeline, 2), 3.0);
    }
}
