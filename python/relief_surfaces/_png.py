"""Gray arrays as PNG, for notebooks."""

from __future__ import annotations

import struct
import zlib
from typing import Any


def gray(samples: Any) -> bytes:
    """A PNG of 8 or 16 bits of a two-dimensional array of as many (PNG, third edition, W3C 2025)."""
    height, width = samples.shape
    bits = 8 * samples.dtype.itemsize
    rows = samples.astype(samples.dtype.newbyteorder(">"), copy=False)
    # Each row begins with its filter: none.
    data = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(data, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
