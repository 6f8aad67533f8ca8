//! The meshes that a design names, each read once.

use std::io::Read;
use std::rc::Rc;

use relief_vector::Limits;
use relief_vector::mesh::Mesh;

use super::drawings::{MAX_BYTES, Unusable};
use super::{Checker, MAX_FILES};
use crate::report::Problem;
use crate::syntax::Span;
use crate::visible;

/// The most points and triangles of one mesh.
const LIMITS: Limits = Limits {
    bytes: MAX_BYTES,
    points: 1 << 23,
    items: 1 << 24,
    depth: 1,
    memory: u64::MAX,
};

impl Checker<'_> {
    /// The mesh of a file that is named at `span`; nothing where it cannot be used, which is noted.
    pub(crate) fn mesh(&mut self, path: &str, span: Span, help: &'static str) -> Option<Rc<Mesh>> {
        if !self.meshes.contains_key(path) {
            if self.meshes.len() == MAX_FILES {
                let problem = Problem::new("E104", format!("the design names more than {MAX_FILES} meshes"));
                self.note(
                    problem
                        .label(span, "one too many")
                        .help("put several of them into one file"),
                );
                return None;
            }
            let budget = self.drawing_budget();
            let limits = Limits {
                memory: budget.limits().memory,
                ..LIMITS
            };
            let named = |error: &dyn std::fmt::Display| format!("{}: {error}", visible(path));
            let reader = self.images.reader(path, MAX_BYTES);
            let mesh = reader.map_err(Unusable::from).and_then(|mut reader| {
                let reader: &mut dyn Read = &mut *reader;
                let mesh = Mesh::read(reader, limits)
                    .map_err(|error| Unusable::new(named(&error), error.refused()))?;
                if mesh.triangles() == 0 {
                    return Err(named(&"it has no triangles").into());
                }
                budget.take_memory((mesh.points() as u64 + mesh.triangles() as u64) * 12);
                Ok(Rc::new(mesh))
            });
            self.meshes.insert(path.to_owned(), mesh);
        }
        match self.meshes.get(path)? {
            Ok(mesh) => Some(Rc::clone(mesh)),
            Err(why) => {
                self.note(why.problem("mesh", span, help));
                None
            }
        }
    }
}
