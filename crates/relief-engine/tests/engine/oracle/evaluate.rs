//! The samples of a model, each computed from the definition of its node alone.
//!
//! A node is a function of a pixel; it is remembered what it gave, because a pixel of a mask is asked for by many.

use std::collections::HashMap;

use super::model::{Blend, Fold, Item, Kind, Model, Picture, Profile, Tone};

/// Nodes of at most this area remember their samples in a table, larger ones by pixel.
const DENSE: u64 = 1 << 16;

/// The samples of a model.
pub(crate) struct Oracle<'m> {
    model: &'m Model,
    nodes: Vec<Node<'m>>,
    /// Definitions that were used, by number and size of the parent.
    used: HashMap<(usize, u64, u64), usize>,
    root: usize,
}

struct Node<'m> {
    width: u64,
    height: u64,
    kind: &'m Kind,
    /// The nodes of the children, in order, with their places.
    children: Vec<Placed>,
    memory: Memory,
    /// The white pixels of a mask, where the node is one and small.
    white: Option<Vec<(i64, i64)>>,
}

#[derive(Clone, Copy)]
struct Placed {
    node: usize,
    x: i64,
    y: i64,
}

enum Memory {
    Dense(Vec<Option<u16>>),
    Sparse(HashMap<(i64, i64), u16>),
}

impl Memory {
    fn new(width: u64, height: u64) -> Self {
        match width.checked_mul(height) {
            Some(area) if area <= DENSE => Self::Dense(vec![None; area as usize]),
            _ => Self::Sparse(HashMap::new()),
        }
    }
}

