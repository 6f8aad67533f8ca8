// Which part of the raster the window shows.
//
// A raster has up to 2^40 pixels a side. A double holds such a place with 12 bits of fraction: a hundredth of a screen pixel at the
// largest zoom. What goes to the graphics card in 32 bits are only differences of places in the window, which are small.

import { clamp } from "./words.js";

/** Screen pixels of a pixel at the largest zoom. */
const CLOSEST = 64;

/** The coarsest level that says more than the one below, as the server counts them. */
export function levels(width, height) {
  let level = 0;
  while (Math.ceil(Math.max(width, height) / 2 ** level) > 256) level += 1;
  return level;
}

export class Camera {
  constructor() {
    // The raster, in pixels.
    this.columns = 1;
    this.rows = 1;
    // The window, in screen pixels.
    this.width = 1;
    this.height = 1;
    // The place in its middle, and screen pixels of a pixel.
    this.x = 0.5;
    this.y = 0.5;
    this.scale = 1;
    // What is covered by panels: left, top, right, bottom.
    this.margin = [0, 0, 0, 0];
  }

  /** The level whose samples are nearest to screen pixels. */
  get level() {
    return clamp(Math.round(-Math.log2(this.scale)), 0, levels(this.columns, this.rows));
  }

  get fitting() {
    const [left, top, right, bottom] = this.margin;
    const across = Math.max(this.width - left - right, 40) / this.columns;
    const down = Math.max(this.height - top - bottom, 40) / this.rows;
    return Math.min(across, down, CLOSEST);
  }

  fit() {
    const [left, top, right, bottom] = this.margin;
    this.scale = this.fitting;
    this.x = this.columns / 2 + (right - left) / 2 / this.scale;
    this.y = this.rows / 2 + (bottom - top) / 2 / this.scale;
  }

  toScreen(x, y) {
    return [(x - this.x) * this.scale + this.width / 2, (y - this.y) * this.scale + this.height / 2];
  }

  toRaster(x, y) {
    return [(x - this.width / 2) / this.scale + this.x, (y - this.height / 2) / this.scale + this.y];
  }

  move(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.settle();
  }

  /** Zooms about a place of the window, which stays where it is. */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    this.scale = clamp(before * factor, this.fitting / 4, CLOSEST);
    // The place under the pointer, by differences alone: no digits are lost.
    const stays = 1 / before - 1 / this.scale;
    this.x += (x - this.width / 2) * stays;
    this.y += (y - this.height / 2) * stays;
    this.settle();
  }

  /** Some of the raster stays in the window. */
  settle() {
    this.scale = clamp(this.scale, this.fitting / 4, CLOSEST);
    this.x = clamp(this.x, 0, this.columns);
    this.y = clamp(this.y, 0, this.rows);
  }

  /** The tiles of a level that the window shows: first and last column and row. */
  tiles(level, tile) {
    const side = tile * 2 ** level;
    const [left, top] = this.toRaster(0, 0);
    const [right, bottom] = this.toRaster(this.width, this.height);
    const last = (length) => Math.ceil(length / side) - 1;
    return {
      left: clamp(Math.floor(left / side), 0, last(this.columns)),
      top: clamp(Math.floor(top / side), 0, last(this.rows)),
      right: clamp(Math.floor(right / side), 0, last(this.columns)),
      bottom: clamp(Math.floor(bottom / side), 0, last(this.rows)),
    };
  }
}
