//! The drawings that a design names as files, each read once for all that it is read with.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

use relief_vector::text::Font;
use relief_vector::{Drawing, Limits, Pixel, Refused};

use super::{Asset, Checker, MAX_FILES};
use crate::report::Problem;
use crate::syntax::Span;
use crate::visible;

/// The most points of all drawings that a design reads from files, each counted for every size that it is drawn in.
pub const MAX_DRAWING_POINTS: u64 = 1 << 26;

/// The most bytes of a file with a drawing.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// The most bytes of a file with a font.
const MAX_FONT: u64 = 1 << 26;

const FONT_HELP: &str = "the path is relative to the folder of the design file, and fonts of the system are not looked at; a font has at most 64 MiB: \
    of a larger one, or where memory does not do, make one of the letters that are written";

/// A drawing as its file has it.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// In pixels of the canvas, not scaled.
    pub(crate) drawing: Arc<Drawing>,
    /// Columns and rows, where the file says them.
    pub(crate) size: Option<(f64, f64)>,
    /// Width and height of its box in pixels, not rounded, where it has one.
    pub(crate) sides: Option<(f64, f64)>,
    /// The metres that a number of the file stands for, where the node may say so.
    pub(crate) unit: Option<f64>,
    /// The file, where it is drawn anew in other sizes.
    pub(crate) text: Arc<String>,
    /// What is not drawn as the file has it.
    pub(crate) warnings: Vec<Doubt>,
}

/// Something that is not drawn as the file has it, and what would help.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) what: String,
    pub(crate) help: &'static str,
}

/// Why a file cannot be used.
#[derive(Clone, Debug)]
pub(crate) struct Unusable {
    pub(crate) why: String,
    /// It could be with more memory.
    pub(crate) is_short_of_memory: bool,
    /// The limit that was passed, where it was one.
    refused: Option<Refused>,
}

impl From<String> for Unusable {
    fn from(why: String) -> Self {
        Self {
            why,
            is_short_of_memory: false,
            refused: None,
        }
    }
}

impl Unusable {
    /// A file that is refused by a reader: by the limit `refused`, or for another reason.
    pub(crate) fn new(why: String, refused: Option<Refused>) -> Self {
        Self {
            why,
            is_short_of_memory: refused.is_some_and(|refused| refused.is_memory()),
            refused,
        }
    }

    /// A file for which there is not so much memory.
    pub(crate) fn memory(path: &str, limit: u64) -> Self {
        let refused = Refused::Memory(limit);
        Self::new(format!("{}: {refused}", visible(path)), Some(refused))
    }

    /// What is noted of a font.
    fn font_problem(&self, span: Span) -> Problem {
        let problem = Problem::new("E510", format!("the font cannot be used: {}", self.why));
        let help = if self.is_short_of_memory {
            "allow more by --memory, name fewer fonts, or make one of the letters that are written"
        } else {
            FONT_HELP
        };
        let problem = problem.label(span, "this file").help(help);
        problem.short_of_memory(self.is_short_of_memory)
    }

    /// What is noted: that `what` cannot be used, and why; `help` where memory is not what it lacks.
    pub(crate) fn problem(&self, what: &str, span: Span, help: &'static str) -> Problem {
        let problem = Problem::new("E510", format!("the {what} cannot be used: {}", self.why));
        problem
            .label(span, "this file")
            .help(match self.refused {
                Some(Refused::Memory(_)) => MORE_MEMORY,
                Some(Refused::Far(..)) => NEARER,
                Some(Refused::Points(_) | Refused::Items(_)) => FEWER,
                Some(Refused::Negative(..)) | None => help,
            })
            .short_of_memory(self.is_short_of_memory)
    }
}

/// Points that drawings may yet have, and memory that they may take.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    points: Rc<Cell<u64>>,
    memory: Rc<Cell<u64>>,
}

/// What to do where the memory of a job does not do for reading a file.
pub(crate) const MORE_MEMORY: &str =
    "allow more by --memory, or take less of the file: fewer layers, or a part of it in a file of its own";

/// What to do where something lies too far out, or is too much.
const NEARER: &str = "a length in the file is far too large, or it has another unit than the node or the canvas says: mend it there, or leave that out";
const FEWER: &str = "take less of the file: fewer layers, or a part of it in a file of its own";

impl Budget {
    pub(crate) fn new(memory: u64) -> Self {
        Self {
            points: Rc::new(Cell::new(MAX_DRAWING_POINTS)),
            memory: Rc::new(Cell::new(memory)),
        }
    }

    /// What the next drawing may hold.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            bytes: MAX_BYTES,
            points: self.points.get(),
            memory: self.memory.get(),
            items: 1 << 22,
            ..Limits::default()
        }
    }

    /// Notes what it holds.
    pub(crate) fn take(&self, drawing: &Drawing) {
        self.take_points(drawing.points() as u64);
        self.take_memory(drawing.bytes());
    }

    /// Notes that so many bytes more are held.
    pub(crate) fn take_memory(&self, bytes: u64) {
        self.memory.set(self.memory.get().saturating_sub(bytes));
    }

    /// Whether so many bytes may be held beside what is.
    pub(crate) fn has_memory(&self, bytes: u64) -> bool {
        bytes <= self.memory.get()
    }

    /// Notes that so many points more are held.
    pub(crate) fn take_points(&self, points: u64) {
        self.points.set(self.points.get().saturating_sub(points));
    }
}

