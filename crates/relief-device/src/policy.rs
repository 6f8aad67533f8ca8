//! Tuning policies: how a kernel is laid out on a device, apart from the kernel, because devices differ.
//!
//! A kernel declares a [`Space`] of layouts that give the same result and a default among them. A search finds the
//! fastest on a device and writes it to a file, one line for each device and kernel; [`load`] makes what it says hold
//! for this process. Such a file is advice: where it is missing or broken, speaks of other devices or asks for layouts
//! outside the space, the default holds.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use crate::DeviceReport;

/// How the work of a kernel is dealt to the units of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tuning {
    /// Units of a cube (threads of a block).
    pub units: u32,
    /// Vectors that a unit computes, as far apart as a cube is wide.
    pub items: u32,
    /// Words of a vector that is loaded or stored at once: 1, 2 or 4.
    pub vector: u32,
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { units, items, vector } = self;
        write!(f, "units={units} items={items} vector={vector}")
    }
}

impl FromStr for Tuning {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let mut number = |name: &str| {
            let value = words.next()?.strip_prefix(name)?.strip_prefix('=')?;
            value.parse().ok()
        };
        let tuning = Self {
            units: number("units").ok_or(())?,
            items: number("items").ok_or(())?,
            vector: number("vector").ok_or(())?,
        };
        words.next().map_or(Ok(tuning), |_| Err(()))
    }
}

/// The layouts a kernel may have; every combination computes the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Choices of [`Tuning::units`].
    pub units: &'static [u32],
    /// Choices of [`Tuning::items`].
    pub items: &'static [u32],
    /// Choices of [`Tuning::vector`].
    pub vectors: &'static [u32],
}

impl Space {
    /// Whether a layout is one of these.
    #[must_use]
    pub fn contains(&self, tuning: Tuning) -> bool {
        self.units.contains(&tuning.units)
            && self.items.contains(&tuning.items)
            && self.vectors.contains(&tuning.vector)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Tuning> {
        let Self {
            units,
            items,
            vectors,
        } = *self;
        units.iter().flat_map(move |units| {
            items.iter().flat_map(move |items| {
                vectors.iter().map(move |vector| Tuning {
                    units: *units,
                    items: *items,
                    vector: *vector,
                })
            })
        })
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            units,
            items,
            vectors,
        } = self;
        write!(
            f,
            "units of {units:?}, items of {items:?} and vectors of {vectors:?}"
        )
    }
}

/// The layouts found for kernels on devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(BTreeMap<(String, String), Tuning>);

/// A policy file that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Another kind of file, or one of another version.
    #[error("its first line is not \"{HEADER}\"")]
    Foreign,
    /// A line is not a device, a kernel and a layout with tabs between.
    #[error("line {0} is not a device, a kernel and a layout")]
    Line(usize),
}

const HEADER: &str = "relief policies 1";

/// The most bytes of a file that are looked at.
const LONGEST: u64 = 1 << 20;

impl Policies {
    /// What a file says.
    ///
    /// # Errors
    /// Where its text is not that of a policy file.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(HEADER) {
            return Err(PolicyError::Foreign);
        }
        let mut policies = Self::default();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let mut parts = line.split('\t');
            let (Some(device), Some(kernel), Some(Ok(tuning)), None) = (
                parts.next(),
                parts.next(),
                parts.next().map(str::parse),
                parts.next(),
            ) else {
                return Err(PolicyError::Line(number + 1));
            };
            policies.set(device, kernel, tuning);
        }
        Ok(policies)
    }

    /// The layout found for a kernel on a device.
    #[must_use]
    pub fn get(&self, device: &str, kernel: &str) -> Option<Tuning> {
        self.0.get(&(device.to_owned(), kernel.to_owned())).copied()
    }

    /// Notes the layout found for a kernel on a device. Tabs and ends of lines in names become blanks.
    pub fn set(&mut self, device: &str, kernel: &str, tuning: Tuning) {
        self.0.insert((plain(device), plain(kernel)), tuning);
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        self.0
            .iter()
            .try_for_each(|((device, kernel), tuning)| writeln!(f, "{device}\t{kernel}\t{tuning}"))
    }
}

fn plain(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

/// What a device is called in a policy file: its backend, name and driver, because a new driver may compile otherwise.
#[must_use]
pub fn device_key(report: &DeviceReport) -> String {
    let backend = report
        .backend()
        .map_or_else(|| "cpu".to_owned(), |backend| backend.to_string());
    plain(&format!("{backend} {}, {}", report.name, report.driver))
}

static LOADED: RwLock<Option<Policies>> = RwLock::new(None);

/// Makes the policies of a file hold for this process. Returns whether there were any; without, defaults hold.
pub fn load(path: &Path) -> bool {
    let policies = read(path);
    let found = policies.is_some();
    *LOADED.write().unwrap_or_else(PoisonError::into_inner) = policies;
    found
}

fn read(path: &Path) -> Option<Policies> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Policies::parse(&text).ok()
}

/// The layout that holds for a kernel on a device: the loaded one where it lies in the kernel's space, else `default`.
#[must_use]
pub fn tuning(report: &DeviceReport, kernel: &str, space: &Space, default: Tuning) -> Tuning {
    let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
    loaded
        .as_ref()
        .and_then(|policies| policies.get(&device_key(report), kernel))
        .filter(|tuning| space.contains(*tuning))
        .unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNING: Tuning = Tuning {
        units: 256,
        items: 4,
        vector: 2,
    };

    #[test]
    fn what_is_written_is_read() {
        let mut policies = Policies::default();
        policies.set("cuda A\tB", "copy", TUNING);
        policies.set("vulkan", "map add", Tuning { items: 1, ..TUNING });
        let again = Policies::parse(&policies.to_string()).unwrap();
        assert_eq!(again, policies);
        assert_eq!(again.get("cuda A B", "copy"), Some(TUNING));
        assert_eq!(again.get("cuda A B", "table"), None);
    }

    #[test]
    fn a_broken_text_names_its_line() {
        assert_eq!(Policies::parse(""), Err(PolicyError::Foreign));
        assert_eq!(Policies::parse("{}"), Err(PolicyError::Foreign));
        for line in [
            "device",
            "device\tcopy",
            "device\tcopy\tunits=1 items=2",
            "device\tcopy\tunits=1 items=2 vector=-1",
            "device\tcopy\tunits=1 items=2 vector=1 more=1",
            "device\tcopy\tunits=1 items=2 vector=1\tmore",
        ] {
            let text = format!("{HEADER}\n\n{line}\n");
            assert_eq!(Policies::parse(&text), Err(PolicyError::Line(3)), "{line}");
        }
    }

    #[test]
    fn a_space_holds_what_it_lists() {
        let space = Space {
            units: &[64, 256],
            items: &[1, 4],
            vectors: &[2],
        };
        let all: Vec<Tuning> = space.all().collect();
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|tuning| space.contains(*tuning)));
        assert!(!space.contains(Tuning { units: 128, ..TUNING }));
    }
}
