//! PNG of any colour type, depth and interlacing, with stored (uncompressed) data.

/// A picture as PNG has it: samples of `depth` bits, `channels()` per pixel.
pub(crate) struct Picture {
    pub width: u32,
    pub height: u32,
    /// 0 gray, 2 RGB, 3 palette, 4 gray and α, 6 RGB and α.
    pub color: u8,
    pub depth: u8,
    pub interlaced: bool,
    pub palette: Vec<[u8; 3]>,
    /// The contents of the chunk tRNS, where there is one.
    pub transparency: Option<Vec<u8>>,
    /// Row by row.
    pub samples: Vec<u16>,
}

impl Picture {
    pub(crate) fn channels(&self) -> usize {
        channels(self.color)
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = [self.width.to_be_bytes(), self.height.to_be_bytes()].concat();
        header.extend([self.depth, self.color, 0, 0, u8::from(self.interlaced)]);
        chunk(&mut file, b"IHDR", &header);
        if self.color == 3 {
            chunk(&mut file, b"PLTE", &self.palette.concat());
        }
        if let Some(transparency) = &self.transparency {
            chunk(&mut file, b"tRNS", transparency);
        }
        chunk(&mut file, b"IDAT", &stored(&self.rows()));
        chunk(&mut file, b"IEND", &[]);
        file
    }

    /// All rows, each after its filter byte 0; of interlaced pictures those of seven smaller ones.
    fn rows(&self) -> Vec<u8> {
        const ONE: [[u32; 4]; 1] = [[0, 0, 1, 1]];
        /// First column and row, steps (PNG, §8.1).
        const ADAM7: [[u32; 4]; 7] = [
            [0, 0, 8, 8],
            [4, 0, 8, 8],
            [0, 4, 4, 8],
            [2, 0, 4, 4],
            [0, 2, 2, 4],
            [1, 0, 2, 2],
            [0, 1, 1, 2],
        ];
        let passes: &[[u32; 4]] = if self.interlaced { &ADAM7 } else { &ONE };
        let mut rows = Vec::new();
        for &[x0, y0, dx, dy] in passes {
            if x0 >= self.width {
                continue;
            }
            for y in (y0..self.height).step_by(dy as usize) {
                rows.push(0);
                let xs = (x0..self.width).step_by(dx as usize);
                let samples: Vec<u16> = xs.flat_map(|x| self.pixel(x, y).to_vec()).collect();
                pack(&samples, self.depth, &mut rows);
            }
        }
        rows
    }

    pub(crate) fn pixel(&self, x: u32, y: u32) -> &[u16] {
        let start = (y * self.width + x) as usize * self.channels();
        &self.samples[start..start + self.channels()]
    }
}

pub(crate) fn channels(color: u8) -> usize {
    match color {
        0 | 3 => 1,
        2 => 3,
        4 => 2,
        _ => 4,
    }
}

/// Samples big-endian, the first in the high bits of a byte.
pub(crate) fn pack(samples: &[u16], depth: u8, into: &mut Vec<u8>) {
    if depth == 16 {
        into.extend(samples.iter().flat_map(|v| v.to_be_bytes()));
        return;
    }
    for part in samples.chunks(8 / usize::from(depth)) {
        let byte = part.iter().enumerate().fold(0, |byte, (i, v)| {
            byte | v << (8 - u16::from(depth) * (i as u16 + 1))
        });
        into.push(byte as u8);
    }
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(data);
    let sum = crc32(&file[start..]);
    file.extend(sum.to_be_bytes());
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951 §3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = data.len().div_ceil(65_535);
    for (i, block) in data.chunks(65_535).enumerate() {
        stream.push(u8::from(i + 1 == blocks));
        stream.extend((block.len() as u16).to_le_bytes());
        stream.extend((!(block.len() as u16)).to_le_bytes());
        stream.extend(block);
    }
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), &v| {
        let a = (a + u32::from(v)) % 65_521;
        (a, (b + a) % 65_521)
    });
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 == 1 {
                sum >> 1 ^ 0xEDB8_8320
            } else {
                sum >> 1
            }
        })
    })
}
