"""Graphs of libvips, streamed in order to a callback that throws them away; one for every line `GRAPH WIDTH HEIGHT`, where GRAPH is
`repeat`, `repeat-table` or `compose`. Answers seconds and pixels.

`GRAPH WIDTH HEIGHT FILE` writes the samples instead, `pattern SIDE SIDE FILE` what is repeated. VIPS_CONCURRENCY says how many threads there are. The library is called directly: its command
line writes every step to a file.
"""

import ctypes
import ctypes.util
import sys
import time
from ctypes import byref, c_int, c_size_t, c_void_p

vips = ctypes.CDLL(ctypes.util.find_library("vips") or "libvips.so.42")
gobject = ctypes.CDLL(ctypes.util.find_library("gobject-2.0") or "libgobject-2.0.so.0")
glib = ctypes.CDLL(ctypes.util.find_library("glib-2.0") or "libglib-2.0.so.0")
glib.g_free.argtypes = [c_void_p]
vips.vips_init(b"measure")
vips.vips_image_write_to_memory.restype = c_void_p
vips.vips_image_write_to_memory.argtypes = [c_void_p, c_void_p]
vips.vips_version_string.restype = ctypes.c_char_p
vips.vips_image_new_from_memory_copy.restype = c_void_p
vips.vips_image_new_from_memory_copy.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_int]
vips.vips_cache_set_max(0)
Writer = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
nowhere = Writer(lambda region, area, context: 0)
END = c_void_p(None)
GAMMA = 2.2  # Samples to this power, as Relief's `gamma 2.2`.


def image(samples, width, height):
    """An image of one band of 8 bits."""
    return c_void_p(vips.vips_image_new_from_memory_copy(bytes(samples), len(samples), width, height, 1, 0))


def call(name, *arguments):
    """Calls an operation whose output follows its first argument."""
    out = c_void_p()
    first, *rest = arguments
    if getattr(vips, name)(first, byref(out), *rest, END) != 0:
        raise RuntimeError(name)
    return out


def noise(width, height):
    """Samples that look random; which ones does not matter for the time."""
    return [(at * 2654435761 >> 13) & 255 for at in range(width * height)]


def graph(name, width, height):
    """The graph and the images it was made of."""
    def repeat(side):
        cell = image(noise(side, side), side, side)
        whole = call("vips_replicate", cell, c_int(-(-width // side)), c_int(-(-height // side)))
        return [cell, whole, call("vips_crop", whole, c_int(0), c_int(0), c_int(width), c_int(height))]

    made = repeat(100)
    if name == "compose":
        first, second = made[-1], repeat(64)
        made += second
        both = (c_void_p * 2)(first, second[-1])
        # The greater of two samples: the second in order of rank. 8.14 has no vips_maxpair yet.
        made.append(call("vips_bandrank", both, c_int(2), ctypes.c_char_p(b"index"), c_int(1)))
    if name != "repeat":
        table = image([round(255 * (v / 255) ** GAMMA) for v in range(256)], 256, 1)
        made += [table, call("vips_maplut", made[-1], table)]
    return made


def samples(made):
    """The samples of an image."""
    size = c_size_t()
    memory = vips.vips_image_write_to_memory(made, byref(size))
    found = ctypes.string_at(memory, size.value)
    glib.g_free(memory)
    return found


print(vips.vips_version_string().decode(), flush=True)
for line in sys.stdin:
    name, width, height, *file = line.split()
    width, height = int(width), int(height)
    made = [image(noise(width, height), width, height)] if name == "pattern" else graph(name, width, height)
    if file:
        with open(file[0], "wb") as out:
            out.write(b"P5 %d %d 255\n" % (width, height) + samples(made[-1]))
        print("0 0", flush=True)
        continue
    start = time.perf_counter()
    if vips.vips_sink_disc(made[-1], nowhere, None) != 0:
        raise RuntimeError("vips_sink_disc")
    print(time.perf_counter() - start, width * height, flush=True)
    for each in reversed(made):
        gobject.g_object_unref(each)
