//! From the chains of a piece to its samples, row by row.
//!
//! A row is cut into bands of sub-scanlines in which no chain begins or ends. Each chain gives the crossings of a band as a row
//! of a table. Chains are sorted by where they begin and end across the band; those that overlap form a cluster, and at the
//! borders of clusters the winding is the same in all sub-scanlines. Within a cluster in order, the winding is followed once.

use bytemuck::{Pod, Zeroable};
use relief_raster::{Sample, ViewMut};

use super::gather::{Local, sort_by_line};
use super::grid::{Grid, Piece};
use super::{Crossing, Scratch, WIDTH};
use crate::coverage::Index;
use crate::isa::{Isa, versions};

/// Pixels that are looked at together when sums become samples.
const BLOCK: usize = 16;

/// A chain in a band: the least and the greatest crossing, its row of the table and its walk.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Key {
    low: i32,
    high: i32,
    row: u32,
    walk: u32,
    local: u32,
    winding: i32,
}

/// Neighbouring elements of one value.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Layer {
    value: u32,
    /// How many of its elements cover the place.
    inside: u32,
}

/// An element and its clips.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Group {
    members: u32,
    /// How many of them cover the place.
    inside: u32,
}

/// The group of an element without clips.
const NO_GROUP: u32 = u32::MAX;

/// Which elements cover a place, and the value of the topmost.
struct Cover<'a> {
    locals: &'a mut [Local],
    layers: &'a mut [Layer],
    groups: &'a mut [Group],
    /// A bit for each layer that covers the place.
    bits: &'a mut [u64],
    value: u32,
}

impl Cover<'_> {
    /// Finds what covers the place before any crossing.
    #[inline(always)]
    fn begin(&mut self) {
        self.value = match &*self.layers {
            [only] => {
                if only.inside > 0 {
                    only.value
                } else {
                    0
                }
            }
            _ => self.topmost(),
        };
    }

    /// Crosses a chain from left to right, or back with the opposite winding.
    #[inline(always)]
    fn cross(&mut self, local: u32, winding: i32) {
        let local = &mut self.locals[local as usize];
        let before = local.winding & local.mask != 0;
        local.winding += winding;
        let after = local.winding & local.mask != 0;
        if before == after {
            return;
        }
        if local.group != NO_GROUP {
            let group = &mut self.groups[local.group as usize];
            let whole = group.inside == group.members;
            group.inside = if after { group.inside + 1 } else { group.inside - 1 };
            if whole == (group.inside == group.members) {
                return;
            }
        }
        let number = local.layer as usize;
        let layer = &mut self.layers[number];
        if after {
            layer.inside += 1;
            if layer.inside == 1 {
                self.show(number);
            }
        } else {
            layer.inside -= 1;
            if layer.inside == 0 {
                self.hide(number);
            }
        }
    }

    #[inline(always)]
    fn show(&mut self, layer: usize) {
        if self.layers.len() == 1 {
            self.value = self.layers[0].value;
            return;
        }
        self.bits[layer / 64] |= 1 << (layer % 64);
        self.value = self.topmost();
    }

    #[inline(always)]
    fn hide(&mut self, layer: usize) {
        if self.layers.len() == 1 {
            self.value = 0;
            return;
        }
        self.bits[layer / 64] &= !(1 << (layer % 64));
        self.value = self.topmost();
    }

    fn topmost(&self) -> u32 {
        for (word, bits) in self.bits.iter().enumerate().rev() {
            if *bits != 0 {
                return self.layers[word * 64 + 63 - bits.leading_zeros() as usize].value;
            }
        }
        0
    }
}

/// Puts the elements into layers and resets them.
fn prepare(index: &Index, scratch: &mut Scratch<'_>) {
    scratch.layers.len = 0;
    scratch.groups.len = 0;
    let mut value = None;
    let mut open = None;
    for local in scratch.locals.get_mut() {
        if value != Some(local.value) {
            value = Some(local.value);
            // There is room for as many layers as elements.
            let _ = scratch.layers.push(Layer {
                value: local.value,
                inside: 0,
            });
        }
        local.layer = scratch.layers.len as u32 - 1;
        local.winding = 0;
        local.group = NO_GROUP;
        if !index.clipped {
            continue;
        }
        let members = index.group(local.element);
        if members.len() > 1 {
            let place = (local.placement, local.copy, members.start);
            if open != Some(place) {
                open = Some(place);
                // There is room for as many as there are elements.
                let _ = scratch.groups.push(Group {
                    members: members.len() as u32,
                    inside: 0,
                });
            }
            local.group = scratch.groups.len as u32 - 1;
        }
    }
    scratch.bits.len = scratch.layers.len.div_ceil(64);
    scratch.bits.get_mut().fill(0);
}

