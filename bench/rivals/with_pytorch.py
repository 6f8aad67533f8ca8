"""PyTorch on the first CUDA device: `with_pytorch.py RECORD`. RIVALS_DRY=1 runs the same on the CPU with small sizes, to try it out."""

import gc
import os
import sys

import numpy
import torch
import torch.nn.functional as functional

import reference
from record import Record, events, power, rotation

DRY = os.environ.get("RIVALS_DRY") == "1"
DEVICE = "cpu" if DRY else "cuda"
COMMAND = "bench/rivals/run OUT gpu"
SLICE = 1 << 20


def open_record(path):
    """The record, timed by device events."""
    if DRY:
        from record import wall

        return Record(path, "PyTorch", torch.__version__, "a dry run", "", COMMAND, lambda run, _: wall(run, 0.01))
    sample = events(
        lambda: torch.cuda.Event(enable_timing=True), lambda a, b: a.elapsed_time(b), torch.cuda.synchronize
    )
    driver = f"CUDA {torch.version.cuda}"
    return Record(path, "PyTorch", torch.__version__, torch.cuda.get_device_name(0), driver, COMMAND, sample)


def sized(full, dry):
    return dry if DRY else full


def shaped(shape):
    return shape if isinstance(shape, tuple) else (shape,)


def bytes_of(shape, seed):
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    return torch.randint(0, 256, shaped(shape), dtype=torch.uint8, device=DEVICE, generator=generator)


def floats_of(shape, seed):
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    return torch.rand(shaped(shape), dtype=torch.float32, device=DEVICE, generator=generator)


def words_of(shape, seed):
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    return torch.randint(-(2**31), 2**31 - 1, shaped(shape), dtype=torch.int32, device=DEVICE, generator=generator)


def host(tensor):
    return tensor.cpu().numpy()


def ends(tensor):
    """The first and the last elements on the host."""
    flat = tensor.reshape(-1)
    return numpy.concatenate([host(flat[:SLICE]), host(flat[-SLICE:])])


def same(found, expected):
    return None if numpy.array_equal(found, expected) else "it differs"


def free():
    gc.collect()
    if not DRY:
        torch.cuda.empty_cache()


ENDS = "the first and last 2^20 elements with NumPy"


def maps(record):
    for n in sized([1 << 24, 1 << 28], [1 << 12]):
        k = rotation(8 * n)
        a, out = [words_of(n, i) for i in range(k)], [words_of(n, 99) for _ in range(k)]
        record.rival("copy", f"{power(n)} u32", "torch.Tensor.copy_", ENDS, lambda i: out[i % k].copy_(a[i % k]), lambda: same(ends(out[0]), ends(a[0])))
        del a, out
        free()
        k = rotation(12 * n)
        a, b = [floats_of(n, i) for i in range(k)], [floats_of(n, 50 + i) for i in range(k)]
        out = [torch.full_like(a[0], -7) for _ in range(k)]
        record.rival(
            "map/add", f"{power(n)} f32", "torch.add", ENDS,
            lambda i: torch.add(a[i % k], b[i % k], out=out[i % k]), lambda: same(ends(out[0]), ends(a[0]) + ends(b[0])),
        )
        del a, b, out
        free()
        x, table = bytes_of(n, 3), bytes_of(256, 4)
        kept = {}
        record.rival(
            "map/table-u8", f"{power(n)} u8", "torch.index_select", ENDS + "; the samples widened to i32 each time",
            lambda i: kept.update(y=torch.index_select(table, 0, x.int())), lambda: same(ends(kept["y"]), host(table)[ends(x)]),
        )
        del x, kept
        free()


def transposes(record):
    for side in sized([4096, 16384], [64]):
        for kind, make in (("u32", words_of), ("u8", bytes_of)):
            k = rotation(2 * side * side * (4 if kind == "u32" else 1))
            a = [make((side, side), i) for i in range(k)]
            out = [torch.zeros_like(a[0]) for _ in range(k)]
            record.rival(
                f"transpose/{kind}", f"{side} × {side} {kind}", "torch.Tensor.copy_ of .t()", "512 rows with NumPy",
                lambda i: out[i % k].copy_(a[i % k].t()), lambda: same(host(out[0][:512]), host(a[0][:, :512]).T),
            )
            del a, out
            free()


