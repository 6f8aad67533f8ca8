"""Sizes of memory as people write and read them."""

from __future__ import annotations

from .errors import OptionError

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 1 << 10,
    "kib": 1 << 10,
    "m": 1 << 20,
    "mib": 1 << 20,
    "g": 1 << 30,
    "gib": 1 << 30,
    "t": 1 << 40,
    "tib": 1 << 40,
}


def size(option: str, value: int | str | None) -> int | None:
    """Bytes of a number, or of a text such as 64MiB."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        digits = text[: len(text) - len(text.lstrip("0123456789"))]
        factor = _UNITS.get(text[len(digits) :].strip().lower())
        if not digits or factor is None:
            raise OptionError(option, f"{value!r} is not a size of memory; write '64MiB', '2GiB' or '500MB'")
        value = int(digits) * factor
    if isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise OptionError(option, f"{value!r} is not a number of bytes")
    return value


def shown(count: int) -> str:
    """Bytes with a binary unit and three digits.

    >>> shown(1_000), shown(3_600_000_000_000)
    ('1000 B', '3.27 TiB')
    """
    value, unit = float(count), "B"
    for following in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"):
        if value < 1024:
            break
        value, unit = value / 1024, following
    return f"{count} B" if unit == "B" else f"{value:.3g} {unit}"
