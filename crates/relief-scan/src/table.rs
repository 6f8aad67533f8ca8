//! Tables that stand between the raster and the machine.

use std::sync::Arc;

use relief_raster::Depth;
use serde::Deserialize;

use crate::Error;

/// A named function of samples: M + 1 entries of at most M.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: String,
    entries: Arc<[u16]>,
}

/// The two tables that samples pass through: `material` first, before the passes, then `machine`, after them, which
/// makes powers of grays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// What the material needs for a gray.
    pub material: Option<Table>,
    /// What the machine needs for that.
    pub machine: Option<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    entries: Option<Vec<u16>>,
    points: Option<Vec<(u16, u16)>>,
}

impl Table {
    /// A table of all M + 1 entries.
    ///
    /// # Errors
    /// Where there are fewer or more, or one is above M.
    pub fn new(name: impl Into<String>, depth: Depth, entries: Vec<u16>) -> Result<Self, Error> {
        let name = name.into();
        let max = depth.max();
        let problem = if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            "a name has 1 to 64 characters, none of them control characters".to_owned()
        } else if entries.len() != usize::from(max) + 1 {
            format!(
                "{} entries; a table for {depth} has {}",
                entries.len(),
                u32::from(max) + 1
            )
        } else if let Some(index) = entries.iter().position(|&entry| entry > max) {
            format!(
                "entry {index} is {}; the greatest sample is {max}",
                entries[index]
            )
        } else {
            return Ok(Self {
                name,
                entries: entries.into(),
            });
        };
        Err(Error::Table { name, problem })
    }

    /// A table through points (v, z), linear between them, rounded half up, constant before the first and after the
    /// last.
    ///
    /// # Errors
    /// Where there is no point, the v do not rise, or a number is above M.
    pub fn through(name: impl Into<String>, depth: Depth, points: &[(u16, u16)]) -> Result<Self, Error> {
        let name = name.into();
        let max = depth.max();
        let problem = match (points.first(), points.last()) {
            (Some(first), Some(last))
                if points.windows(2).all(|pair| pair[0].0 < pair[1].0) && last.0 <= max =>
            {
                let mut entries = vec![first.1; usize::from(first.0)];
                for pair in points.windows(2) {
                    entries.extend((pair[0].0..pair[1].0).map(|v| between(pair[0], pair[1], v)));
                }
                entries.resize(usize::from(max) + 1, last.1);
                return Self::new(name, depth, entries);
            }
            (Some(_), Some(_)) => format!("the first numbers of its points must rise, to {max} at most"),
            _ => "a table needs a point".to_owned(),
        };
        Err(Error::Table { name, problem })
    }

    /// Reads `{"name": "…", "points": [[v, z], …]}` or `{"name": "…", "entries": [z, …]}`.
    ///
    /// # Errors
    /// Where it is neither, or the table is wrong.
    pub fn parse(text: &str, depth: Depth) -> Result<Self, Error> {
        let wrong = |name: &str, problem: String| Error::Table {
            name: name.to_owned(),
            problem,
        };
        let document: Document = serde_json::from_str(text).map_err(|error| wrong("", error.to_string()))?;
        match (document.entries, document.points) {
            (Some(entries), None) => Self::new(document.name, depth, entries),
            (None, Some(points)) => Self::through(document.name, depth, &points),
            _ => Err(wrong(
                &document.name,
                "either \"points\" or \"entries\" is expected".to_owned(),
            )),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// z for v.
    #[must_use]
    pub fn entries(&self) -> &[u16] {
        &self.entries
    }

    /// The BLAKE3 of its entries as u16 little-endian; the name does not count.
    #[must_use]
    pub fn digest(&self) -> blake3::Hash {
        let bytes: Vec<u8> = self
            .entries
            .iter()
            .flat_map(|entry| entry.to_le_bytes())
            .collect();
        blake3::hash(&bytes)
    }
}

/// z + (z' − z)·(v − v₀) / (v₁ − v₀) rounded half up.
fn between(from: (u16, u16), to: (u16, u16), v: u16) -> u16 {
    let [v0, z0, v1, z1, v] = [from.0, from.1, to.0, to.1, v].map(i64::from);
    let span = v1 - v0;
    let z = (2 * (z0 * span + (z1 - z0) * (v - v0)) + span).div_euclid(2 * span);
    // It lies between two u16.
    z as u16
}
