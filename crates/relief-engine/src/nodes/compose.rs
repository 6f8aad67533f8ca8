//! `compose`: children folded in the order written, starting from 0.
//!
//! As long as everything folded so far is one sample, nothing is written: a child that replaces it, or that is
//! folded into 0 by a role of which 0 is the identity, is computed straight into the tile of its parent.

use relief_design::kinds;
use relief_design::tree::{self, Role};
use relief_kernels::fold::{self, Fold};
#[cfg(feature = "gpu")]
use relief_kernels::fused::Expression;
use relief_raster::{Rect, Sample, View, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lower;
use crate::node::{
    Block, Bounds, Filled, Grid, Inputs, Known, Link, Node, Periodic, Request, Resources, Summary, Tile,
    around, clear_around, fold as fold_blocks, of_child, part, scratch, zero_is_identity,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Compose;

impl Node for Compose {
    fn folds(&self, role: Role) -> Option<Fold> {
        Some(operation(role))
    }

    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        let mut all = Periodic {
            period: relief_raster::Period::ONE,
            valid: own,
        };
        for (link, child) in links.iter().zip(children) {
            let child = (*child)?;
            all.period = all.period.intersection(&child.period)?;
            all.valid = all
                .valid
                .intersection(&child.valid.translated(link.extent.x(), link.extent.y()));
        }
        Some(all)
    }

    fn scratch(&self, links: &[Link], request: &Request, bytes: u64) -> u64 {
        let largest = |link: &Link| {
            let (width, height) = (
                request.width.min(link.extent.width()),
                request.height.min(link.extent.height()),
            );
            scratch::words(width.saturating_mul(height), bytes)
        };
        links.iter().map(largest).max().unwrap_or(0)
    }

    fn bounds(&self, known: &dyn Known, links: &[Link], rect: Rect) -> Bounds {
        let fold = |so_far: Bounds, link: &Link| {
            so_far.fold(operation(link.role), known.child(link, rect), known.max())
        };
        links[first_that_counts(links, rect)..]
            .iter()
            .fold(Bounds::ZERO, fold)
    }

    fn blocks(&self, known: &dyn Known, links: &[Link], grid: Grid<'_>, out: &mut [Block]) {
        for (block, rect) in out.iter_mut().zip(grid.rects()) {
            *block = Block::of(Summary::constant(0, rect.area()));
        }
        let mut child = vec![Block::EMPTY; out.len()];
        let first = first_that_counts(links, grid.hull());
        // The last of them may be better known together.
        let laid = known.laid_from(links, grid.hull()).filter(|laid| *laid > first);
        let mut below = Vec::new();
        for (number, link) in links.iter().enumerate().skip(first) {
            if laid == Some(number) {
                below.extend_from_slice(out);
            }
            let operation = operation(link.role);
            let beyond = grid.hull().intersection(&link.extent.in_parent()).is_empty();
            if beyond && zero_is_identity(operation) {
                continue;
            }
            of_child(known, link, grid, &mut child);
            fold_blocks(known, out, operation, &child);
        }
        if let Some(laid) = laid {
            known.lay(&links[laid..], grid, &mut below, out);
        }
    }

    fn cost(&self) -> u64 {
        1
    }

    fn divides(&self) -> bool {
        true
    }

    #[cfg(feature = "gpu")]
    fn expression(&self, lower: &dyn Lower, links: &[Link]) -> Result<Expression, Error> {
        let layer = |link: &Link| Ok((operation(link.role), lower.read(link)?));
        Ok(Expression::Fold(
            links.iter().map(layer).collect::<Result<_, Error>>()?,
        ))
    }
}

impl Tile for Compose {
    type Design = kinds::Compose;

    fn new(_: &kinds::Compose, _: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        Ok(Self)
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let mut state = Filled::Uniform(S::ZERO);
        for link in &links[first_that_counts(links, rect)..] {
            state = fold_child(inputs, link, rect, state, &mut out, scratch)?;
        }
        Ok(state)
    }
}

/// The last child that replaces everything before it in `rect`, or the first.
fn first_that_counts(links: &[Link], rect: Rect) -> usize {
    let replaces = |link: &Link| link.role == Role::Base && link.extent.in_parent().contains(&rect);
    links.iter().rposition(replaces).unwrap_or(0)
}

fn fold_child<S: Sample>(
    inputs: &dyn Inputs<S>,
    link: &Link,
    rect: Rect,
    state: Filled<S>,
    out: &mut ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Result<Filled<S>, Error> {
    let operation = operation(link.role);
    let covered = rect.intersection(&link.extent.in_parent());
    let inner = covered.translated(-rect.x(), -rect.y());
    let local = link.local(rect);
    let zero = Filled::Uniform(S::ZERO);

    if covered.is_empty() {
        return Ok(fold_value(operation, state, S::ZERO, out));
    }
    if state == zero && keeps_zero(operation) {
        return Ok(zero);
    }
    // The child is the result where it replaces, and where it is folded into 0 that changes nothing.
    if operation == Fold::Base || (state == zero && zero_is_identity(operation)) {
        let filled = inputs.read(link.node, local, part(out, inner), scratch)?;
        if covered == rect || filled == zero {
            return Ok(filled);
        }
        filled.write(part(out, inner));
        clear_around(out, inner);
        return Ok(Filled::Written);
    }

    let (width, height) = (inner.width() as usize, inner.height() as usize);
    let (samples, rest) = scratch::carve::<S>(scratch, width * height);
    let filled = inputs.read(link.node, local, ViewMut::packed(samples, width, height), rest)?;
    if covered == rect {
        return Ok(match filled {
            Filled::Uniform(value) => fold_value(operation, state, value, out),
            Filled::Written => {
                state.write(out.reborrow());
                fold::cpu::fold(operation, out.reborrow(), View::packed(samples, width, height));
                Filled::Written
            }
        });
    }
    state.write(out.reborrow());
    if !zero_is_identity(operation) {
        let whole = Rect::sized(rect.width(), rect.height());
        around(whole, inner, |border| {
            fold::cpu::fold_uniform(operation, part(out, border), S::ZERO)
        });
    }
    match filled {
        Filled::Uniform(value) => fold::cpu::fold_uniform(operation, part(out, inner), value),
        Filled::Written => fold::cpu::fold(operation, part(out, inner), View::packed(samples, width, height)),
    }
    Ok(Filled::Written)
}

/// Folds one sample into everything.
fn fold_value<S: Sample>(operation: Fold, state: Filled<S>, value: S, out: &mut ViewMut<'_, S>) -> Filled<S> {
    match state {
        Filled::Uniform(acc) => Filled::Uniform(operation.apply(acc, value)),
        Filled::Written if operation == Fold::Base => Filled::Uniform(value),
        Filled::Written if value == S::ZERO && zero_clears(operation) => Filled::Uniform(S::ZERO),
        Filled::Written if value == S::ZERO && zero_is_identity(operation) => state,
        Filled::Written if value != S::ZERO && operation == Fold::Mask => state,
        Filled::Written if value != S::ZERO && operation == Fold::Over => Filled::Uniform(value),
        Filled::Written => {
            fold::cpu::fold_uniform(operation, out.reborrow(), value);
            state
        }
    }
}

const fn operation(role: Role) -> Fold {
    match role {
        Role::Add => Fold::Add,
        Role::Subtract => Fold::Subtract,
        Role::Multiply => Fold::Multiply,
        Role::Mean => Fold::Mean,
        Role::Max => Fold::Max,
        Role::Min => Fold::Min,
        Role::Over => Fold::Over,
        Role::Mask => Fold::Mask,
        // A checked design gives `compose` no other role than `base`.
        Role::Base | Role::Pattern | Role::Source => Fold::Base,
    }
}

/// Whether folding anything into 0 gives 0.
const fn keeps_zero(operation: Fold) -> bool {
    matches!(
        operation,
        Fold::Subtract | Fold::Multiply | Fold::Min | Fold::Mask
    )
}

/// Whether folding 0 gives 0.
const fn zero_clears(operation: Fold) -> bool {
    matches!(operation, Fold::Base | Fold::Multiply | Fold::Min | Fold::Mask)
}
