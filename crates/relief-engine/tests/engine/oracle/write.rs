//! A model as the text of a design.

use std::fmt::{self, Write};

use super::model::{Blend, Fold, Item, Kind, Model, Profile, Tone};

impl Model {
    /// The design as a file would hold it.
    pub(crate) fn text(&self) -> String {
        let depth = if self.max == 255 { 8 } else { 16 };
        let mut text = format!(
            "relief version=1\ncanvas width={} height={} depth={depth}\n",
            self.width, self.height
        );
        let mut used = vec![false; self.definitions.len()];
        mark(&self.root, &self.definitions, &mut used);
        for (number, item) in self
            .definitions
            .iter()
            .enumerate()
            .filter(|(number, _)| used[*number])
        {
            let _ = writeln!(text, "define \"d{number}\" {{");
            // The parent of a definition is wherever it is used: what depends on its size is written by its own.
            self.item(&mut text, 1, "", item, None);
            text.push_str("}\n");
        }
        let canvas = Some((self.width, self.height));
        self.kind(&mut text, 0, "", &self.root, "", canvas);
        text
    }

    fn item(&self, text: &mut String, depth: usize, role: &str, item: &Item, parent: Option<(u64, u64)>) {
        let mut place = String::new();
        for (name, value) in [("x", item.x), ("y", item.y)] {
            if value != 0 {
                let _ = write!(place, " {name}={value}");
            }
        }
        for (name, value) in [("width", item.width), ("height", item.height)] {
            if let (Some(value), false) = (value, matches!(item.kind, Kind::Use(_))) {
                let _ = write!(place, " {name}={value}");
            }
        }
        self.kind(text, depth, role, &item.kind, &place, self.size(item, parent));
    }

    /// The size of a node whose parent has this one, where it can be told.
    pub(crate) fn size(&self, item: &Item, parent: Option<(u64, u64)>) -> Option<(u64, u64)> {
        let default = match &item.kind {
            Kind::Image(number) => {
                let picture = &self.pictures[*number];
                Some((picture.width, picture.height))
            }
            Kind::Disc { diameter, .. } => Some((*diameter, *diameter)),
            Kind::Use(number) => return self.size(&self.definitions[*number], parent),
            _ => parent,
        };
        match (item.width, item.height) {
            (Some(width), Some(height)) => Some((width, height)),
            (width, height) => {
                default.map(|default| (width.unwrap_or(default.0), height.unwrap_or(default.1)))
            }
        }
    }

    fn kind(
        &self,
        text: &mut String,
        depth: usize,
        role: &str,
        kind: &Kind,
        place: &str,
        size: Option<(u64, u64)>,
    ) {
        let indent = "    ".repeat(depth);
        let role = if role.is_empty() {
            String::new()
        } else {
            format!("({role})")
        };
        let mut line = |rest: String| {
            let _ = write!(text, "{indent}{role}{rest}{place}");
        };
        match kind {
            Kind::Fill(value) => line(format!("fill value={value}")),
            Kind::Image(number) => line(format!("image \"p{number}\"")),
            Kind::Ramp { horizontal, from, to } => {
                let axis = if *horizontal { "x" } else { "y" };
                line(format!("ramp axis=\"{axis}\" from={from} to={to}"));
            }
            Kind::Disc { diameter, value } => line(format!("disc diameter={diameter} value={value}")),
            Kind::Noise { seed } => line(format!("noise seed={seed}")),
            Kind::Use(number) => line(format!("use \"d{number}\"")),
            Kind::Repeat { gaps, pattern } => {
                let mut head = "repeat".to_owned();
                let step = self.size(pattern, size);
                for (name, gap, side) in [
                    ("step-x", gaps.0, step.map(|step| step.0)),
                    ("step-y", gaps.1, step.map(|step| step.1)),
                ] {
                    if let (Some(gap), Some(side)) = (gap, side) {
                        let _ = write!(head, " {name}={}", side + gap);
                    }
                }
                line(head);
            }
            Kind::Lattice { blend, .. } => line(format!("lattice blend=\"{}\"", blend_name(*blend))),
            Kind::Distance { radius, .. } => line(format!("distance radius={radius}")),
            Kind::Map { .. } => line("map".to_owned()),
            Kind::Threshold { level, .. } => line(format!("threshold level={level}")),
            Kind::Compose(_) => line("compose".to_owned()),
        }
        let children = children(kind);
        let parameters = parameters(kind);
        if !children.is_empty() || !parameters.is_empty() {
            text.push_str(" {\n");
            for parameter in parameters {
                let _ = writeln!(text, "{indent}    {parameter}");
            }
            for (role, child) in children {
                self.item(text, depth + 1, role, child, size);
            }
            let _ = write!(text, "{indent}}}");
        }
        text.push('\n');
    }
}