def stitches(record):
    for kind, width in (("f32", sized(10240, 640)), ("u8", sized(32768, 640))):
        for side in (16, 100, 128, 1000):
            pattern = floats_of((side, side), side) if kind == "f32" else bytes_of((side, side), side)
            count = -(-width // side)
            kept = {}

            def check():
                return same(host(kept["y"][-300:]), reference.repeated(host(pattern), width, width, 300))

            record.rival(
                f"repeat/{kind}", f"{side}² over {width} × {width} {kind}", "torch.tile", "the last 300 rows with NumPy",
                lambda i: kept.update(y=torch.tile(pattern, (count, count))[:width, :width]), check,
            )
            kept.clear()
            free()


def stencils(record):
    side = sized(16384, 300)
    picture = floats_of((side, side), 1)
    four = picture.view(1, 1, side, side)
    label = f"{side} × {side} f32"
    kept = {}

    def rival(ladder, parameter, name, run, expected, inset, budget=0.4):
        """`inset` pixels of the border are left out: zeros are outside there."""
        def check():
            found = host(kept["y"][0, 0, : reference.CORNER, : reference.CORNER])[inset:, inset:]
            return reference.differ(found, expected[inset:, inset:], 1e-4)

        how = f"{reference.CORNER}² pixels with NumPy in f64, but for {inset} at the border"
        record.rival(ladder, f"{label}, {parameter}", name, how, lambda i: kept.update(y=run()), check, budget)
        kept.clear()
        free()

    for r in (1, 5, 15):
        rival("stencil/box-f32", f"r = {r}", "torch avg_pool2d", lambda: functional.avg_pool2d(four, 2 * r + 1, 1, r), reference.box(host(picture[:400, :400]), r), r)
    for r in (1, 15):
        rival("stencil/erosion-f32", f"least, r = {r}", "torch −max_pool2d(−x)", lambda: -functional.max_pool2d(-four, 2 * r + 1, 1, r), reference.erosion(host(picture[:400, :400]), r), 0)
    weights = torch.from_numpy(reference.bell(2.0).astype(numpy.float32)).to(DEVICE)
    across, down = weights.view(1, 1, 1, -1), weights.view(1, 1, -1, 1)
    rival(
        "stencil/gauss-f32", "sigma 2, r = 8", "torch conv2d, two axes",
        lambda: functional.conv2d(functional.conv2d(four, across, padding=(0, 8)), down, padding=(8, 0)), reference.gauss(host(picture[:400, :400]), 2.0), 8,
    )
    slope = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]], device=DEVICE)
    both = torch.stack([slope, slope.t()]).view(2, 1, 3, 3)
    rival("stencil/sobel-f32", "r = 1", "torch conv2d, both directions", lambda: functional.conv2d(four, both, padding=1).abs().sum(1, keepdim=True), reference.sobel(host(picture[:400, :400])), 1)


def sums(record):
    for n in sized([1 << 24, 1 << 28], [1 << 12]):
        k = rotation(4 * n)
        a = [floats_of(n, i) for i in range(k)]
        kept = {}

        def near():
            expected = float(a[0].double().sum())
            return None if abs(float(kept["y"]) / expected - 1) < 1e-5 else f"it is {float(kept['y'])} instead of {expected}"

        record.rival("reduce/sum-f32", f"{power(n)} f32", "torch.sum", "the sum in f64, by a part in 10^5", lambda i: kept.update(y=a[i % k].sum()), near)
        del a
        free()
        for kind, make in (("u32", words_of), ("u8", bytes_of)):
            k = rotation(8 * n)
            a = [make(n, i) for i in range(k)]

            def steps():
                y = kept["y"]
                right = bool((y[1:] - y[:-1] == a[0][1:].int()).all()) and int(y[0]) == int(a[0][0])
                return None if right else "sums differ"

            record.rival(
                f"scan/{kind}", f"{power(n)} {kind}", "torch.cumsum", "every sum less the one before, which is the input",
                lambda i: kept.update(y=torch.cumsum(a[i % k], 0, dtype=torch.int32)), steps,
            )
            kept.clear()
            del a
            free()


def integrals(record):
    for side in sized([4096, 16384], [64]):
        kept = {}
        a = bytes_of((side, side), 1)

        def corners():
            y = kept["y"]
            inside = y[1:, 1:] - y[:-1, 1:] - y[1:, :-1] + y[:-1, :-1]
            right = bool((inside == a[1:, 1:]).all()) and int(y[0, -1]) == int(a[0].sum())
            return None if right else "sums differ"

        record.rival(
            "integral/u8", f"{side} × {side} u8", "torch.cumsum along both axes", "every sum with its neighbours and the input",
            lambda i: kept.update(y=a.cumsum(0, dtype=torch.int32).cumsum(1, dtype=torch.int32)), corners,
        )
        wide = f"{side} × {side} u8"
        record.rival(
            "integral/u8-u64", wide, "torch.cumsum along both axes", "every sum with its neighbours and the input",
            lambda i: kept.update(y=a.cumsum(0).cumsum(1)), corners,
        )
        kept.clear()
        b = floats_of((side, side), 1)

        def close():
            expected = b.double().cumsum(0).cumsum(1)
            most = float(((kept["y"] - expected).abs() / expected.clamp(min=1)).max())
            return None if most < 1e-3 else f"it differs by a part of {most:.2g}"

        record.rival(
            "integral/f32", f"{side} × {side} f32", "torch.cumsum along both axes", "every sum in f64, by a part in 10^3",
            lambda i: kept.update(y=b.cumsum(0).cumsum(1)), close,
        )
        del a, b
        kept.clear()
        free()


