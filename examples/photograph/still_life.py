"""Makes still-life.jpg: a photograph of things that never were. `python3 still_life.py` (NumPy, Pillow)

Rays go from a lens into a room with a table, a cup, a ball of steel and an orange, under a window. What a camera adds is added: depth of field, falling light
towards the corners, noise of photons and of the sensor, and JPEG. No photograph of anybody is needed, and everybody has the same.
"""

import numpy as np
from PIL import Image

WIDTH, HEIGHT, SAMPLES, SEED = 720, 480, 24, 20261127
rng = np.random.default_rng(SEED)
FAR = 1e9

# Centre, radius, colour, how much it mirrors.
BALLS = [
    ((-1.15, 0.62, 0.1), 0.62, (0.85, 0.42, 0.12), 0.03),
    ((1.35, 0.5, -0.75), 0.5, (0.75, 0.76, 0.78), 0.75),
    ((0.55, 0.26, -1.35), 0.26, (0.62, 0.12, 0.1), 0.05),
]
# A cup: an upright cylinder without a lid.
CUP = ((0.25, 0.75), 0.62, 1.25, (0.9, 0.88, 0.82))
# The window: a corner and two sides.
WINDOW = (np.array([-4.0, 3.6, -3.5]), np.array([0.0, 2.2, 0.0]), np.array([0.6, 0.0, 2.8]))
EYE, AIM = np.array([0.1, 1.75, -5.6]), np.array([0.1, 0.55, 0.1])


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def hit(origin, way):
    """How far each ray goes, the normal there, and which thing it meets: -1 nothing, 0 the table, 1 the wall, 2 the cup, then balls."""
    count = len(origin)
    far = np.full(count, FAR)
    normal = np.zeros((count, 3))
    thing = np.full(count, -1)

    def take(at, normals, number, where):
        nearer = where & (at > 1e-4) & (at < far)
        far[nearer], thing[nearer] = at[nearer], number
        normal[nearer] = normals[nearer] if np.ndim(normals) > 1 else normals

    with np.errstate(divide="ignore", invalid="ignore"):
        take(-origin[:, 1] / way[:, 1], np.array([0.0, 1.0, 0.0]), 0, np.abs(way[:, 1]) > 1e-9)
        take((3.2 - origin[:, 2]) / way[:, 2], np.array([0.0, 0.0, -1.0]), 1, np.abs(way[:, 2]) > 1e-9)
        (cx, cz), radius, tall, _ = CUP
        dx, dz = origin[:, 0] - cx, origin[:, 2] - cz
        a, b = way[:, 0] ** 2 + way[:, 2] ** 2, dx * way[:, 0] + dz * way[:, 2]
        root = b * b - a * (dx * dx + dz * dz - radius**2)
        for sign in (-1, 1):
            at = (-b + sign * np.sqrt(root)) / a
            y = origin[:, 1] + at * way[:, 1]
            side = np.stack([dx + at * way[:, 0], np.zeros(count), dz + at * way[:, 2]], axis=1) / radius
            side *= -np.sign((side * way).sum(axis=1, keepdims=True))
            take(at, side, 2, (root > 0) & (y > 0) & (y < tall))
        for number, (centre, radius, *_) in enumerate(BALLS):
            away = origin - np.array(centre)
            b = (away * way).sum(axis=1)
            root = b * b - (away * away).sum(axis=1) + radius**2
            at = -b - np.sqrt(root)
            take(at, (away + at[:, None] * way) / radius, 3 + number, root > 0)
    return far, normal, thing


