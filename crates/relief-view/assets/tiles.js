// Tiles: asked for when they are seen, nearest first, and again with more effort until they are exact.

/** Samples of the raster that the server looks at for a tile, one after the other; the last is as many as it takes. */
const EFFORTS = ["1048576", "16777216", "268435456", "4294967296", "18446744073709551615"];

/** What is known within this part of the greatest sample is near enough for a first picture, where it cannot be exact. */
const NEAR = 32;

/** The most requests at the same time. A browser has six connections to a server, of which one tells of changes. */
const MOST_AT_ONCE = 5;

/** Of these the most that may take long: what hands ask for, such as a single sample, has a connection as well. */
const MOST_REFINING = 4;

/** The effort after which the whole raster in the corner is left as it is: it is small, and may take for ever. */
const LAST_OF_MAP = 3;

/** Columns and rows of a tile. */
export const TILE = 256;

/** Bytes of tiles that are held. */
const BUDGET = 160e6;

const client = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export class Tiles {
  constructor(changed) {
    this.changed = changed;
    /** By address, the one used last stands last. */
    this.held = new Map();
    this.bytes = 0;
    this.wanted = [];
    this.seen = new Set();
    /** The address of the whole raster in the corner. */
    this.map = null;
    this.asked = new Map();
    this.viewport = 0;
    /** Requests at the same time: as many as the server computes, since what waits there cannot be put in a new order here. */
    this.atOnce = 2;
    /** The latest refusal that is worth telling. */
    this.trouble = null;
  }

  static address({ key, node, figure, level, x, y }) {
    return `tile/${key}/${node}/${figure}/${level}/${x}/${y}`;
  }

  /** The server computes so many tiles at the same time. */
  served(threads) {
    this.atOnce = Math.min(Math.max(threads, 2), MOST_AT_ONCE);
    this.pump();
  }

  /** The tile, if it is there. */
  get(id) {
    const address = Tiles.address(id);
    const tile = this.held.get(address);
    if (tile) {
      this.held.delete(address);
      this.held.set(address, tile);
    }
    return tile;
  }

  /** These are wanted, the first first; no others are any more. Those of `ids` until they are exact, `map` after all of them, and the
   * others of `first` as they come. */
  want(first, ids, map = null) {
    const addresses = [...first, ...ids].map(Tiles.address);
    this.seen = new Set(ids.map(Tiles.address));
    this.map = map && Tiles.address(map);
    if (addresses.length === this.wanted.length && addresses.every((address, i) => address === this.wanted[i])) return;
    this.wanted = addresses;
    this.viewport += 1;
    const wanted = new Set(addresses);
    for (const [address, request] of this.asked) {
      if (!wanted.has(address)) {
        request.abort();
        this.asked.delete(address);
      }
    }
    this.pump();
  }

  /** A design is another one in `rects` alone: what was held of `before` beyond them is of `now` as well. Keys and roots tell both. */
  carry(before, now, rects) {
    const head = ({ key, root }) => `tile/${key}/${root}/`;
    for (const [address, tile] of [...this.held]) {
      if (!address.startsWith(head(before))) continue;
      const rest = address.slice(head(before).length);
      const [, level, x, y] = rest.split("/").map(Number);
      const side = TILE * 2 ** level;
      const meets = ([left, top, width, height]) => left < (x + 1) * side && left + width > x * side && top < (y + 1) * side && top + height > y * side;
      if (rects.some(meets) || this.held.has(head(now) + rest)) continue;
      this.held.set(head(now) + rest, tile);
      this.bytes += tile.samples.byteLength;
    }
  }

  /** How many of the wanted tiles are there, how many are exact, and how far the others may be off. */
  quality(ids) {
    let there = 0, exact = 0, within = 0;
    for (const id of ids) {
      const tile = this.held.get(Tiles.address(id));
      if (!tile) continue;
      there += 1;
      if (tile.within === 0) exact += 1;
      within = Math.max(within, tile.within);
    }
    return { all: ids.length, there, exact, within };
  }

  pump() {
    const free = (address) => !this.asked.has(address);
    while (this.asked.size < this.atOnce) {
      let next = this.wanted.find((address) => free(address) && !this.held.has(address));
      let effort = 0;
      if (next === undefined) {
        // All are there: the least exact becomes exact.
        const refining = [...this.asked.values()].filter((request) => request.effort > 0).length;
        if (refining >= MOST_REFINING) return;
        next = this.open((address) => free(address) && this.seen.has(address), EFFORTS.length - 1)
          ?? (refining === 0 ? this.open((address) => free(address) && address === this.map, LAST_OF_MAP) : null);
        if (next === null) return;
        effort = Math.min(this.held.get(next).effort + 1, EFFORTS.length - 1);
      }
      this.ask(next, effort);
    }
  }

  /** The first of the wanted tiles that are not exact with the least effort, of those that `may` be taken, up to the effort `last`. */
  open(may, last) {
    let found = null;
    for (const address of this.wanted) {
      const tile = this.held.get(address);
      if (!tile || tile.within === 0 || !may(address)) continue;
      if (address === this.map && !this.seen.has(address) && tile.effort >= last) continue;
      if (found === null || tile.effort < this.held.get(found).effort) found = address;
    }
    return found;
  }

  async ask(address, effort) {
    const request = new AbortController();
    request.effort = effort;
    this.asked.set(address, request);
    let wait = 0;
    try {
      const near = effort === 0 ? `&near=${NEAR}` : "";
      const url = `${address}?effort=${EFFORTS[effort]}${near}&view=${client}.${this.viewport}`;
      const response = await fetch(url, { signal: request.signal });
      if (response.ok) {
        const [width, height, bits] = response.headers.get("relief-samples").split("x").map(Number);
        const said = response.headers.get("relief-exactness");
        const bytes = await response.arrayBuffer();
        const samples = bits === 8 ? new Uint8Array(bytes) : new Uint16Array(bytes);
        const within = said === "exact" ? 0 : Number(said.split(" ")[1]);
        this.put(address, { samples, width, height, within, effort });
        this.trouble = null;
      } else {
        const { error } = await response.json();
        // The design changed, or the server has more to do than it can: the one is told, the other passes.
        if (response.status === 503) wait = 300;
        else if (response.status !== 410) {
          wait = 3000;
          this.trouble = error.text;
        }
      }
    } catch (error) {
      if (request.signal.aborted) return;
      wait = 1000;
    }
    if (wait > 0) {
      this.changed();
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    if (this.asked.get(address) === request) this.asked.delete(address);
    this.pump();
  }

  put(address, tile) {
    const before = this.held.get(address);
    if (before) this.bytes -= before.samples.byteLength;
    this.held.delete(address);
    this.held.set(address, tile);
    this.bytes += tile.samples.byteLength;
    const wanted = new Set(this.wanted);
    for (const [other, old] of this.held) {
      if (this.bytes <= BUDGET) break;
      if (wanted.has(other)) continue;
      this.held.delete(other);
      this.bytes -= old.samples.byteLength;
    }
    this.changed();
  }
}