impl<'m> Oracle<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        let mut oracle = Self {
            model,
            nodes: Vec::new(),
            used: HashMap::new(),
            root: 0,
        };
        oracle.root = oracle.add(&model.root, model.width, model.height);
        oracle
    }

    /// The samples of a window of the canvas, row by row.
    pub(crate) fn window(&mut self, x: i64, y: i64, width: u64, height: u64) -> Vec<u16> {
        let rows = y..y + height as i64;
        let root = self.root;
        rows.flat_map(|y| (x..x + width as i64).map(move |x| (x, y)))
            .map(|(x, y)| self.sample(root, x, y))
            .collect()
    }

    /// All samples of the canvas.
    pub(crate) fn raster(&mut self) -> Vec<u16> {
        self.window(0, 0, self.model.width, self.model.height)
    }

    fn add(&mut self, kind: &'m Kind, width: u64, height: u64) -> usize {
        let items: Vec<&'m Item> = match kind {
            Kind::Repeat { pattern: child, .. }
            | Kind::Lattice { pattern: child, .. }
            | Kind::Distance { mask: child, .. }
            | Kind::Map { source: child, .. }
            | Kind::Threshold { source: child, .. } => vec![child],
            Kind::Compose(children) => children.iter().map(|(_, item)| item).collect(),
            _ => Vec::new(),
        };
        let children = items
            .into_iter()
            .map(|item| self.place(item, width, height))
            .collect();
        self.nodes.push(Node {
            width,
            height,
            kind,
            children,
            memory: Memory::new(width, height),
            white: None,
        });
        self.nodes.len() - 1
    }

    /// A child of a parent of this size.
    fn place(&mut self, item: &'m Item, width: u64, height: u64) -> Placed {
        let model = self.model;
        if let Kind::Use(number) = item.kind {
            let definition = &model.definitions[number];
            let key = (number, width, height);
            let node = match self.used.get(&key) {
                Some(node) => *node,
                None => {
                    let placed = self.place(definition, width, height);
                    self.used.insert(key, placed.node);
                    placed.node
                }
            };
            // A definition that is a `use` itself is moved by all of them.
            let (mut x, mut y, mut next) = (item.x, item.y, definition);
            loop {
                (x, y) = (x + next.x, y + next.y);
                match next.kind {
                    Kind::Use(number) => next = &model.definitions[number],
                    _ => return Placed { node, x, y },
                }
            }
        }
        let (width, height) = model
            .size(item, Some((width, height)))
            .expect("the parent has a size");
        Placed {
            node: self.add(&item.kind, width, height),
            x: item.x,
            y: item.y,
        }
    }

    /// Sample (x, y) of a node, in its own coordinates.
    fn sample(&mut self, node: usize, x: i64, y: i64) -> u16 {
        let (width, height) = (self.nodes[node].width, self.nodes[node].height);
        if x < 0 || y < 0 || x as u64 >= width || y as u64 >= height {
            return 0;
        }
        let known = match &self.nodes[node].memory {
            Memory::Dense(table) => table[(y as u64 * width + x as u64) as usize],
            Memory::Sparse(map) => map.get(&(x, y)).copied(),
        };
        if let Some(sample) = known {
            return sample;
        }
        let sample = self.compute(node, x, y);
        match &mut self.nodes[node].memory {
            Memory::Dense(table) => table[(y as u64 * width + x as u64) as usize] = Some(sample),
            Memory::Sparse(map) => {
                map.insert((x, y), sample);
            }
        }
        sample
    }

    /// What a child holds at (x, y) of its parent.
    fn child(&mut self, node: usize, index: usize, x: i64, y: i64) -> u16 {
        let placed = self.nodes[node].children[index];
        self.sample(placed.node, x - placed.x, y - placed.y)
    }

    fn compute(&mut self, node: usize, x: i64, y: i64) -> u16 {
        let max = self.model.max;
        let kind = self.nodes[node].kind;
        match kind {
            Kind::Fill(value) => *value,
            Kind::Image(number) => picture(&self.model.pictures[*number], x, y),
            Kind::Ramp { horizontal, from, to } => {
                let (i, n) = if *horizontal {
                    (x, self.nodes[node].width)
                } else {
                    (y, self.nodes[node].height)
                };
                ramp(*from, *to, i, n)
            }
            Kind::Disc { diameter, value } => {
                let d = i128::from(*diameter);
                let (i, j) = (2 * i128::from(x) - d + 1, 2 * i128::from(y) - d + 1);
                let inside = i128::from(x) < d && i128::from(y) < d && i * i + j * j <= d * d;
                if inside { *value } else { 0 }
            }
            Kind::Noise { seed } => noise(*seed, x, y, max),
            Kind::Repeat { gaps, .. } => {
                let placed = self.nodes[node].children[0];
                let pattern = &self.nodes[placed.node];
                let step = (
                    (pattern.width + gaps.0.unwrap_or(0)) as i64,
                    (pattern.height + gaps.1.unwrap_or(0)) as i64,
                );
                let (x, y) = (
                    (x - placed.x).rem_euclid(step.0),
                    (y - placed.y).rem_euclid(step.1),
                );
                self.sample(placed.node, x, y)
            }
            Kind::Lattice { blend, u, v, .. } => self.lattice(node, *blend, *u, *v, x, y),
            Kind::Distance {
                radius,
                profile,
                beyond,
                ..
            } => match self.nearest(node, *radius as i64, x, y) {
                Some(square) => profiled(profile, (square as f64).sqrt(), max),
                None => beyond.unwrap_or_else(|| profiled(profile, *radius as f64, max)),
            },
            Kind::Map { tone, .. } => toned(tone, self.child(node, 0, x, y), max),
            Kind::Threshold { level, .. } => {
                if self.child(node, 0, x, y) >= *level {
                    max
                } else {
                    0
                }
            }
            Kind::Compose(children) => {
                let mut sample = 0;
                for (index, (fold, _)) in children.iter().enumerate() {
                    let v = self.child(node, index, x, y);
                    sample = folded(*fold, sample, v, max);
                }
                sample
            }
            Kind::Use(_) => unreachable!("a use stands for the node that it names"),
        }
    }

    fn lattice(&mut self, node: usize, blend: Blend, u: (i64, i64), v: (i64, i64), x: i64, y: i64) -> u16 {
        let placed = self.nodes[node].children[0];
        let (width, height) = (self.nodes[placed.node].width, self.nodes[placed.node].height);
        let wide = |(x, y): (i64, i64)| (i128::from(x), i128::from(y));
        let (u, v) = (wide(u), wide(v));
        let determinant = u.0 * v.1 - u.1 * v.0;
        // Every pixel of the pattern may lie here, if its copy begins at i·u + j·v for whole i and j (Cramer's rule).
        let mut covering = Vec::new();
        for dy in 0..height as i64 {
            for dx in 0..width as i64 {
                let (left, top) = wide((x - dx - placed.x, y - dy - placed.y));
                let (i, j) = (left * v.1 - top * v.0, u.0 * top - u.1 * left);
                if i % determinant == 0 && j % determinant == 0 {
                    let sample = self.sample(placed.node, dx, dy);
                    covering.push(((j / determinant, i / determinant), u64::from(sample)));
                }
            }
        }
        covering.retain(|(_, sample)| *sample != 0);
        let samples = covering.iter().map(|(_, sample)| *sample);
        let blended = match blend {
            Blend::Mean => {
                let (sum, n) = (samples.clone().sum::<u64>(), samples.count() as u64);
                if n == 0 { 0 } else { (2 * sum + n) / (2 * n) }
            }
            Blend::Max => samples.max().unwrap_or(0),
            Blend::Min => samples.min().unwrap_or(0),
            Blend::Sum => samples.sum::<u64>().min(u64::from(self.model.max)),
            Blend::Last => covering
                .iter()
                .max_by_key(|(order, _)| *order)
                .map_or(0, |(_, sample)| *sample),
        };
        u16::try_from(blended).unwrap()
    }

    /// The least dx² + dy² ≤ radius² to a white pixel of the mask.
    fn nearest(&mut self, node: usize, radius: i64, x: i64, y: i64) -> Option<i64> {
        let placed = self.nodes[node].children[0];
        let mask = &self.nodes[placed.node];
        let (width, height) = (mask.width as i64, mask.height as i64);
        let (x, y) = (x - placed.x, y - placed.y);
        let square = |(column, row): (i64, i64)| (column - x) * (column - x) + (row - y) * (row - y);
        let nearest = if mask.width.saturating_mul(mask.height) <= DENSE {
            self.white(placed.node).iter().map(|place| square(*place)).min()
        } else {
            let rows = (y - radius).max(0)..(y + radius + 1).min(height);
            let columns = (x - radius).max(0)..(x + radius + 1).min(width);
            let window = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
            window
                .filter(|(column, row)| self.sample(placed.node, *column, *row) != 0)
                .map(square)
                .min()
        };
        nearest.filter(|square| *square <= radius * radius)
    }

    /// All white pixels of a small node.
    fn white(&mut self, node: usize) -> &[(i64, i64)] {
        if self.nodes[node].white.is_none() {
            let (width, height) = (self.nodes[node].width as i64, self.nodes[node].height as i64);
            let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            let white = all.filter(|(x, y)| self.sample(node, *x, *y) != 0).collect();
            self.nodes[node].white = Some(white);
        }
        self.nodes[node].white.as_deref().unwrap_or_default()
    }
}