/// How many bytes a file has, or one more than `most`, and the font whose file is equal to it.
fn compared<'f>(
    file: &mut dyn Read,
    most: u64,
    held: impl Iterator<Item = &'f Rc<Font>>,
) -> std::io::Result<(u64, Option<Rc<Font>>)> {
    let mut alike: Vec<&Rc<Font>> = held.collect();
    let mut part = vec![0; 1 << 16];
    let mut length = 0;
    let mut file = file.take(most.saturating_add(1));
    loop {
        let count = match file.read(&mut part) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        alike.retain(|font| font.bytes().get(length..length + count) == Some(&part[..count]));
        length += count;
    }
    let equal = alike.into_iter().find(|font| font.bytes().len() == length);
    Ok((length as u64, equal.map(Rc::clone)))
}

impl Checker<'_> {
    /// The points that drawings of files may yet have.
    pub(crate) fn drawing_budget(&self) -> Budget {
        self.drawing_budget.clone()
    }

    /// The side of a pixel for what draws, where the canvas says one.
    pub(crate) fn drawing_pixel(&self) -> Option<Pixel> {
        let (above, below) = self.pixel()?.terms();
        Pixel::metres(above, below)
    }

    /// The font of a file that is named at `span`; nothing where it cannot be used, which is noted.
    pub(crate) fn font(&mut self, path: &str, span: Span) -> Option<Rc<Font>> {
        if !self.fonts.contains_key(path) {
            if self.fonts.len() == MAX_FILES {
                let problem = Problem::new("E104", format!("the design names more than {MAX_FILES} fonts"));
                let problem = problem.label(span, "one too many");
                self.note(problem.help("name the same file for texts of the same letters"));
                return None;
            }
            let font = self.read_font(path);
            self.fonts.insert(path.to_owned(), font);
        }
        match self.fonts.get(path)? {
            Ok(font) => Some(Rc::clone(font)),
            Err(why) => {
                let problem = why.font_problem(span);
                self.note(problem);
                None
            }
        }
    }

    /// A font; one whose file is equal to one that was read is that one.
    fn read_font(&mut self, path: &str) -> Result<Rc<Font>, Unusable> {
        let budget = self.drawing_budget();
        let memory = budget.limits().memory;
        let reader = || self.images.reader(path, MAX_FONT);
        let failed = |error: std::io::Error| format!("{}: {error}", visible(path));
        // Looked at once beside those that are held, so that an equal one is never held twice, and a new one in no more than its bytes.
        let most = memory.min(MAX_FONT);
        let held = self.fonts.values().flatten();
        let (length, equal) = compared(&mut *reader()?, most, held).map_err(failed)?;
        if let Some(font) = equal {
            return Ok(font);
        }
        if length > memory {
            return Err(Unusable::memory(path, memory));
        }
        if length > MAX_FONT {
            return Err(format!("{} has more than {MAX_FONT} bytes", visible(path)).into());
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        reader()?.read_exact(&mut bytes).map_err(failed)?;
        let font = Font::parse(bytes)
            .map_err(|error| Unusable::new(format!("{}: {error}", visible(path)), error.refused()))?;
        budget.take_memory(length);
        self.font_bytes = self.font_bytes.saturating_add(length);
        Ok(Rc::new(font))
    }

    /// A drawing of a file that is named at `span`: as it was read before, or as `read` reads it through. Nothing where it
    /// cannot be used; that is noted.
    pub(crate) fn drawing(
        &mut self,
        asset: Asset,
        span: Span,
        help: &'static str,
        read: impl FnOnce(&mut dyn Read, &Budget) -> Result<Loaded, Unusable>,
    ) -> Option<Loaded> {
        if !self.drawings.contains_key(&asset) {
            if self.drawings.len() == MAX_FILES {
                let problem =
                    Problem::new("E104", format!("the design names more than {MAX_FILES} drawings"));
                self.note(
                    problem
                        .label(span, "one too many")
                        .help("put several of them into one file"),
                );
                return None;
            }
            let budget = self.drawing_budget();
            let reader = self.images.reader(&asset.path, MAX_BYTES);
            let loaded = reader
                .map_err(Unusable::from)
                .and_then(|mut reader| read(&mut *reader, &budget));
            if let Ok(loaded) = &loaded {
                budget.take(&loaded.drawing);
            }
            self.drawings.insert(asset.clone(), loaded);
        }
        match self.drawings.get(&asset)? {
            Ok(loaded) => Some(loaded.clone()),
            Err(why) => {
                self.note(why.problem("drawing", span, help));
                None
            }
        }
    }
}
