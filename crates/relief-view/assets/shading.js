// From what is to be seen to numbers for whoever draws it.

/** The window in a raster of `columns` × `rows` pixels: the sample in its corner, and where the raster lies from there. */
export function windowOf(camera, level, { columns, rows, greatest }) {
  const side = 2 ** level;
  const corner = camera.toRaster(0, 0).map((place) => place / side);
  const base = corner.map(Math.floor);
  // Further out than any window: kept small, so that 32 bits hold it.
  const near = (place) => Math.min(Math.max(place, -1e6), 1e6);
  return {
    base,
    fraction: corner.map((place, axis) => place - base[axis]),
    extent: [-base[0], -base[1], columns / side - base[0], rows / side - base[1]].map(near),
    greatest,
  };
}

/** Where light comes from: x to the right, y down, z up. */
export function direction(azimuth, elevation) {
  const a = (azimuth / 180) * Math.PI, e = (elevation / 180) * Math.PI;
  return [Math.sin(a) * Math.cos(e), -Math.cos(a) * Math.cos(e), Math.sin(e)];
}

/** The height of M in pixels: in true units where the design says both, else a sixteenth of the shorter side, up to 64. */
export function relief({ pixel, amplitude, columns, rows }) {
  if (pixel && amplitude) return { pixels: amplitude / pixel, true: true };
  return { pixels: Math.min(64, Math.max(Math.min(columns, rows) / 16, 1)), true: false };
}

/** The samples of the raster that the window shows: the first and how many. */
export function visible({ fraction, extent }, step, { width, height }) {
  const from = [0, 1].map((axis) => Math.max(fraction[axis], extent[axis]));
  const to = [0, 1].map((axis) => Math.min(fraction[axis] + [width, height][axis] / step, extent[axis + 2]));
  return { corner: from, window: to.map((end, axis) => Math.max(end - from[axis], 1)) };
}

function product(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column += 1) {
    for (let row = 0; row < 4; row += 1) {
      let sum = 0;
      for (let k = 0; k < 4; k += 1) sum += a[k * 4 + row] * b[column * 4 + k];
      out[column * 4 + row] = sum;
    }
  }
  return out;
}

/** A view of a height field from `azimuth` (0: from the south) and `elevation`, in degrees. */
export function orbit(azimuth, elevation, aspect) {
  const a = (azimuth / 180) * Math.PI, e = ((90 - elevation) / 180) * Math.PI;
  const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  const turn = [ca, sa, 0, 0, -sa, ca, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
  const tilt = [1, 0, 0, 0, 0, ce, -se, 0, 0, se, ce, 0, 0, 0, 0, 1];
  const distance = 2.3, near = 0.2, far = 8, focus = 3.1;
  const lens = [
    focus / Math.max(aspect, 1), 0, 0, 0, 0, focus * Math.min(aspect, 1), 0, 0,
    0, 0, -(far + near) / (far - near), -1, 0, 0, (-2 * far * near) / (far - near), 0,
  ];
  const back = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -distance, 1];
  return product(lens, product(back, product(tilt, turn)));
}