fn picture(picture: &Picture, x: i64, y: i64) -> u16 {
    if x as u64 >= picture.width || y as u64 >= picture.height {
        return 0;
    }
    picture.samples[(y as u64 * picture.width + x as u64) as usize]
}

fn ramp(from: u16, to: u16, i: i64, n: u64) -> u16 {
    if n == 1 {
        return from;
    }
    let product = (i128::from(to) - i128::from(from)) * i128::from(i);
    let rounded = half_away(product, i128::from(n) - 1);
    u16::try_from(i128::from(from) + rounded).unwrap()
}

/// p / q for q > 0, rounded half away from zero.
fn half_away(p: i128, q: i128) -> i128 {
    p.signum() * ((2 * p.abs() + q) / (2 * q))
}

fn noise(seed: u64, x: i64, y: i64, max: u16) -> u16 {
    let mut z = seed
        .wrapping_add((x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add((y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> if max == 255 { 56 } else { 48 }) as u16
}

fn folded(fold: Fold, acc: u16, v: u16, max: u16) -> u16 {
    let (a, b, m) = (u64::from(acc), u64::from(v), u64::from(max));
    let sample = match fold {
        Fold::Base => b,
        Fold::Add => (a + b).min(m),
        Fold::Subtract => a.saturating_sub(b),
        Fold::Multiply => (a * b + m / 2) / m,
        Fold::Mean => (a + b).div_ceil(2),
        Fold::Max => a.max(b),
        Fold::Min => a.min(b),
        Fold::Over => {
            if b == 0 {
                a
            } else {
                b
            }
        }
        Fold::Mask => {
            if b == 0 {
                0
            } else {
                a
            }
        }
    };
    u16::try_from(sample).unwrap()
}

fn to_sample(value: f64, max: u16) -> u16 {
    value.round().clamp(0.0, f64::from(max)) as u16
}

fn profiled(profile: &Profile, d: f64, max: u16) -> u16 {
    let value = match profile {
        Profile::Line { a, b } => f64::from(*a) + f64::from(*b) * d,
        Profile::Bowl { a, k } => {
            let t = d / f64::from(1 << k);
            f64::from(*a) * (1.0 - t * t)
        }
        Profile::Fold { a, b } => (d - f64::from(*a)).abs() * f64::from(*b) / 4.0,
        Profile::Points { first, k, quarters } => through_points(f64::from(*first), *k, quarters, d),
    };
    to_sample(value, max)
}

fn toned(tone: &Tone, v: u16, max: u16) -> u16 {
    let (m, wide) = (u128::from(max), u128::from(v));
    match tone {
        Tone::Invert => max - v,
        // v·v·… / M·…, never on a half.
        Tone::Gamma(2) => v,
        Tone::Gamma(4) => ((2 * wide * wide + m) / (2 * m)) as u16,
        Tone::Gamma(_) => {
            // The k with (2k − 1)² ≤ 4·v·M < (2k + 1)².
            let root = (4 * wide * m).isqrt();
            root.div_ceil(2) as u16
        }
        Tone::Levels {
            low,
            high,
            out_low,
            out_high,
        } => {
            let v = i128::from(v.clamp(*low, *high)) - i128::from(*low);
            let (span, rise) = (
                i128::from(*high) - i128::from(*low),
                i128::from(*out_high) - i128::from(*out_low),
            );
            let value = half_away(i128::from(*out_low) * span + v * rise, span);
            u16::try_from(value).unwrap()
        }
        Tone::Curve { first, k, quarters } => {
            to_sample(through_points(f64::from(*first), *k, quarters, f64::from(v)), max)
        }
        Tone::Line { a, b } => to_sample(f64::from(v) * f64::from(*a) / 8.0 + f64::from(*b), max),
    }
}

/// Linear between points at first, first + 2^k, …; constant outside.
fn through_points(first: f64, k: u32, quarters: &[i32], at: f64) -> f64 {
    let z = |index: usize| f64::from(quarters[index]) / 4.0;
    let place = (at - first) / f64::from(1 << k);
    if place <= 0.0 {
        return z(0);
    }
    let index = place.floor() as usize;
    if index + 1 >= quarters.len() {
        return z(quarters.len() - 1);
    }
    z(index) + (z(index + 1) - z(index)) * (place - place.floor())
}
