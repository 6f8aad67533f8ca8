//! A picture larger than any disk, in a file with holes. The tests of the program use it as well.

use std::os::unix::fs::FileExt;
use std::path::Path;

/// A BigTIFF of `side` × `side` pixels in tiles of 4096, uncompressed. The file is sparse: the pixels that `set` names are 255, and all
/// others are holes, which read as 0.
pub(crate) fn sparse_tiff(path: &Path, side: u64, set: &[(u64, u64)]) {
    const TILE: u64 = 4_096;
    let across = side.div_ceil(TILE);
    let tiles = across * across;
    let entries = 10_u64;
    let lists = 16 + 8 + entries * 20 + 8;
    let first = (lists + tiles * 16).next_multiple_of(TILE);
    let mut head = b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0".to_vec();
    head.extend(entries.to_le_bytes());
    for (tag, count, value) in [
        (256_u16, 1, side),
        (257, 1, side),
        (258, 1, 8),
        (259, 1, 1),
        (262, 1, 1),
        (277, 1, 1),
        (322, 1, TILE),
        (323, 1, TILE),
        (324, tiles, lists),
        (325, tiles, lists + tiles * 8),
    ] {
        head.extend(tag.to_le_bytes());
        head.extend(16_u16.to_le_bytes());
        head.extend(u64::to_le_bytes(count));
        head.extend(value.to_le_bytes());
    }
    head.extend([0; 8]);
    let place = |tile: u64| first + tile * TILE * TILE;
    head.extend((0..tiles).flat_map(|tile| place(tile).to_le_bytes()));
    head.extend((0..tiles).flat_map(|_| (TILE * TILE).to_le_bytes()));
    let file = std::fs::File::create(path).unwrap();
    file.set_len(place(tiles)).unwrap();
    file.write_all_at(&head, 0).unwrap();
    for (x, y) in set {
        let tile = y / TILE * across + x / TILE;
        let within = y % TILE * TILE + x % TILE;
        file.write_all_at(&[255], place(tile) + within).unwrap();
    }
}
