"""Makes the drawings of the tests with ezdxf, and what is expected of them with its own geometry.

    pip install ezdxf==1.4.5 numpy
    python make.py

NAME.dxf is a file of ezdxf without what nothing here reads: tables but for layers, classes and objects. NAME.expected holds, a line
each: the side of a pixel in units of the file, columns and rows, left and top of the grid, and the share of every pixel that is
covered, by 32 x 32 places in it. Curves are those of `ezdxf.path`, flattened to 1/10 000; inserts are taken apart by `virtual_entities`; lines of
more than one width are the faces of `ezdxf.render.trace`.
"""

import io
import math
import pathlib

import ezdxf
import numpy as np
from ezdxf import path
from ezdxf.enums import InsertUnits
from ezdxf.render.trace import TraceBuilder

HERE = pathlib.Path(__file__).parent
FINE = 32


def curves():
    """Every kind of curve, with holes, bulges of both signs, and curves that are seen from below."""
    doc = ezdxf.new("R2000")
    doc.header["$INSUNITS"] = InsertUnits.Millimeters
    doc.layers.add("CUT")
    doc.layers.add("GONE").off()
    space = doc.modelspace()
    space.add_circle((12, 12), 10)
    space.add_circle((13, 12), 4.5, dxfattribs={"layer": "CUT"})
    space.add_lwpolyline(
        [(30, 4, 0), (42, 4, 0.5), (42, 16, -0.8), (36, 20, 0), (30, 18, 1.7)], format="xyb", close=True
    )
    space.add_polyline2d([(50, 3, 1), (58, 3, 1)], format="xyb", close=True)
    space.add_ellipse((70, 12), major_axis=(7, 4), ratio=0.4)
    space.add_lwpolyline([(-50, 22), (-58, 24), (-54, 30)], close=True, dxfattribs={"extrusion": (0, 0, -1)})
    space.add_solid([(62, 22), (70, 22), (63, 30), (72, 28)])
    # Lines and arcs that close, in any direction, as CAD programs leave them.
    space.add_line((5, 26), (20, 26))
    space.add_arc((20, 29), 3, -90, 90)
    space.add_line((5, 32), (20, 32))
    space.add_arc((5, 29), 3, 90, 270)
    space.add_circle((40, 27), 9, dxfattribs={"layer": "GONE"})
    return doc


def blocks():
    """Blocks in blocks: turned, scaled by two factors, mirrored, with a base, and in arrays."""
    doc = ezdxf.new("R2000")
    doc.header["$INSUNITS"] = InsertUnits.Inches
    leaf = doc.blocks.new("leaf", base_point=(1, 2))
    leaf.add_lwpolyline([(1, 2), (4, 2), (4, 3), (2, 3), (2, 6), (1, 6)], close=True)
    leaf.add_circle((6, 4), 1)
    pair = doc.blocks.new("PAIR")
    pair.add_blockref("LEAF", (0, 0), dxfattribs={"rotation": 90})
    pair.add_blockref("leaf", (8, 1), dxfattribs={"xscale": -1.5, "yscale": 0.75, "rotation": 30})
    space = doc.modelspace()
    space.add_blockref(
        "Pair",
        (4, 3),
        dxfattribs={"column_count": 3, "row_count": 2, "column_spacing": 16.3, "row_spacing": 11.9, "rotation": 10},
    )
    space.add_blockref("LEAF", (-52, 30), dxfattribs={"extrusion": (0, 0, -1), "rotation": 45})
    space.add_circle((3, 30), 2.5)
    return doc


def tapers():
    """Lines of more than one width: straight, around corners to both sides, closed, along arcs, and in blocks that are turned and mirrored. Arcs go on in the
    direction of the sides beside them, as ezdxf joins no others, and widths are the same on both sides of a corner, as it cuts off the head of an arrow."""
    doc = ezdxf.new("R2000")
    doc.header["$INSUNITS"] = InsertUnits.Millimeters
    space = doc.modelspace()
    line = [(3, 3, 0.5, 3), (15, 5, 3, 1), (20, 13, 1, 2.5), (31, 9, 2.5, 0), (38, 15)]
    space.add_lwpolyline([(*corner, 0, 0)[:4] for corner in line], format="xyse")
    space.add_lwpolyline([(45, 4, 1, 3), (60, 6, 3, 2), (52, 17, 2, 1)], format="xyse", close=True)
    # An arc that goes on straight.
    space.add_lwpolyline([(24, 22, 1, 2, 0), (32, 22, 2, 4, 1), (32, 34, 4, 0.5, 0), (24, 34, 0, 0, 0)], format="xyseb")
    space.add_lwpolyline([(45, 34, 3, 0.2, -0.7), (60, 30, 0, 0, 0)], format="xyseb")
    old = space.add_polyline2d([(4, 32), (12, 36), (20, 32)], dxfattribs={"default_start_width": 2.5, "default_end_width": 2.5})
    old.vertices[0].dxf.start_width = 0.25
    old.vertices[1].dxf.end_width = 1
    leaf = doc.blocks.new("leaf", base_point=(1, 1))
    leaf.add_lwpolyline([(1, 1, 0, 1.5), (4, 2, 1.5, 0.5), (5, 5, 0, 0)], format="xyse")
    space.add_blockref("leaf", (62, 22), dxfattribs={"rotation": 30, "xscale": -2, "yscale": 2})
    return doc