/// The value of the whole piece, where it is one: no chain lies in it and no winding changes between its top and its bottom, or all that does is hidden.
pub(super) fn uniform(index: &Index, scratch: &mut Scratch<'_>) -> Option<u32> {
    let inner = |line: i32| line > 0 && line < scratch.lines;
    if scratch.walks.len > 0 || scratch.events.get().iter().any(|event| inner(event.line)) {
        return hidden(index, scratch);
    }
    Some(top_value(index, scratch))
}

/// The value of an element that covers the whole piece, where all above it have the same.
fn hidden(index: &Index, scratch: &mut Scratch<'_>) -> Option<u32> {
    const CHANGES: u32 = 1;
    if index.clipped {
        return None;
    }
    let locals = scratch.locals.get_mut();
    for local in locals.iter_mut() {
        (local.winding, local.layer) = (0, 0);
    }
    for event in scratch.events.get() {
        let local = &mut locals[event.local as usize];
        if event.line == 0 {
            local.winding += event.winding;
        } else if event.line < scratch.lines {
            local.layer = CHANGES;
        }
    }
    for walk in scratch.walks.get() {
        locals[walk.local as usize].layer = CHANGES;
    }
    // Those of an index of one value are in no order.
    let value = locals.last()?.value;
    let mut above = locals.iter().rev().take_while(|local| local.value == value);
    above
        .any(|local| local.layer != CHANGES && local.winding & local.mask != 0)
        .then_some(value)
}

fn top_value(index: &Index, scratch: &mut Scratch<'_>) -> u32 {
    prepare(index, scratch);
    let mut cover = Cover {
        locals: scratch.locals.get_mut(),
        layers: &mut scratch.layers.items[..scratch.layers.len],
        groups: scratch.groups.items,
        bits: &mut scratch.bits.items[..scratch.bits.len],
        value: 0,
    };
    for event in scratch.events.get().iter().filter(|event| event.line == 0) {
        cover.cross(event.local, event.winding);
    }
    cover.value
}

/// The sums of a row: the value that is added at each pixel, times 256·N.
struct Sums<'a> {
    sums: &'a mut [u32],
    /// Blocks with a sum other than 0.
    touched: u64,
    limit: i32,
}

impl Sums<'_> {
    /// From `x` on `count` lines have `change` more; `part` is the sum of the parts of a pixel left of the crossings.
    #[inline(always)]
    fn add(&mut self, pixel: usize, count: u32, part: u32, change: u32) {
        self.sums[pixel] = self.sums[pixel].wrapping_add(change.wrapping_mul(256 * count - part));
        self.sums[pixel + 1] = self.sums[pixel + 1].wrapping_add(change.wrapping_mul(part));
        let block = pixel / BLOCK;
        let next = ((pixel + 1) / BLOCK).min(63);
        self.touched |= (1 << block) | (1 << next);
    }

    #[inline(always)]
    fn cross(&mut self, x: i32, change: u32) {
        if x < self.limit {
            self.add((x >> 8) as usize, 1, (x & 255) as u32, change);
        }
    }

    /// The crossings of a chain in all lines of a band.
    #[inline(always)]
    fn cross_all(&mut self, (low, high): (i32, i32), crossings: &[i32], change: u32) {
        let pixel = low >> 8;
        if pixel == high >> 8 {
            if low < self.limit {
                let part: i32 = crossings.iter().map(|x| x & 255).sum();
                self.add(pixel as usize, crossings.len() as u32, part as u32, change);
            }
            return;
        }
        // A few pixels: what lies in each of them is counted in all lines at once.
        let few = crossings.len() >= FEW_LINES && (high >> 8) - pixel <= few_pixels(crossings.len());
        if few {
            for pixel in pixel..=(high >> 8).min((self.limit - 1) >> 8) {
                let (mut count, mut part) = (0, 0);
                for x in crossings {
                    let beyond = (x - (pixel << 8)) as u32;
                    let is_within = beyond < 256;
                    count += u32::from(is_within);
                    part += if is_within { beyond } else { 0 };
                }
                self.add(pixel as usize, count, part, change);
            }
            return;
        }
        for x in crossings {
            self.cross(*x, change);
        }
    }
}