def colour(thing, place):
    """What a surface throws back: wood, plaster, glazed clay, peel."""
    found = np.zeros((len(thing), 3))
    grain = np.sin(14 * place[:, 0] + 3 * np.sin(0.9 * place[:, 2]) + 1.5 * np.sin(6.3 * place[:, 2] + 9 * place[:, 0]))
    boards = np.where(np.mod(place[:, 2] + 0.3, 1.3) < 0.02, 0.25, 1.0)
    found[thing == 0] = ((0.36 + 0.07 * grain)[:, None] * np.array([1.0, 0.72, 0.46]) * boards[:, None])[thing == 0]
    found[thing == 1] = (0.42, 0.44, 0.47)
    bands = np.where(np.abs(place[:, 1] - 0.95) < 0.07, 0.3, 1.0)
    found[thing == 2] = (np.array(CUP[3]) * bands[:, None])[thing == 2]
    for number, (_, _, own, _) in enumerate(BALLS):
        found[thing == 3 + number] = own
    return found


def shine(origin, way, depth=0):
    far, normal, thing = hit(origin, way)
    place = origin + np.minimum(far, 50)[:, None] * way
    # One place of the window for each ray: many rays make its shadows soft.
    u, v = rng.random((2, len(origin), 1))
    to = WINDOW[0] + u * WINDOW[1] + v * WINDOW[2] - place
    distance = np.linalg.norm(to, axis=1)
    to /= distance[:, None]
    blocked = hit(place + 1e-3 * normal, to)[0] < distance
    straight = np.clip((normal * to).sum(axis=1), 0, None) * ~blocked
    open_sky = 0.18 * (0.6 + 0.4 * normal[:, 1])
    light = colour(thing, place) * (22 * straight / distance**2 + open_sky)[:, None]
    mirrors = np.zeros(len(thing))
    for number, ball in enumerate(BALLS):
        mirrors[thing == 3 + number] = ball[3]
    mirrors[thing == 2] = 0.06
    back = way - 2 * (way * normal).sum(axis=1, keepdims=True) * normal
    if depth < 2:
        some = mirrors > 0
        seen = np.zeros_like(light)
        if some.any():
            seen[some] = shine(place[some] + 1e-3 * normal[some], back[some], depth + 1)
        light = light * (1 - mirrors[:, None]) + seen * mirrors[:, None]
    # The window itself, in what mirrors it.
    glance = np.clip((back * to).sum(axis=1), 0, None) ** 180 * ~blocked
    return light + (mirrors > 0)[:, None] * 1.2 * glance[:, None]


def main():
    ahead = unit(AIM - EYE)
    right = unit(np.cross([0.0, 1.0, 0.0], ahead))
    up = np.cross(ahead, right)
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    picture = np.zeros((WIDTH * HEIGHT, 3))
    focus = np.linalg.norm(np.array([0.0, 0.6, -0.2]) - EYE)
    for _ in range(SAMPLES):
        x = (columns.ravel() + rng.random(WIDTH * HEIGHT) - WIDTH / 2) / HEIGHT
        y = (HEIGHT / 2 - rows.ravel() - rng.random(WIDTH * HEIGHT)) / HEIGHT
        way = unit(ahead + 0.72 * (x[:, None] * right + y[:, None] * up))
        target = EYE + way * (focus / (way @ ahead))[:, None]
        angle, radius = 2 * np.pi * rng.random(WIDTH * HEIGHT), 0.035 * np.sqrt(rng.random(WIDTH * HEIGHT))
        lens = EYE + (radius * np.cos(angle))[:, None] * right + (radius * np.sin(angle))[:, None] * up
        picture += shine(lens, unit(target - lens))
    light = (picture / SAMPLES).reshape(HEIGHT, WIDTH, 3)
    off = np.hypot((columns - WIDTH / 2) / WIDTH, (rows - HEIGHT / 2) / WIDTH)
    light *= (1 - 0.7 * off**2)[:, :, None]
    # Photons, then the sensor, then the curve of a camera.
    full = 2_500
    light = rng.poisson(np.clip(light, 0, None) * full * 1.15) / full + rng.normal(0, 0.004, light.shape)
    light = np.clip(light, 0, None)
    light = light / (1 + 0.35 * light)
    values = np.clip(255 * np.clip(light, 0, 1) ** (1 / 2.2), 0, 255)
    Image.fromarray(values.round().astype(np.uint8)).save("still-life.jpg", quality=86, subsampling=2, dpi=(300, 300))


main()
