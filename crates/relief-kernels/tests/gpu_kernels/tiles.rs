//! Planes from their tiles, word by word.

use relief_kernels::tiles::gpu::{Grid, expand, packed, uniform};

use crate::support::{Random, device};

#[test]
fn every_word_is_that_of_its_tile() {
    let Some(gpu) = device() else { return };
    let mut random = Random::new(3);
    for (pitch, height, words, rows) in [
        (4, 1, 4, 1),
        (4, 3, 8, 2),
        (12, 70, 8, 64),
        (64, 9, 4, 3),
        (1_028, 130, 256, 64),
        (4, 700_000, 4, 1),
    ] {
        let grid = Grid {
            pitch,
            height,
            words,
            rows,
        };
        let (mut entries, mut tiles) = (Vec::new(), Vec::new());
        for _ in 0..grid.count() {
            if random.next() % 3 == 0 {
                entries.push(packed((tiles.len() as u64 / grid.tile()) as u32));
                tiles.extend((0..grid.tile()).map(|_| random.next()));
            } else {
                entries.push(uniform(random.next() as u16));
            }
        }
        let space = (pitch * height) as usize + 8;
        let output = gpu.upload(&vec![0xABAB_CDCD; space]).unwrap();
        expand(&gpu, grid, &entries, &tiles, &output).unwrap();
        let bytes = gpu.read(&output, output.words()).wait().unwrap();
        for (place, word) in bytes.chunks(4).enumerate() {
            let got = u32::from_le_bytes(word.try_into().unwrap());
            let (x, y) = (place as u32 % pitch, place as u32 / pitch);
            let want = if y >= height {
                0xABAB_CDCD
            } else {
                let entry = entries[(y / rows * pitch.div_ceil(words) + x / words) as usize];
                match entry.checked_sub(1 << 31) {
                    Some(sample) => sample * 0x1_0001,
                    None => tiles[((entry * rows + y % rows) * words + x % words) as usize],
                }
            };
            assert!(got == want, "at {x},{y} of {grid:?}: {got:x} is not {want:x}");
        }
    }
}

#[test]
fn entries_that_name_no_tile_are_refused() {
    let Some(gpu) = device() else { return };
    let grid = Grid {
        pitch: 8,
        height: 4,
        words: 4,
        rows: 4,
    };
    let output = gpu.buffer(32).unwrap();
    let tile = [7; 16];
    assert!(expand(&gpu, grid, &[packed(0), uniform(5)], &tile, &output).is_ok());
    assert!(expand(&gpu, grid, &[packed(0), packed(1)], &tile, &output).is_err());
    assert!(expand(&gpu, grid, &[packed(0)], &tile, &output).is_err());
    let small = gpu.buffer(16).unwrap();
    assert!(expand(&gpu, grid, &[uniform(0), uniform(5)], &[], &small).is_err());
    assert!(
        expand(
            &gpu,
            Grid { words: 6, ..grid },
            &[uniform(0), uniform(5)],
            &[],
            &output
        )
        .is_err()
    );
}