impl fmt::Debug for Model {
    /// As text: what a failing property prints is a design to try.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.text())?;
        for (number, picture) in self.pictures.iter().enumerate() {
            if !self.text().contains(&format!("\"p{number}\"")) {
                continue;
            }
            let (width, height) = (picture.width, picture.height);
            writeln!(f, "p{number}: {width}×{height} {:?}", picture.samples)?;
        }
        Ok(())
    }
}

/// Which definitions are used, so that only they are written.
fn mark(kind: &Kind, definitions: &[Item], used: &mut [bool]) {
    if let Kind::Use(number) = kind
        && !std::mem::replace(&mut used[*number], true)
    {
        mark(&definitions[*number].kind, definitions, used);
    }
    for (_, child) in children(kind) {
        mark(&child.kind, definitions, used);
    }
}

fn children(kind: &Kind) -> Vec<(&'static str, &Item)> {
    match kind {
        Kind::Repeat { pattern, .. } | Kind::Lattice { pattern, .. } => vec![("pattern", pattern)],
        Kind::Distance { mask, .. } => vec![("mask", mask)],
        Kind::Map { source, .. } | Kind::Threshold { source, .. } => vec![("source", source)],
        Kind::Compose(children) => children
            .iter()
            .map(|(fold, item)| (fold_name(*fold), item))
            .collect(),
        _ => Vec::new(),
    }
}

fn parameters(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Lattice { u, v, .. } => vec![format!("u {} {}", u.0, u.1), format!("v {} {}", v.0, v.1)],
        Kind::Distance { profile, beyond, .. } => {
            let beyond = beyond.map_or(String::new(), |beyond| format!(" beyond={beyond}"));
            vec![match profile {
                Profile::Line { a, b } => format!("profile \"{a} + {b} * d\"{beyond}"),
                Profile::Bowl { a, k } => format!("profile \"{a} * (1 - (d / {}) ^ 2)\"{beyond}", 1 << k),
                Profile::Fold { a, b } => format!("profile \"abs(d - {a}) * {b} / 4\"{beyond}"),
                Profile::Points { first, k, quarters } => {
                    format!(
                        "profile{beyond} {{ {} }}",
                        points(u64::from(*first), *k, quarters)
                    )
                }
            }]
        }
        Kind::Map { tone, .. } => vec![match tone {
            Tone::Invert => "invert".to_owned(),
            Tone::Gamma(halves) => format!("gamma {}", f64::from(*halves) / 2.0),
            Tone::Levels {
                low,
                high,
                out_low,
                out_high,
            } => {
                format!("levels {low} {high} {out_low} {out_high}")
            }
            Tone::Curve { first, k, quarters } => {
                format!("curve {{ {} }}", points(u64::from(*first), *k, quarters))
            }
            Tone::Line { a, b } => format!("expression \"v * {a} / 8 + {b}\""),
        }],
        _ => Vec::new(),
    }
}

fn points(first: u64, k: u32, quarters: &[i32]) -> String {
    quarters
        .iter()
        .enumerate()
        .map(|(index, z)| {
            format!(
                "point {} {}; ",
                first + ((index as u64) << k),
                f64::from(*z) / 4.0
            )
        })
        .collect()
}

fn blend_name(blend: Blend) -> &'static str {
    match blend {
        Blend::Mean => "mean",
        Blend::Max => "max",
        Blend::Min => "min",
        Blend::Sum => "sum",
        Blend::Last => "last",
    }
}

fn fold_name(fold: Fold) -> &'static str {
    match fold {
        Fold::Base => "base",
        Fold::Add => "add",
        Fold::Subtract => "subtract",
        Fold::Multiply => "multiply",
        Fold::Mean => "mean",
        Fold::Max => "max",
        Fold::Min => "min",
        Fold::Over => "over",
        Fold::Mask => "mask",
    }
}
