//! Lines in the buffer, as they came off the wire.

use crate::message::Job;

/// Small payloads are joined up to so many bytes: a buffer of many small frames then takes little more memory than
/// their bytes, which are all that credit counts.
const JOINED: usize = 64 << 10;

/// The most bytes of a payload that is joined to the one before. A larger one outweighs what a piece costs.
const SMALL: usize = 4 << 10;

/// Consecutive lines: the payload of one frame, or of several small ones.
pub(super) struct Piece {
    /// Where lines are runs, a table of their lengths (u32 each), then the lines; else the lines alone.
    payload: Vec<u8>,
    /// Where the lines begin in the payload.
    start: usize,
    /// The bytes of every line; `None` where the table says them.
    fixed: Option<usize>,
    /// The number of the first line.
    first: u64,
    lines: u64,
    /// Counts aborts: a piece of an older generation is never executed.
    generation: u64,
}

impl Piece {
    /// The lines of a payload that was checked against the job; `lines` begin at `start` in it.
    pub(super) fn new(
        job: &Job,
        mut payload: Vec<u8>,
        start: usize,
        first: u64,
        lines: u64,
        generation: u64,
    ) -> Self {
        // Memory of a larger frame, used again for a smaller one, would be held for as long as the lines are.
        if payload.capacity() > payload.len() / 2 * 3 + SMALL {
            payload.shrink_to_fit();
        }
        Self {
            payload,
            start,
            fixed: (!job.run_length).then_some(job.line_bytes as usize),
            first,
            lines,
            generation,
        }
    }

    /// Joins the small payload of the frame that follows; `false` where it is left alone. `start` is where its lines
    /// begin.
    pub(super) fn join(&mut self, payload: &[u8], start: usize, lines: u64, generation: u64) -> bool {
        let bytes = self.payload.len() + payload.len();
        if payload.len() > SMALL || bytes > JOINED || self.generation != generation {
            return false;
        }
        let (table, rest) = payload.split_at(start);
        self.payload.splice(self.start..self.start, table.iter().copied());
        self.payload.extend_from_slice(rest);
        self.start += table.len();
        self.lines += lines;
        true
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) const fn lines(&self) -> u64 {
        self.lines
    }

    /// The bytes that count against the buffer, those of a table included.
    pub(super) const fn size(&self) -> u64 {
        self.payload.len() as u64
    }

    /// The bytes of the table: they count with the last line.
    pub(super) const fn table(&self) -> u64 {
        self.start as u64
    }

    /// All lines.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.payload[self.start..]
    }

    /// Each line.
    pub(super) fn each(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes();
        (0..self.lines as usize).map_while(move |index| {
            let length = match self.fixed {
                Some(bytes) => bytes,
                None => {
                    let entry = self.payload.get(4 * index..)?.first_chunk::<4>()?;
                    u32::from_le_bytes(*entry) as usize
                }
            };
            let (line, tail) = rest.split_at_checked(length)?;
            rest = tail;
            Some(line)
        })
    }

    /// The memory, for another payload.
    pub(super) fn into_memory(self) -> Vec<u8> {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relief_scan::Packing;

    fn job(run_length: bool) -> Job {
        Job {
            id: [0; 32],
            token: [0; 16],
            from: 0,
            lines: 100,
            samples: 3,
            channels: 1,
            passes: 1,
            line_bytes: if run_length { 9 } else { 3 },
            pixel: 0,
            width: 3,
            height: 100,
            packing: Packing::default(),
            run_length,
            design: [0; 32],
            scan: [0; 32],
            material: [0; 32],
            machine: [0; 32],
        }
    }

    #[test]
    fn joined_frames_hold_the_lines_of_each_in_order() {
        for run_length in [false, true] {
            let frame = |number: u8| {
                let table = if run_length {
                    3_u32.to_le_bytes().to_vec()
                } else {
                    Vec::new()
                };
                let start = table.len();
                ([table, vec![3, 0, number]].concat(), start)
            };
            let (payload, start) = frame(0);
            let mut piece = Piece::new(&job(run_length), payload, start, 7, 1, 0);
            for number in 1..50 {
                let (payload, start) = frame(number);
                assert!(piece.join(&payload, start, 1, 0));
            }
            assert_eq!((piece.first(), piece.lines()), (7, 50));
            let lines: Vec<u8> = piece.each().map(|line| line[2]).collect();
            assert_eq!(lines, (0..50).collect::<Vec<u8>>());
            let (payload, start) = frame(50);
            assert!(!piece.join(&payload, start, 1, 1), "of another generation");
        }
    }

    #[test]
    fn many_small_frames_hold_little_more_memory_than_their_bytes() {
        let (mut pieces, mut bytes): (Vec<Piece>, usize) = (Vec::new(), 0);
        for _ in 0..100_000 {
            // Memory that a frame of a mebibyte left.
            let mut payload = Vec::with_capacity(1 << 20);
            payload.extend_from_slice(&[3, 0, 0, 0, 3, 0, 9]);
            bytes += payload.len();
            let joined = pieces.last_mut().is_some_and(|last| last.join(&payload, 4, 1, 0));
            if !joined {
                pieces.push(Piece::new(&job(true), payload, 4, 0, 1, 0));
            }
        }
        let held: usize = pieces
            .iter()
            .map(|piece| piece.payload.capacity() + size_of::<Piece>())
            .sum();
        assert!(held < 2 * bytes, "{held} bytes are held for {bytes}");
    }
}
