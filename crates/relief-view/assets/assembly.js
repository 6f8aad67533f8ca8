// The samples that the window shows, put together from tiles.
//
// A surface has slots of one tile each. Tile (x, y) goes to slot (x mod columns, y mod rows): while the window moves, only new tiles are
// written. Where a tile is not there yet, a coarser one is spread over its slot, or that of the design before.

import { Tiles } from "./tiles.js";

/** What a slot shows: nothing, a coarser tile, one that may be off by more than a 32nd of the range, by less, or one that is exact. */
export const NOTHING = 0, COARSE = 1, ROUGH = 2, BOUNDED = 3, EXACT = 4;

/** Above this part of the range a tile is not yet near. */
export const NEAR = 1 / 32;

export class Assembly {
  /** `surface` takes tiles: `resize(columns, rows, bits)`, `put(column, row, samples, width, height)`, `mark(states)`. */
  constructor(surface, tile) {
    this.surface = surface;
    this.tile = tile;
    this.columns = 0;
    this.rows = 0;
    this.bits = 0;
    this.slots = [];
  }

  /** Shows the tiles of `view` in `range` of `level`; `before` is what may stand in for it. Tells the states of tiles, row by row. */
  show(tiles, view, level, range, coarsest, before) {
    const columns = range.right - range.left + 1, rows = range.bottom - range.top + 1;
    // Some slots more, so that a window that grows a little needs no other surface.
    if (columns > this.columns || rows > this.rows || view.bits !== this.bits) {
      this.columns = Math.max(columns + 1, this.columns);
      this.rows = Math.max(rows + 1, this.rows);
      this.bits = view.bits;
      this.slots = new Array(this.columns * this.rows).fill(null);
      this.states = new Uint8Array(this.columns * this.rows);
      this.surface.resize(this.columns, this.rows, view.bits);
    }
    const shown = [];
    for (let y = range.top; y <= range.bottom; y += 1) {
      for (let x = range.left; x <= range.right; x += 1) {
        const column = x % this.columns, row = y % this.rows;
        const at = row * this.columns + column;
        const found = this.find(tiles, { ...view, level, x, y }, coarsest, before);
        if (found === null) {
          this.slots[at] = null;
          this.states[at] = NOTHING;
        } else {
          if (this.slots[at] !== found.name) {
            this.slots[at] = found.name;
            const { samples, width, height } = found.spread ? found.spread() : found.tile;
            this.surface.put(column, row, samples, width, height);
          }
          this.states[at] = found.state;
        }
        shown.push({ x, y, state: this.states[at] });
      }
    }
    this.surface.mark(this.states);
    return shown;
  }

  /** The best there is for a tile. */
  find(tiles, id, coarsest, before) {
    const tile = tiles.get(id);
    if (tile) {
      const name = `${Tiles.address(id)} ${tile.effort}`;
      const near = tile.within <= (2 ** id.bits - 1) * NEAR;
      return { name, tile, state: tile.within === 0 ? EXACT : near ? BOUNDED : ROUGH };
    }
    for (const view of before ? [id, { ...id, ...before }] : [id]) {
      for (let up = view === id ? 1 : 0; id.level + up <= coarsest; up += 1) {
        const coarser = { ...view, level: id.level + up, x: Math.floor(id.x / 2 ** up), y: Math.floor(id.y / 2 ** up) };
        const stand = tiles.get(coarser);
        if (stand && stand.samples.BYTES_PER_ELEMENT * 8 === this.bits) {
          const name = `${Tiles.address(coarser)} ${stand.effort} for ${id.x},${id.y},${id.level}`;
          return { name, state: COARSE, spread: () => this.spread(stand, id, up) };
        }
      }
    }
    return null;
  }

  /** A tile made of the part of a coarser one that lies over it. */
  spread(tile, id, up) {
    const side = this.tile, factor = 2 ** up;
    const left = (id.x % factor) * (side / factor), top = (id.y % factor) * (side / factor);
    const samples = new tile.samples.constructor(side * side);
    for (let y = 0; y < side; y += 1) {
      const row = Math.min(Math.floor(top + y / factor), tile.height - 1) * tile.width;
      for (let x = 0; x < side; x += 1) {
        samples[y * side + x] = tile.samples[row + Math.min(Math.floor(left + x / factor), tile.width - 1)];
      }
    }
    return { samples, width: side, height: side };
  }
}