/// Fewer crossings are added one by one.
const FEW_LINES: usize = 8;

/// Over how many pixels more than one so many crossings may go to be counted pixel by pixel.
const fn few_pixels(lines: usize) -> i32 {
    2 + (lines / 8) as i32
}

/// Computes the samples of a piece whose chains were gathered, into the part of `out` at `at`.
pub(super) fn sweep<S: Sample>(
    index: &Index,
    grid: &Grid,
    piece: &Piece,
    scratch: &mut Scratch<'_>,
    at: (usize, usize),
    out: &mut ViewMut<'_, S>,
) {
    prepare(index, scratch);
    sort_by_line(scratch);
    scratch.active.len = 0;
    let isa = Isa::best();
    let mut done = (0, 0);
    let lines = grid.lines() as i32;
    let (mut steady, mut tangled) = (0, 1);
    let mut y = 0;
    while y < piece.height {
        let first = y as i32 * lines;
        if first + lines <= steady {
            // The row above goes on.
            let (above, row) = out.row_pair(at.1 + y - 1, at.1 + y);
            row[at.0..at.0 + piece.width].copy_from_slice(&above[at.0..at.0 + piece.width]);
            y += 1;
            continue;
        }
        if y >= tangled {
            match straight_rows(scratch, done, first, lines) {
                Ok(rows) => {
                    let at = (at.0, at.1 + y);
                    sweep_rows(isa, index, grid, scratch, (first, rows), at, piece.width, out);
                    y += rows as usize;
                    steady = 0;
                    continue;
                }
                Err(rows) => tangled = y + 1 + rows as usize,
            }
        }
        let row = &mut out.row_mut(at.1 + y)[at.0..at.0 + piece.width];
        done = sweep_row(isa, index, grid, scratch, (first, first + lines), done, row);
        steady = steady_until(scratch, done, first);
        y += 1;
    }
}

/// Fewer rows are swept one by one.
const FEW_ROWS: i32 = 4;

/// The rows from the line `first` on in which no winding changes at the left, and all chains are straight and in one order, which `keys` has then.
/// Where they are few, as many rows as it is no use to look again after the next.
fn straight_rows(
    scratch: &mut Scratch<'_>,
    (started, happened): (usize, usize),
    first: i32,
    lines: i32,
) -> Result<i32, i32> {
    let mut until = scratch.lines;
    if let Some(event) = scratch.events.get().get(happened) {
        until = until.min(event.line);
    }
    let walks = &scratch.walks.items;
    if let Some(walk) = scratch.starts.get().get(started) {
        until = until.min(walks[*walk as usize].start);
    }
    for walk in scratch.active.get() {
        let walk = &walks[*walk as usize];
        until = until.min(walk.end).min(walk.straight_until());
        if until < first + FEW_ROWS * lines {
            return Err((until - first).max(0) / lines);
        }
    }
    let mut rows = (until - first) / lines;
    scratch.keys.len = scratch.active.len;
    while rows >= FEW_ROWS {
        let last = rows * lines - 1;
        let keys = scratch.keys.get_mut();
        let mut sorted = true;
        let mut before = (i32::MIN, i32::MIN);
        for (key, number) in keys.iter_mut().zip(scratch.active.get()) {
            let walk = &walks[*number as usize];
            let (low, high) = match (
                i32::try_from(walk.ahead(0)),
                i32::try_from(walk.ahead(i64::from(last))),
            ) {
                (Ok(low), Ok(high)) => (low, high),
                // Beyond all others.
                _ if walk.is_vertical() && walk.ahead(0) < 0 => (i32::MIN, i32::MIN),
                _ if walk.is_vertical() => (i32::MAX, i32::MAX),
                _ => return Err(FEW_ROWS),
            };
            sorted &= before <= (low, high);
            before = (low, high);
            *key = Key {
                low,
                high,
                row: 0,
                walk: *number,
                local: walk.local,
                winding: walk.winding,
            };
        }
        if !sorted {
            keys.sort_unstable_by_key(|key| (key.low, key.high));
        }
        // Chains that change places do so where neighbours cross.
        let crosses = |pair: &[Key]| {
            let (before, after) = (
                i64::from(pair[1].low) - i64::from(pair[0].low),
                i64::from(pair[0].high) - i64::from(pair[1].high),
            );
            (after > 0).then(|| (before * i64::from(last) / (before + after)) as i32)
        };
        match keys.windows(2).filter_map(crosses).min() {
            None => return Ok(rows),
            Some(line) => rows = (line / lines).min(rows - 1),
        }
    }
    Err(rows.max(0))
}

