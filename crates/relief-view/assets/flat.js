// Draws where there is no WebGL2: the same samples, shaded one by one. It has no height field.

class Surface {
  constructor(tile) {
    Object.assign(this, { tile, columns: 1, rows: 1, samples: new Uint16Array(tile * tile), states: new Uint8Array(1) });
  }

  resize(columns, rows) {
    Object.assign(this, { columns, rows });
    this.samples = new Uint16Array(columns * rows * this.tile * this.tile);
  }

  put(column, row, samples, width, height) {
    const stride = this.columns * this.tile;
    for (let y = 0; y < height; y += 1) {
      const to = (row * this.tile + y) * stride + column * this.tile;
      this.samples.set(samples.subarray(y * width, (y + 1) * width), to);
    }
  }

  mark(states) {
    this.states = states;
  }
}

export class Flat {
  constructor(canvas, tile) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.tile = tile;
    this.solid = false;
    this.surfaces = [new Surface(tile), new Surface(tile)];
    this.ramp = new Uint8Array(1024);
  }

  colours(colours) {
    this.ramp = colours;
  }

  /** What tells the sample at a place of the window, of M; less than 0 where there is none. */
  reader(which, window) {
    const { columns, rows, samples, states, tile } = this.surfaces[which];
    const wide = columns * tile, high = rows * tile;
    const wrap = (place, size) => ((place % size) + size) % size;
    const [left, top, right, bottom] = window.extent;
    const base = [wrap(window.base[0], wide), wrap(window.base[1], high)];
    return (x, y) => {
      if (x < left || y < top || x >= right || y >= bottom) return -2;
      const column = wrap(Math.floor(x) + base[0], wide), row = wrap(Math.floor(y) + base[1], high);
      if (states[Math.floor(row / tile) * columns + Math.floor(column / tile)] === 0) return -1;
      return samples[row * wide + column] / window.greatest;
    };
  }

  draw(windows, look) {
    const { width, height } = this.canvas;
    const image = this.context.createImageData(width, height);
    const pixels = image.data;
    const readers = windows.map((window, which) => this.reader(which, window));
    const [low, high] = look.range;
    const spread = (v) => Math.min(Math.max((v - low) / Math.max(high - low, 1e-6), 0), 1);
    const [lx, ly, lz] = look.light;
    for (let sy = 0; sy < height; sy += 1) {
      for (let sx = 0; sx < width; sx += 1) {
        const second = sx >= look.split && readers.length > 1;
        const which = second && !look.difference ? 1 : 0;
        const place = (of) => [windows[of].fraction[0] + (sx + 0.5) / look.step, windows[of].fraction[1] + (sy + 0.5) / look.step];
        const [x, y] = place(which);
        const read = readers[which];
        const v = read(x, y);
        if (v === -2) continue;
        let colour = [128, 128, 128];
        if (v >= 0 && look.mode === 2) {
          colour = v >= look.threshold ? [255, 255, 255] : [23, 33, 51];
        } else if (v >= 0) {
          const at = Math.round(spread(v) * 255) * 4;
          colour = [this.ramp[at], this.ramp[at + 1], this.ramp[at + 2]];
          if (look.mode === 3) {
            const beside = (dx, dy) => { const other = read(x + dx, y + dy); return other < 0 ? v : other; };
            const gx = (beside(1, 0) - beside(-1, 0)) / 2 * look.slope, gy = (beside(0, 1) - beside(0, -1)) / 2 * look.slope;
            const facing = Math.max((-gx * lx - gy * ly + lz) / Math.hypot(gx, gy, 1), 0);
            const lit = Math.min(0.3 + 0.7 * facing / Math.max(lz, 0.35), 1.16);
            colour = colour.map((part) => (0.65 * 218 + 0.35 * part) * lit);
          }
          if (second && look.difference) {
            const other = readers[1](...place(1));
            if (other < 0) continue;
            const ground = 64 + 128 * v, d = other - v, share = d === 0 ? 0 : 0.55 + 0.45 * Math.sqrt(Math.abs(d));
            colour = (d > 0 ? [237, 92, 20] : [26, 115, 242]).map((part) => ground + (part - ground) * share);
          }
        }
        const to = (sy * width + sx) * 4;
        pixels[to] = colour[0];
        pixels[to + 1] = colour[1];
        pixels[to + 2] = colour[2];
        pixels[to + 3] = v < 0 ? 90 : 255;
      }
    }
    this.context.putImageData(image, 0, 0);
  }
}
