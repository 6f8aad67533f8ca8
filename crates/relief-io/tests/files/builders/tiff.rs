//! Uncompressed TIFF in strips or tiles, in either byte order.

use std::ops::Range;

use super::png::pack;

/// A picture as TIFF has it.
pub(crate) struct Picture {
    pub width: u32,
    pub height: u32,
    pub bits: u8,
    /// Samples per pixel, extra ones included.
    pub channels: usize,
    /// 0 white is zero, 1 black is zero, 2 RGB, 3 palette.
    pub photometric: u32,
    /// The kinds of the extra samples: 1 associated α, 2 unassociated α.
    pub extra: Vec<u32>,
    pub big_endian: bool,
    /// Width and height of the tiles; without, strips of 3 rows.
    pub tiles: Option<(u32, u32)>,
    /// Whether each channel has strips of its own, all of the first before those of the second.
    pub(crate) planar: bool,
    /// More tags: number and value.
    pub tags: Vec<(u16, u32)>,
    /// Row by row.
    pub samples: Vec<u16>,
}

impl Picture {
    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let chunks = self.chunks();
        let mut file = if self.big_endian {
            b"MM\0*".to_vec()
        } else {
            b"II*\0".to_vec()
        };
        let data: usize = chunks.iter().map(Vec::len).sum();
        file.extend(self.long(8 + data as u32 + data as u32 % 2));
        let mut offsets = Vec::new();
        for chunk in &chunks {
            offsets.push(file.len() as u32);
            file.extend(chunk);
        }
        file.resize(file.len().next_multiple_of(2), 0);
        let lengths = chunks.iter().map(|chunk| chunk.len() as u32).collect();
        self.directory(file, offsets, lengths)
    }

    fn directory(&self, mut file: Vec<u8>, offsets: Vec<u32>, lengths: Vec<u32>) -> Vec<u8> {
        let mut tags = vec![
            (256, vec![self.width]),
            (257, vec![self.height]),
            (258, vec![u32::from(self.bits); self.channels]),
            (262, vec![self.photometric]),
            (277, vec![self.channels as u32]),
        ];
        match self.tiles {
            Some((width, height)) => {
                tags.extend([
                    (322, vec![width]),
                    (323, vec![height]),
                    (324, offsets),
                    (325, lengths),
                ]);
            }
            None => tags.extend([(273, offsets), (278, vec![3]), (279, lengths)]),
        }
        if self.planar {
            tags.push((284, vec![2]));
        }
        if !self.extra.is_empty() {
            tags.push((338, self.extra.clone()));
        }
        tags.extend(self.tags.iter().map(|&(tag, value)| (tag, vec![value])));
        tags.sort();
        let after = file.len() + 2 + 12 * tags.len() + 4;
        let mut lists = Vec::new();
        file.extend(self.short(tags.len() as u16));
        for (tag, values) in tags {
            let long = matches!(tag, 256 | 257 | 273 | 278 | 279 | 322..=325);
            file.extend(self.short(tag));
            file.extend(self.short(if long { 4 } else { 3 }));
            file.extend(self.long(values.len() as u32));
            let mut bytes: Vec<u8> = match long {
                true => values.iter().flat_map(|&value| self.long(value)).collect(),
                false => values
                    .iter()
                    .flat_map(|&value| self.short(value as u16))
                    .collect(),
            };
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            if bytes.len() == 4 {
                file.extend(bytes);
            } else {
                file.extend(self.long((after + lists.len()) as u32));
                lists.extend(bytes);
            }
        }
        file.extend(self.long(0));
        file.extend(lists);
        file
    }

    fn chunks(&self) -> Vec<Vec<u8>> {
        let (width, height) = self.tiles.unwrap_or((self.width, 3));
        let mut chunks = Vec::new();
        let all = 0..self.channels;
        let planes: Vec<_> = if self.planar {
            all.map(|c| c..c + 1).collect()
        } else {
            vec![all]
        };
        for plane in planes {
            for y in (0..self.height).step_by(height as usize) {
                for x in (0..self.width).step_by(width as usize) {
                    // Tiles are padded at the right and at the bottom, strips are not.
                    let rows = if self.tiles.is_some() {
                        height
                    } else {
                        height.min(self.height - y)
                    };
                    chunks.push(self.chunk(x, y, width, rows, plane.clone()));
                }
            }
        }
        chunks
    }

    fn chunk(&self, x: u32, y: u32, width: u32, height: u32, plane: Range<usize>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for y in y..y + height {
            let row: Vec<u16> = (x..x + width)
                .flat_map(|x| self.pixel(x, y)[plane.clone()].to_vec())
                .collect();
            let start = bytes.len();
            pack(&row, self.bits, &mut bytes);
            if self.bits == 16 && !self.big_endian {
                bytes[start..]
                    .chunks_exact_mut(2)
                    .for_each(|pair| pair.swap(0, 1));
            }
        }
        bytes
    }

    /// The samples of a pixel; padding has odd ones that must not show.
    pub(crate) fn pixel(&self, x: u32, y: u32) -> Vec<u16> {
        if x >= self.width || y >= self.height {
            return vec![1; self.channels];
        }
        let start = (y * self.width + x) as usize * self.channels;
        self.samples[start..start + self.channels].to_vec()
    }

    fn short(&self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn long(&self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }
}