versions! {
    /// Rows in which the chains go on as `keys` has them: what covers what is found once for all.
    fn sweep_rows<S: Sample>(
        index: &Index, grid: &Grid, scratch: &mut Scratch<'_>,
        rows: (i32, i32), at: (usize, usize), width: usize, out: &mut ViewMut<'_, S>,
    ) {
        let (first, rows) = rows;
        let lines = grid.lines();
        let mut cover = Cover {
            locals: &mut scratch.locals.items[..scratch.locals.len],
            layers: &mut scratch.layers.items[..scratch.layers.len],
            groups: scratch.groups.items,
            bits: &mut scratch.bits.items[..scratch.bits.len],
            value: 0,
        };
        cover.begin();
        let base = cover.value.wrapping_mul(256 * lines as u32);
        let walks = &mut scratch.walks.items;
        let keys = scratch.keys.get();
        let all = i64::from(rows) * lines as i64;
        // The chains at which the value changes, and by what.
        let (mut seen, mut vertical) = (0, true);
        for key in keys {
            let before = cover.value;
            cover.cross(key.local, key.winding);
            let walk = &mut walks[key.walk as usize];
            if cover.value == before {
                walk.skip(all);
                continue;
            }
            vertical &= walk.is_vertical();
            scratch.crossings.items[seen] = Crossing {
                x: cover.value.wrapping_sub(before).cast_signed(),
                from: key.walk,
            };
            seen += 1;
        }
        if !scratch.closed {
            for key in keys {
                cover.cross(key.local, -key.winding);
            }
        }
        let mut sums = Sums { sums: scratch.sums.items, touched: 0, limit: (width * 256) as i32 };
        let table = &mut scratch.table.items[..lines];
        let computed = if vertical { 1 } else { rows };
        for row in 0..computed {
            let line = first + row * lines as i32;
            for change in &scratch.crossings.items[..seen] {
                let walk = &mut walks[change.from as usize];
                let (low, high) = walk.crossings(index, grid, line, sums.limit, table);
                sums.cross_all((low, high), table, change.x.cast_unsigned());
            }
            let row = &mut out.row_mut(at.1 + row as usize)[at.0..at.0 + width];
            write_row(&mut sums, base, grid.log_total(), row);
        }
        for row in computed as usize..rows as usize {
            // As the first one: of edges that are all vertical, or of none.
            let (above, row) = out.row_pair(at.1, at.1 + row);
            row[at.0..at.0 + width].copy_from_slice(&above[at.0..at.0 + width]);
        }
        scratch.active.len = 0;
        for key in keys {
            if walks[key.walk as usize].end > first + all as i32 {
                scratch.active.items[scratch.active.len] = key.walk;
                scratch.active.len += 1;
            }
        }
    }
}

/// The line up to which every line is as those of the row from `first` on: all chains are vertical, none begins or ends.
fn steady_until(scratch: &Scratch<'_>, (started, happened): (usize, usize), first: i32) -> i32 {
    let mut until = scratch.lines;
    if let Some(event) = scratch.events.get().get(happened) {
        until = until.min(event.line);
    }
    if let Some(walk) = scratch.starts.get().get(started) {
        until = until.min(scratch.walks.items[*walk as usize].start);
    }
    // Neither did one begin or end within the row, nor at its end.
    if scratch.bands > 1 || scratch.keys.len != scratch.active.len {
        return 0;
    }
    for walk in scratch.active.get() {
        until = until.min(scratch.walks.items[*walk as usize].vertical_until(first));
        if until == 0 {
            break;
        }
    }
    until
}

