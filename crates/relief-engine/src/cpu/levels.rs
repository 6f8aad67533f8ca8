//! Figures of blocks: from what is known, and where that does not do from samples.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use relief_raster::{Rect, Sample, View};

use super::known::Asked;
use super::{Cpu, zeroed};
use crate::Error;
use crate::cancel::Cancel;
use crate::error::caught;
use crate::levels::{Exactness, LEAF, Statistic, direct, refine};
use crate::node::Summary;

impl<S: Sample> Cpu<S> {
    /// What is known of `rect`, in coordinates of the streamed raster, after computing at most `effort` of its samples.
    pub(crate) fn summary(
        &self,
        rect: Rect,
        statistic: Statistic,
        effort: u64,
        cancel: &Cancel,
    ) -> Result<Summary, Error> {
        caught(rect, || {
            self.kept
                .workers
                .run(|| self.refined(rect, statistic, effort, cancel))
        })
    }

    /// [`Self::summary`] on a thread of the pool.
    fn refined(
        &self,
        rect: Rect,
        statistic: Statistic,
        effort: u64,
        cancel: &Cancel,
    ) -> Result<Summary, Error> {
        cancel.check()?;
        let worker = rayon::current_thread_index().unwrap_or(0);
        let region = self.plan.region;
        let (program, store, levels) = (&self.plan.program, &self.kept.store, self.kept.levels.as_ref());
        let ask = |rect: Rect| {
            let rect = rect.translated(region.x(), region.y());
            Asked::root(program, Some(store), levels, |root| root.summary(rect))
        };
        let mut samples = Vec::new();
        let mut compute = |rect: Rect| {
            if samples.is_empty() {
                samples = zeroed::<S>(LEAF * LEAF, "a block")?;
            }
            let samples = &mut samples[..rect.area() as usize];
            self.fill_alone(worker, rect, samples, cancel)?;
            let view = View::packed(samples, rect.width() as usize, rect.height() as usize);
            Ok(direct(view, Rect::sized(rect.width(), rect.height())))
        };
        refine(rect, statistic, effort, &ask, &mut compute)
    }

    /// The samples of `window` of a level, packed into `out`; at most `effort` samples of the raster are computed for them all.
    pub(crate) fn read_level(
        &self,
        level: u32,
        window: Rect,
        statistic: Statistic,
        effort: u64,
        out: &mut [S],
        cancel: &Cancel,
    ) -> Result<Exactness, Error> {
        let raster = Rect::sized(self.plan.region.width(), self.plan.region.height());
        let block = |x: i64, y: i64| {
            Rect::between(x << level, y << level, (x + 1) << level, (y + 1) << level).intersection(&raster)
        };
        let width = window.width() as usize;
        let one = |place: usize, effort: u64| {
            let (x, y) = (place % width, place / width);
            let rect = block(window.x() + x as i64, window.y() + y as i64);
            self.refined(rect, statistic, effort, cancel)
                .map(|summary| statistic.of(&summary))
        };
        caught(window, || {
            self.kept.workers.run(|| {
                // What is known without computing, and then the rest, each with an equal part of the effort.
                let known: Vec<(u16, u16)> = (0..out.len())
                    .into_par_iter()
                    .map(|place| one(place, 0))
                    .collect::<Result<_, Error>>()?;
                let open = known.iter().filter(|(least, most)| least < most).count() as u64;
                let each = effort.checked_div(open).unwrap_or(0);
                let known: Vec<(u16, u16)> = if each == 0 {
                    known
                } else {
                    (0..out.len())
                        .into_par_iter()
                        .map(|place| match known[place] {
                            (least, most) if least < most => one(place, each),
                            settled => Ok(settled),
                        })
                        .collect::<Result<_, Error>>()?
                };
                let mut off = 0;
                for (to, (least, most)) in out.iter_mut().zip(known) {
                    let middle = least.midpoint(most);
                    off = off.max(most - middle);
                    *to = S::from_u16(middle);
                }
                Ok(match off {
                    0 => Exactness::Exact,
                    off => Exactness::Within(off),
                })
            })
        })
    }
}