def histograms(record):
    for n in sized([1 << 24, 1 << 30], [1 << 12]):
        for kind in ("uniform", "gaussian", "constant"):
            x = bytes_of(n, 1)
            if kind == "constant":
                x.fill_(77)
            elif kind == "gaussian":  # The mean of four.
                total = x.to(torch.int16)
                for seed in (2, 3, 4):
                    total += bytes_of(n, seed)
                x = (total >> 2).to(torch.uint8)
                del total
            kept = {}

            def count():
                return same(host(kept["y"]), numpy.array([int((x == v).sum()) for v in range(256)]))

            label = f"{power(n)} u8, {kind}"
            record.rival(
                "histogram/u8", label, "torch.bincount", "every bin, counted alone",
                lambda i: kept.update(y=torch.bincount(x, minlength=256)), count, 0.3,
            )
            del x
            free()


def compactions(record):
    for kind in ("u32", "u8"):
        n = sized(1 << 28, 1 << 12)
        for percent in (1, 50, 99) if kind == "u32" else (50,):
            random = (words_of(n, 2) if kind == "u32" else bytes_of(n, 2)) | 1
            a = torch.where(floats_of(n, 1) * 100 < percent, random, torch.zeros_like(random))
            del random
            kept = {}

            def kept_right():
                values = host(a)
                return same(host(kept["y"]), values[values != 0])

            case = f"{power(n)} {kind}, {percent} %"
            also = [("select/sizes", case)] if (kind, percent) == ("u32", 50) else []
            record.rival(
                f"select/{kind}", case, "torch.masked_select", "every sample with NumPy; the count goes to the host",
                lambda i: kept.update(y=torch.masked_select(a, a != 0)), kept_right, 0.2, also,
            )
            del a
            kept.clear()
            free()


def matvecs(record):
    """cuBLAS; rows are sums of rows, columns sums of columns."""
    for rows, columns in sized([(4096, 4096), (12288, 12288), (1 << 20, 128), (128, 1 << 20)], [(64, 64)]):
        k = rotation(4 * rows * columns)
        a = [floats_of((rows, columns), i) for i in range(k)]
        case = f"{power(rows)} × {power(columns)} f32"
        for side, inner, outer in (("rows", columns, rows), ("columns", rows, columns)):
            x, y = floats_of(inner, 50), floats_of(outer, 51)
            matrices = a if side == "rows" else [m.t() for m in a]

            def near():
                expected = matrices[0].double() @ x.double()
                most = float(((y.double() - expected).abs() / expected.abs().clamp(min=1)).max())
                return None if most < 1e-3 else f"it differs by a part of {most:.2g}"

            def run(i):
                torch.mv(matrices[i % k], x, out=y)

            def right():
                run(0)
                return near()

            record.rival(f"matvec/{side}", case, "torch.mv (cuBLAS)", "every sum in f64, by a part in 10^3", run, right)
        del a
        free()


def matmuls(record):
    """cuBLAS, with TF32 off and on, and on numbers of 16 bits."""
    for n in sized([1024, 4096, 8192], [64]):
        case = " × ".join([power(n)] * 3)
        for ladder, kind, tf32, name in (
            ("f32", torch.float32, False, "torch.mm (cuBLAS)"),
            ("f32", torch.float32, True, "torch.mm (cuBLAS), TF32: 11 bits"),
            ("bf16", torch.bfloat16, False, "torch.mm (cuBLAS), into bf16"),
            ("f16", torch.float16, False, "torch.mm (cuBLAS), into f16"),
        ):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            width = torch.finfo(kind).bits // 8
            k = rotation(3 * width * n * n)
            a, b = ([floats_of((n, n), 2 * i + which).to(kind) for i in range(k)] for which in (0, 1))
            out = [torch.empty_like(a[0]) for _ in range(k)]
            part = {torch.float32: 1e-2 if tf32 else 1e-3}.get(kind, 1e-2)

            def near():
                torch.mm(a[0], b[0], out=out[0])
                expected = a[0][:256].double() @ b[0].double()
                most = float(((out[0][:256].double() - expected).abs() / expected.abs().clamp(min=1)).max())
                return None if most < part else f"it differs by a part of {most:.2g}"

            record.rival(
                f"matmul/{ladder}", f"{case} {ladder}", name, f"256 rows in f64, by a part of {part:g}",
                lambda i: torch.mm(a[i % k], b[i % k], out=out[i % k]), near,
            )
            del a, b, out
            free()
        torch.backends.cuda.matmul.allow_tf32 = False


def main():
    torch.set_grad_enabled(False)
    torch.backends.cudnn.allow_tf32 = False
    record = open_record(sys.argv[1])
    if not DRY:  # Brings the clocks up.
        a = floats_of((8192, 8192), 1)
        for _ in range(20):
            a @ a
        torch.cuda.synchronize()
        del a
        free()
    for family in (maps, transposes, stitches, stencils, sums, integrals, histograms, compactions, matvecs, matmuls):
        try:
            family(record)
        except Exception as error:  # A family that fails, for memory say, must not keep the others from being measured.
            print(f"{family.__name__}: {type(error).__name__}: {error}"[:300], flush=True)
            free()


if __name__ == "__main__":
    main()