versions! {
    fn sweep_row<S: Sample>(
        index: &Index, grid: &Grid, scratch: &mut Scratch<'_>,
        lines: (i32, i32), done: (usize, usize), row: &mut [S],
    ) -> (usize, usize) {
        let (first, last) = lines;
        let (mut started, mut happened) = done;
        let mut cover = Cover {
            locals: &mut scratch.locals.items[..scratch.locals.len],
            layers: &mut scratch.layers.items[..scratch.layers.len],
            groups: scratch.groups.items,
            bits: &mut scratch.bits.items[..scratch.bits.len],
            value: 0,
        };
        cover.begin();
        let mut sums = Sums { sums: scratch.sums.items, touched: 0, limit: (row.len() * 256) as i32 };
        let mut base = 0_u32;
        let mut line = first;
        scratch.bands = 0;
        while line < last {
            scratch.bands += 1;
            let mut end = last;
            while let Some(event) = scratch.events.get().get(happened) {
                if event.line > line {
                    end = end.min(event.line);
                    break;
                }
                cover.cross(event.local, event.winding);
                happened += 1;
            }
            while let Some(walk) = scratch.starts.get().get(started) {
                let start = scratch.walks.items[*walk as usize].start;
                if start > line {
                    end = end.min(start);
                    break;
                }
                // There is room for as many as there are chains.
                let _ = scratch.active.push(*walk);
                started += 1;
            }
            for walk in scratch.active.get() {
                end = end.min(scratch.walks.items[*walk as usize].end);
            }
            base = base.wrapping_add(cover.value.wrapping_mul(256 * (end - line) as u32));
            band(
                index,
                grid,
                (line, end),
                (&mut scratch.active, scratch.walks.items, &mut scratch.keys),
                (scratch.table.items, &mut scratch.crossings),
                &mut cover,
                &mut sums,
                scratch.closed,
            );
            line = end;
        }
        write_row(&mut sums, base, grid.log_total(), row);
        (started, happened)
    }
}

/// Adds the spans of the lines `line..end`, in which the same chains go on.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn band(
    index: &Index,
    grid: &Grid,
    (line, end): (i32, i32),
    (active, walks, keys): (
        &mut super::Stack<'_, u32>,
        &mut [super::Walk],
        &mut super::Stack<'_, Key>,
    ),
    (table, crossings): (&mut [i32], &mut super::Stack<'_, Crossing>),
    cover: &mut Cover<'_>,
    sums: &mut Sums<'_>,
    closed: bool,
) {
    keys.len = active.len;
    if active.len == 0 {
        return;
    }
    let count = (end - line) as usize;
    let mut sorted = true;
    let mut before = (i32::MIN, i32::MIN);
    for (row, walk) in active.get().iter().enumerate() {
        let chain = &mut walks[*walk as usize];
        let out = &mut table[row * count..(row + 1) * count];
        let (low, high) = chain.crossings(index, grid, line, sums.limit, out);
        sorted &= before <= (low, high);
        before = (low, high);
        keys.items[row] = Key {
            low,
            high,
            row: row as u32,
            walk: *walk,
            local: chain.local,
            winding: chain.winding,
        };
    }
    if !sorted {
        keys.get_mut().sort_unstable_by_key(|key| (key.low, key.high));
    }
    clusters(keys.get(), table, count, crossings, cover, sums);
    if !closed {
        for key in keys.get() {
            cover.cross(key.local, -key.winding);
        }
    }
    // In the order of this band, which is nearly that of the next.
    active.len = 0;
    for key in keys.get() {
        if walks[key.walk as usize].end > end {
            active.items[active.len] = key.walk;
            active.len += 1;
        }
    }
}

