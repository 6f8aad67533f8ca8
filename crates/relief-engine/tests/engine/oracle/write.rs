//! A model as the text of a design.

use std::fmt::{self, Write};

use super::model::{Item, Model};
use super::nodes::{Kind, Use};

impl Model {
    /// The design as a file would hold it.
    pub(crate) fn text(&self) -> String {
        let depth = if self.max == 255 { 8 } else { 16 };
        let mut text = format!(
            "relief version=1\nparameter \"focus\" \"50mm\"\nparameter \"gain\" 2.5\n\
             canvas width={} height={} pixel=\"1mm\" amplitude=\"80um\" depth={depth} rounding=\"nearest\"\n",
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
            self.item(&mut text, 1, ("", None), item, None);
            text.push_str("}\n");
        }
        let canvas = Some((self.width, self.height));
        self.kind(&mut text, 0, "", &self.root, "", canvas);
        text
    }

    fn item(
        &self,
        text: &mut String,
        depth: usize,
        (role, name): (&str, Option<&str>),
        item: &Item,
        frame: Option<(u64, u64)>,
    ) {
        let mut place = name.map_or_else(String::new, |name| format!(" name=\"{name}\""));
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
        self.kind(
            text,
            depth,
            role,
            &item.kind,
            &place,
            self.size(role, item, frame),
        );
    }

    /// The word of a node with its properties and its place.
    fn head(&self, text: &mut String, before: &str, kind: &Kind, place: &str, size: Option<(u64, u64)>) {
        let properties = kind.properties(self, size.map(|size| kind.frame(size)));
        let _ = write!(text, "{before}{}{properties}{place}", kind.name());
    }

    /// The child of a kind that is written as a chain: of those that read one node, every other one by its depth.
    fn chained<'k>(&self, kind: &'k Kind, depth: usize) -> Option<&'k Item> {
        // A fold takes its role from its child.
        if matches!(kind, Kind::Compose(_) | Kind::Array(_)) {
            return None;
        }
        match kind.children()[..] {
            // A chain has no place of its own, and what it holds no role.
            [("source" | "mask" | "pattern", child)] if depth % 2 == 1 && kind.child_name(0).is_none() => {
                Some(child)
            }
            _ => None,
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
        let indent = indent_of(depth);
        let role = if role.is_empty() {
            String::new()
        } else {
            format!("({role})")
        };
        if let Some(inside) = self.chained(kind, depth) {
            let _ = writeln!(text, "{indent}{role}chain {{");
            self.item(
                text,
                depth + 1,
                ("", None),
                inside,
                size.map(|size| kind.frame(size)),
            );
            self.head(text, &indent_of(depth + 1), kind, place, size);
            let parameters = kind.parameters();
            if !parameters.is_empty() {
                let _ = write!(text, " {{ {} }}", parameters.join("; "));
            }
            let _ = writeln!(text, "\n{indent}}}");
            return;
        }
        let frame = size.map(|size| kind.frame(size));
        self.head(text, &format!("{indent}{role}"), kind, place, size);
        let children = kind.written();
        let parameters = kind.parameters();
        if !children.is_empty() || !parameters.is_empty() {
            text.push_str(" {\n");
            for parameter in parameters {
                let _ = writeln!(text, "{indent}    {parameter}");
            }
            for (number, (role, child)) in children.into_iter().enumerate() {
                self.item(text, depth + 1, (role, kind.child_name(number)), child, frame);
            }
            let _ = write!(text, "{indent}}}");
        }
        text.push('\n');
    }
}

fn indent_of(depth: usize) -> String {
    "    ".repeat(depth)
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
    if let Kind::Use(Use(number)) = kind
        && !std::mem::replace(&mut used[*number], true)
    {
        mark(&definitions[*number].kind, definitions, used);
    }
    for (_, child) in kind.children() {
        mark(&child.kind, definitions, used);
    }
}
