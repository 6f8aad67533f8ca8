//! What takes the time where lines are not made fast enough.

use std::time::Duration;

use relief_engine::Renderer;
use relief_machine::Progress;

/// Times up to a moment, so that those after it can be told.
pub(super) struct Slow<'a> {
    renderer: &'a Renderer,
    nodes: Vec<Duration>,
    making: Duration,
    reading: Duration,
}

impl<'a> Slow<'a> {
    pub(super) const fn new(renderer: &'a Renderer) -> Self {
        Self {
            renderer,
            nodes: Vec::new(),
            making: Duration::ZERO,
            reading: Duration::ZERO,
        }
    }

    /// What took the most of the time since it was asked last: a node with its line, what is done to its samples, or a
    /// device.
    pub(super) fn part(&mut self, progress: &Progress) -> String {
        let nodes = self.renderer.node_times();
        if progress.making == self.making {
            // Nothing was made since then: the times of the whole job tell.
            (self.making, self.reading) = (Duration::ZERO, Duration::ZERO);
        }
        let since = |(node, now): (usize, &Duration)| {
            let before = self.nodes.get(node).copied().unwrap_or_default();
            now.saturating_sub(before).as_secs_f64()
        };
        let mut spent: Vec<f64> = nodes.iter().enumerate().map(since).collect();
        if spent.iter().all(|time| *time == 0.0) {
            // No tile was timed since then.
            spent = nodes.iter().map(Duration::as_secs_f64).collect();
        }
        let making = progress.making.saturating_sub(self.making).as_secs_f64();
        let reading = progress.reading.saturating_sub(self.reading).as_secs_f64();
        (self.nodes, self.making, self.reading) = (nodes, progress.making, progress.reading);
        if making <= 0.0 {
            return "nothing was made yet".to_owned();
        }
        let share = |part: f64| format!("{:.0} % of the time", 100.0 * part);
        let computing = reading / making;
        let all: f64 = spent.iter().sum();
        let greatest = spent
            .iter()
            .enumerate()
            .max_by(|one, other| one.1.total_cmp(other.1));
        match greatest {
            Some((node, time)) if all > 0.0 && computing * time / all >= 1.0 - computing => {
                let planned = self.renderer.plan().nodes();
                let name = planned.get(node).map_or(String::new(), |node| {
                    format!("`{}` in line {}", node.kind, node.line)
                });
                format!("{name} takes {}", share(computing * time / all))
            }
            None if computing >= 0.5 => {
                let device = self.renderer.plan().device().map(|device| {
                    device
                        .ids
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                });
                let device = device.unwrap_or_else(|| "the raster".to_owned());
                format!("computing on {device} takes {}", share(computing))
            }
            _ => format!("tables, screen and packing take {}", share(1.0 - computing)),
        }
    }
}