def outlines(doc):
    """Outlines of what is drawn: a list of elements, each a list of closed outlines under the even-odd rule."""
    hidden = {layer.dxf.name for layer in doc.layers if layer.is_off() or layer.is_frozen()}

    def of(entities, elements):
        closed, pieces = [], []
        for entity in entities:
            if entity.dxf.layer in hidden:
                continue
            if entity.dxftype() == "INSERT":
                for one in entity.multi_insert() if entity.mcount > 1 else [entity]:
                    of(list(one.virtual_entities()), elements)
            elif entity.dxftype() == "SOLID":
                elements.append([[(v.x, v.y) for v in entity.wcs_vertices()]])
            elif entity.dxftype() in ("LWPOLYLINE", "POLYLINE") and entity.has_width:
                trace = TraceBuilder.from_polyline(entity, segments=2048)
                elements.extend([[(v.x, v.y) for v in face]] for face in trace.faces_wcs(entity.ocs(), 0))
            else:
                points = [(v.x, v.y) for v in path.make_path(entity).flattening(1e-4)]
                (closed if math.dist(points[0], points[-1]) < 1e-6 else pieces).append(points)
        while pieces:
            whole = pieces.pop()
            while math.dist(whole[0], whole[-1]) > 1e-6:
                for i, piece in enumerate(pieces):
                    if math.dist(piece[0], whole[-1]) < 1e-6:
                        break
                    if math.dist(piece[-1], whole[-1]) < 1e-6:
                        piece.reverse()
                        break
                whole += pieces.pop(i)[1:]
            closed.append(whole)
        # All closed curves are one element.
        elements[0] += closed

    elements = [[]]
    of(list(doc.modelspace()), elements)
    return elements


def covered(outline, xs, ys):
    inside = np.zeros((len(ys), len(xs)), bool)
    for (ax, ay), (bx, by) in zip(outline, outline[1:] + outline[:1]):
        if ay == by:
            continue
        rows = (ys >= min(ay, by)) & (ys < max(ay, by))
        cross = ax + (ys[rows] - ay) * (bx - ax) / (by - ay)
        inside[rows] ^= xs[None, :] > cross[:, None]
    return inside


def write(name, doc, side):
    elements = outlines(doc)
    points = np.array([p for element in elements for outline in element for p in outline])
    left, top = points[:, 0].min(), points[:, 1].max()
    columns = math.ceil((points[:, 0].max() - left) / side)
    rows = math.ceil((top - points[:, 1].min()) / side)
    xs = left + (np.arange(columns * FINE) + 0.5) / FINE * side
    ys = top - (np.arange(rows * FINE) + 0.5) / FINE * side
    whole = np.zeros((len(ys), len(xs)), bool)
    for element in elements:
        own = np.zeros_like(whole)
        for outline in element:
            own ^= covered(outline, xs, ys)
        whole |= own
    shares = whole.reshape(rows, FINE, columns, FINE).mean((1, 3))
    lines = [f"{side} {columns} {rows} {left:.9f} {top:.9f}"]
    lines += [" ".join(f"{share:.2f}" for share in row) for row in shares]
    (HERE / f"{name}.expected").write_text("\n".join(lines) + "\n")
    (HERE / f"{name}.dxf").write_text(text(doc))


def text(doc):
    """The file without what nothing here reads."""
    stream = io.StringIO()
    doc.write(stream)
    lines = stream.getvalue().splitlines()
    groups = [(lines[i].strip(), lines[i + 1]) for i in range(0, len(lines) - 1, 2)]
    out, section, table = [], None, None
    header_kept = {"$ACADVER", "$INSUNITS"}
    variable = None
    for code, value in groups:
        if (code, value) == ("0", "SECTION"):
            section = "?"
            continue
        if section == "?":
            section = value
            if section not in ("CLASSES", "OBJECTS"):
                out += [("0", "SECTION"), ("2", value)]
            continue
        if (code, value) == ("0", "ENDSEC"):
            if section not in ("CLASSES", "OBJECTS"):
                out.append((code, value))
            section = None
            continue
        if section in ("CLASSES", "OBJECTS"):
            continue
        if section == "HEADER":
            if code == "9":
                variable = value
            if variable in header_kept:
                out.append((code, value))
            continue
        if section == "TABLES":
            if (code, value) == ("0", "TABLE"):
                table = "?"
                continue
            if table == "?":
                table = value
                if table == "LAYER":
                    out += [("0", "TABLE"), ("2", value)]
                continue
            if table == "LAYER":
                out.append((code, value))
            if (code, value) == ("0", "ENDTAB"):
                table = None
            continue
        out.append((code, value))
    return "".join(f"{code}\n{value}\n" for code, value in out)


write("curves", curves(), 1.0)
write("blocks", blocks(), 1.25)
write("tapers", tapers(), 1.0)
