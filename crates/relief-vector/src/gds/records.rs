//! The records of a GDSII stream: a length of two bytes, a type, a kind of data, and the data, all big-endian.

use std::io::Read;

use crate::layout::{Error, Format, Place};

pub(super) mod kind {
    pub(crate) const HEADER: u8 = 0x00;
    pub(crate) const BGNLIB: u8 = 0x01;
    pub(crate) const LIBNAME: u8 = 0x02;
    pub(crate) const UNITS: u8 = 0x03;
    pub(crate) const ENDLIB: u8 = 0x04;
    pub(crate) const BGNSTR: u8 = 0x05;
    pub(crate) const STRNAME: u8 = 0x06;
    pub(crate) const ENDSTR: u8 = 0x07;
    pub(crate) const BOUNDARY: u8 = 0x08;
    pub(crate) const PATH: u8 = 0x09;
    pub(crate) const SREF: u8 = 0x0A;
    pub(crate) const AREF: u8 = 0x0B;
    pub(crate) const TEXT: u8 = 0x0C;
    pub(crate) const LAYER: u8 = 0x0D;
    pub(crate) const DATATYPE: u8 = 0x0E;
    pub(crate) const WIDTH: u8 = 0x0F;
    pub(crate) const XY: u8 = 0x10;
    pub(crate) const ENDEL: u8 = 0x11;
    pub(crate) const SNAME: u8 = 0x12;
    pub(crate) const COLROW: u8 = 0x13;
    pub(crate) const NODE: u8 = 0x15;
    pub(crate) const STRANS: u8 = 0x1A;
    pub(crate) const MAG: u8 = 0x1B;
    pub(crate) const ANGLE: u8 = 0x1C;
    pub(crate) const PATHTYPE: u8 = 0x21;
    pub(crate) const BOX: u8 = 0x2D;
    pub(crate) const BOXTYPE: u8 = 0x2E;
    pub(crate) const BGNEXTN: u8 = 0x30;
    pub(crate) const ENDEXTN: u8 = 0x31;
}

/// One record.
pub(super) struct Record<'a> {
    pub(super) at: u64,
    cell: Option<&'a str>,
    pub(super) kind: u8,
    pub(super) data: &'a [u8],
}

impl Record<'_> {
    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        fault(self.at, self.cell, what)
    }

    /// The whole numbers of two bytes, at least `count`.
    pub(super) fn shorts(&self, count: usize) -> Result<Vec<i16>, Error> {
        self.sized(2 * count)?;
        Ok(self
            .data
            .chunks_exact(2)
            .map(|b| i16::from_be_bytes([b[0], b[1]]))
            .collect())
    }

    /// The whole number of two bytes.
    pub(super) fn short(&self) -> Result<i16, Error> {
        Ok(self.shorts(1)?[0])
    }

    /// The whole number of four bytes.
    pub(super) fn long(&self) -> Result<i32, Error> {
        self.sized(4)?;
        Ok(i32::from_be_bytes([
            self.data[0],
            self.data[1],
            self.data[2],
            self.data[3],
        ]))
    }

    /// Points, each of two numbers of four bytes.
    pub(super) fn points(&self) -> Result<impl ExactSizeIterator<Item = (i32, i32)>, Error> {
        if self.data.is_empty() || !self.data.len().is_multiple_of(8) {
            return Err(self.fault(format!(
                "points take 8 bytes each, but there are {}",
                self.data.len()
            )));
        }
        Ok(self.data.chunks_exact(8).map(|b| {
            (
                i32::from_be_bytes([b[0], b[1], b[2], b[3]]),
                i32::from_be_bytes([b[4], b[5], b[6], b[7]]),
            )
        }))
    }

    /// The number `which` of eight bytes: a sign, an exponent of 16 in excess of 64, and 56 bits of a fraction, rounded to binary64.
    pub(super) fn real(&self, which: usize) -> Result<f64, Error> {
        self.sized(8 * (which + 1))?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.data[8 * which..8 * which + 8]);
        let bits = u64::from_be_bytes(bytes);
        let exponent = ((bits >> 56) & 0x7F) as i32 - 64;
        let value = libm::ldexp((bits & ((1 << 56) - 1)) as f64, 4 * exponent - 56);
        Ok(if bits >> 63 == 1 { -value } else { value })
    }

    /// A text, without the zero that fills it up.
    pub(super) fn text(&self) -> String {
        let end = self
            .data
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(self.data.len());
        String::from_utf8_lossy(&self.data[..end]).into_owned()
    }

    fn sized(&self, least: usize) -> Result<(), Error> {
        if self.data.len() < least {
            return Err(self.fault(format!(
                "its data take {least} bytes, but there are {}",
                self.data.len()
            )));
        }
        Ok(())
    }
}

/// Reads record after record.
pub(super) struct Records<R> {
    reader: R,
    at: u64,
    limit: u64,
    data: Vec<u8>,
    /// The cell that the records are of, as messages show it.
    pub(super) cell: Option<String>,
}

fn fault(at: u64, cell: Option<&str>, what: impl Into<String>) -> Error {
    Error::Record {
        place: Box::new(Place {
            at,
            block: None,
            cell: cell.map(str::to_owned),
        }),
        what: what.into(),
    }
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, limit: u64) -> Self {
        Self {
            reader,
            at: 0,
            limit,
            data: Vec::new(),
            cell: None,
        }
    }

    pub(super) fn fault(&self, at: u64, what: impl Into<String>) -> Error {
        fault(at, self.cell.as_deref(), what)
    }

    /// The next record. A stream that ends before it ought to is a fault.
    pub(super) fn next(&mut self) -> Result<Record<'_>, Error> {
        let at = self.at;
        let mut head = [0; 4];
        self.fill(&mut head, at)?;
        let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
        if at == 0
            && let Some(format) = Format::of(&head).filter(|format| *format != Format::Gds)
        {
            return Err(Error::Format(format));
        }
        if length < 4 || !length.is_multiple_of(2) {
            return Err(self.fault(at, format!("no record of GDSII is {length} bytes long")));
        }
        if at + length as u64 > self.limit {
            return Err(self.fault(at, format!("the layout is longer than {} bytes", self.limit)));
        }
        let mut data = std::mem::take(&mut self.data);
        data.resize(length - 4, 0);
        let filled = self.fill(&mut data, at);
        self.data = data;
        filled?;
        self.at = at + length as u64;
        Ok(Record {
            at,
            cell: self.cell.as_deref(),
            kind: head[2],
            data: &self.data,
        })
    }

    fn fill(&mut self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.fault(at, "the layout ends here, without the record ENDLIB"))
            }
            Err(error) => Err(Error::Io(error)),
        }
    }
}