/// Follows the windings from left to right.
#[inline(always)]
fn clusters(
    keys: &[Key],
    table: &[i32],
    count: usize,
    crossings: &mut super::Stack<'_, Crossing>,
    cover: &mut Cover<'_>,
    sums: &mut Sums<'_>,
) {
    let row = |key: &Key| &table[key.row as usize * count..][..count];
    let mut at = 0;
    while at < keys.len() {
        let mut high = keys[at].high;
        let mut end = at + 1;
        let mut ordered = true;
        while end < keys.len() && keys[end].low < high {
            let (left, right) = (row(&keys[end - 1]), row(&keys[end]));
            ordered &= left.iter().zip(right).fold(true, |yes, (l, r)| yes & (l <= r));
            high = high.max(keys[end].high);
            end += 1;
        }
        let cluster = &keys[at..end];
        if ordered {
            for key in cluster {
                let before = cover.value;
                cover.cross(key.local, key.winding);
                if cover.value != before {
                    sums.cross_all((key.low, key.high), row(key), cover.value.wrapping_sub(before));
                }
            }
        } else {
            tangled(cluster, table, count, crossings, cover, sums);
        }
        at = end;
    }
}

/// A cluster whose chains cross: each line is sorted by itself.
fn tangled(
    cluster: &[Key],
    table: &[i32],
    count: usize,
    crossings: &mut super::Stack<'_, Crossing>,
    cover: &mut Cover<'_>,
    sums: &mut Sums<'_>,
) {
    let crossings = &mut crossings.items[..cluster.len()];
    for (place, crossing) in crossings.iter_mut().enumerate() {
        crossing.from = place as u32;
    }
    for k in 0..count {
        for crossing in crossings.iter_mut() {
            crossing.x = table[cluster[crossing.from as usize].row as usize * count + k];
        }
        crossings.sort_unstable_by_key(|crossing| crossing.x);
        for crossing in crossings.iter() {
            let key = &cluster[crossing.from as usize];
            let before = cover.value;
            cover.cross(key.local, key.winding);
            sums.cross(crossing.x, cover.value.wrapping_sub(before));
        }
        if k + 1 < count {
            for key in cluster {
                cover.cross(key.local, -key.winding);
            }
        }
    }
}

/// What `before` and all up to each of these come to: parts of four side by side, so that one does not wait for all before it.
#[inline(always)]
fn running(added: &[u32; BLOCK], before: u32) -> [u32; BLOCK] {
    const PART: usize = 4;
    let mut sums = *added;
    for part in sums.chunks_exact_mut(PART) {
        for at in 1..PART {
            part[at] = part[at].wrapping_add(part[at - 1]);
        }
    }
    let mut before = before;
    for part in sums.chunks_exact_mut(PART) {
        for sum in part.iter_mut() {
            *sum = sum.wrapping_add(before);
        }
        before = part[PART - 1];
    }
    sums
}

/// Adds up the sums of a row and rounds them.
#[inline(always)]
fn write_row<S: Sample>(sums: &mut Sums<'_>, base: u32, log_total: u32, row: &mut [S]) {
    let half = 1 << (log_total - 1);
    let sample = |sum: u32| S::from_u16((sum.wrapping_add(half) >> log_total) as u16);
    let mut sum = base;
    let mut from = 0;
    let mut touched = sums.touched;
    while touched != 0 {
        let block = touched.trailing_zeros() as usize * BLOCK;
        touched &= touched - 1;
        if block >= row.len() {
            break;
        }
        row[from..block].fill(sample(sum));
        let end = (block + BLOCK).min(row.len());
        if let (Ok(added), Ok(places)) = (
            <&mut [u32; BLOCK]>::try_from(&mut sums.sums[block..end]),
            <&mut [S; BLOCK]>::try_from(&mut row[block..end]),
        ) {
            let sums = running(added, sum);
            added.fill(0);
            for (place, sum) in places.iter_mut().zip(sums) {
                *place = sample(sum);
            }
            sum = sums[BLOCK - 1];
            from = end;
            continue;
        }
        for (place, add) in row[block..end].iter_mut().zip(&mut sums.sums[block..end]) {
            sum = sum.wrapping_add(*add);
            *add = 0;
            *place = sample(sum);
        }
        from = end;
    }
    row[from..].fill(sample(sum));
    // What crossings at the very end added beyond the row.
    let end = row.len();
    sums.sums[end..(end + 2).min(WIDTH + 2)].fill(0);
}
