//! What holds for any bytes as a table of a scan. Used by the fuzz target and by the test that replays its corpus.

use relief_engine::Depth;
use relief_scan::Table;

/// A text is a table or refused; a table has an entry for every sample, none above the greatest, and is the same when its
/// entries are written out.
pub(crate) fn table(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for depth in [Depth::Eight, Depth::Sixteen] {
        let Ok(table) = Table::parse(text, depth) else {
            continue;
        };
        let entries = table.entries();
        assert_eq!(entries.len(), usize::from(depth.max()) + 1);
        assert!(entries.iter().all(|&entry| entry <= depth.max()));
        let again = Table::new(table.name(), depth, entries.to_vec());
        assert_eq!(again.ok().as_ref(), Some(&table), "{text}");
    }
}
