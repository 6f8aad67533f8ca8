// The page: what is seen, how it is drawn, and what hands do.

import { Assembly, BOUNDED, NEAR, ROUGH } from "./assembly.js";
import { Camera, levels } from "./camera.js";
import { Flat } from "./flat.js";
import { Gl } from "./gl.js";
import { problems, story, tree } from "./panels.js";
import { names as rampNames, ramp } from "./ramps.js";
import { direction, orbit, relief, visible, windowOf } from "./shading.js";
import { TILE, Tiles } from "./tiles.js";
import { clamp, count, element, length } from "./words.js";

const $ = (id) => document.getElementById(id);
const picture = $("picture"), overlay = $("overlay"), pen = overlay.getContext("2d");
const MODES = ["gray", "colour", "threshold", "relief", "solid"];

const camera = new Camera();
const tiles = new Tiles(() => redraw());

/** What is looked at and how: all of it is in the address. */
const view = {
  mode: "gray", figure: "mean", ramp: "tide", low: 0, high: null, level: null, azimuth: 315, elevation: 40, exaggeration: 1, auto: true,
  node: null, compare: false, split: 0.5, difference: false, spin: 28, tilt: 48,
};

/** Designs as the server tells them; `before` is the key of the one that is replaced. */
let designs = [];
let job = null;
let place = null;      // where the pointer is, in screen pixels
let keyboard = false;  // whether the cross in the middle is what is pointed at
let ruler = null;      // { from, to, done } in pixels of the raster
let doubting = false; // whether warnings are listed
let painter = null, assemblies = [];
let shown = [];        // the tiles of the first design that are drawn, with their states
let ratio = 1;

// ---- what is shown --------------------------------------------------------------------------------------------------------------

const scene = (which = 0) => designs[which]?.scene ?? null;

/** The raster that is looked at: a node of the first design. */
function raster() {
  const of = scene();
  const node = of.nodes.find((node) => node.id === view.node) ?? of.nodes.at(-1);
  return { ...of, node: node.id, columns: node.width, rows: node.height, greatest: of.max };
}

const isRoot = () => view.node === null || view.node === scene()?.root;

/** Both designs beside each other, where there are two and whole ones are looked at. */
const compared = () => view.compare && scene(1) !== null && isRoot() && view.mode !== "solid";

const tileView = (which) => {
  const of = scene(which);
  return { key: of.key, node: which === 0 ? raster().node : of.root, figure: view.figure, bits: of.bits };
};

let scheduled = false;
function redraw() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    if (scene()) draw();
  });
}

function resize() {
  ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [width, height] = [Math.round(innerWidth * ratio), Math.round(innerHeight * ratio)];
  for (const canvas of [picture, overlay]) Object.assign(canvas, { width, height });
  const fits = Math.abs(camera.scale / camera.fitting - 1) < 1e-6;
  Object.assign(camera, { width, height });
  margins();
  if (fits && scene()) camera.fit();
  redraw();
}

/** What panels cover is left free when the raster is fitted. */
function margins() {
  const side = $("side").hidden || innerWidth <= 760 ? 0 : 304;
  camera.margin = [24, 84, 24 + side, 66].map((edge) => edge * ratio);
}

/** The tiles that are seen, those next to the pointer first, and coarse ones before them. */
function wanted(which, level, range, within) {
  const of = tileView(which);
  const { columns, rows } = which === 0 ? raster() : { columns: scene(1).width, rows: scene(1).height };
  const coarsest = levels(columns, rows);
  const middle = place ?? [camera.width / 2, camera.height / 2];
  const [px, py] = camera.toRaster(...middle).map((at) => at / (TILE * 2 ** level) - 0.5);
  const list = [];
  for (let y = range.top; y <= range.bottom; y += 1) for (let x = range.left; x <= range.right; x += 1) list.push({ ...of, level, x, y });
  list.sort((a, b) => (a.x - px) ** 2 + (a.y - py) ** 2 - ((b.x - px) ** 2 + (b.y - py) ** 2));
  const first = [];
  const coarse = Math.min(level + 3, coarsest);
  if (list.length > 4 && coarse > level) {
    const over = within.tiles(coarse, TILE);
    for (let y = over.top; y <= over.bottom; y += 1) for (let x = over.left; x <= over.right; x += 1) first.push({ ...of, level: coarse, x, y });
  }
  if (which === 0) first.push({ ...of, level: coarsest, x: 0, y: 0 });
  return { list, first, coarsest };
}

function draw() {
  const count = compared() ? 2 : 1;
  // Both are drawn at one level, which the smaller has as well.
  const level = count > 1 ? Math.min(camera.level, levels(scene(1).width, scene(1).height)) : camera.level;
  const lists = [];
  const windows = [];
  for (let which = 0; which < count; which += 1) {
    const of = which === 0 ? raster() : { ...scene(1), columns: scene(1).width, rows: scene(1).height, greatest: scene(1).max };
    const within = Object.assign(Object.create(Object.getPrototypeOf(camera)), camera, { columns: of.columns, rows: of.rows });
    const range = within.tiles(level, TILE);
    const { list, first, coarsest } = wanted(which, level, range, within);
    lists.push({ list, first });
    const before = designs[which].before && isRoot() ? { key: designs[which].before.key, node: designs[which].before.root } : null;
    const states = assemblies[which].show(tiles, tileView(which), level, range, coarsest, before);
    if (which === 0) shown = states;
    windows.push(windowOf(camera, level, of));
  }
  tiles.want(lists.flatMap(({ first }) => first), interleaved(lists.map(({ list }) => list)), whole());
  paint(windows, level);
  draft(level);
  status(lists.flatMap(({ list }) => list), level);
  minimap();
  remember();
}

const interleaved = (lists) => lists.length === 1 ? lists[0]
  : Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, i) => lists.map((list) => list[i])).flat().filter(Boolean);

/** By how much heights are drawn larger than they are. */
function exaggeration(level) {
  const of = raster();
  const { pixels } = relief(of);
  if (!view.auto) return view.exaggeration;
  const exact = view.mode === "solid" ? (0.07 * longest()) / pixels : (26 * 2 ** level) / pixels;
  const power = 10 ** Math.floor(Math.log10(exact));
  return Math.round(exact / power * 10) / 10 * power;
}

/** The longer side of what is seen of the raster, in pixels. */
function longest() {
  const of = raster();
  return Math.max(Math.min(camera.width / camera.scale, of.columns), Math.min(camera.height / camera.scale, of.rows));
}

function paint(windows, level) {
  const of = raster();
  const times = exaggeration(level);
  const { pixels } = relief(of);
  const solid = view.mode === "solid" && painter.solid;
  const step = camera.scale * 2 ** level;
  const slope = (pixels * times) / 2 ** level;
  painter.draw(windows, {
    step,
    smoothly: step < 1.999 || level > 0 || view.mode === "relief",
    mode: { gray: 0, colour: 1, threshold: 2, relief: 3, solid: 1 }[view.mode],
    range: [view.low / of.max, (view.high ?? of.max) / of.max],
    threshold: (view.level ?? Math.ceil(of.max / 2)) / of.max - 1e-7,
    slope: solid ? Math.min(slope, 60) : slope,
    light: direction(view.azimuth, view.elevation),
    split: windows.length > 1 ? view.split * camera.width : 1e9,
    difference: view.difference,
    solid: solid ? {
      view: orbit(view.spin, view.tilt, camera.width / camera.height),
      ...visible(windows[0], step, camera),
      rise: (pixels * times) / longest(),
    } : null,
  });
  picture.dataset.drawn = String(Number(picture.dataset.drawn ?? 0) + 1);
}

// ---- what is drawn over it --------------------------------------------------------------------------------------------------------

function draft(level) {
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, overlay.width, overlay.height);
  if (view.mode === "solid" && painter.solid) return;
  const of = raster();
  const unsure = shown.filter(({ state }) => state === BOUNDED || state === ROUGH);
  for (const { x, y, state } of unsure) hatch(x, y, Math.min(level, levels(of.columns, of.rows)), state === ROUGH);
  if (job?.areas && isRoot()) job.areas.forEach(executed);
  if (camera.scale >= 14 * ratio) lattice(of);
  if (ruler?.to) measure();
  if (keyboard) cross();
}

/** Fine lines over a tile whose samples are not yet exact; crossed where they may be far off. */
function hatch(x, y, level, rough) {
  const side = TILE * 2 ** level;
  const [left, top] = camera.toScreen(x * side, y * side);
  const of = raster();
  const [right, bottom] = camera.toScreen(Math.min((x + 1) * side, of.columns), Math.min((y + 1) * side, of.rows));
  pen.save();
  lines(pen, [left, top, right, bottom], rough);
  pen.restore();
}

/** Fine lines over a part of a canvas, which say that it is not yet exact. */
function lines(on, [left, top, right, bottom], crossed) {
  on.beginPath();
  on.rect(left, top, right - left, bottom - top);
  on.clip();
  on.beginPath();
  // Lines of neighbours meet: they count from the window's corner.
  const gap = 14 * ratio;
  for (let at = Math.floor((left + top) / gap) * gap; at < right + bottom; at += gap) {
    on.moveTo(at - top, top);
    on.lineTo(at - bottom, bottom);
  }
  if (crossed) {
    for (let at = Math.floor((left - bottom) / gap) * gap; at < right - top; at += gap) {
      on.moveTo(at + top, top);
      on.lineTo(at + bottom, bottom);
    }
  }
  on.lineWidth = ratio;
  on.strokeStyle = "rgba(255, 190, 60, .28)";
  on.stroke();
}

function executed({ x, y, width, height, share }) {
  const [left, top] = camera.toScreen(x, y), [right, bottom] = camera.toScreen(x + width, y + height);
  pen.fillStyle = `rgba(20, 150, 90, ${0.1 + 0.2 * share})`;
  pen.fillRect(left, top, right - left, bottom - top);
  pen.strokeStyle = "rgb(20, 170, 100)";
  pen.lineWidth = 2 * ratio;
  pen.setLineDash(share < 1 ? [6 * ratio, 4 * ratio] : []);
  pen.strokeRect(left, top, right - left, bottom - top);
  pen.setLineDash([]);
}

/** The borders of pixels, where they are large. */
function lattice(of) {
  const [left, top] = camera.toRaster(0, 0).map((at) => Math.max(Math.ceil(at), 0));
  const [right, bottom] = camera.toRaster(camera.width, camera.height);
  pen.beginPath();
  const ends = [camera.toScreen(0, 0), camera.toScreen(of.columns, of.rows)];
  for (let x = left; x <= Math.min(right, of.columns); x += 1) {
    const at = Math.round(camera.toScreen(x, 0)[0]) + 0.5;
    pen.moveTo(at, ends[0][1]);
    pen.lineTo(at, ends[1][1]);
  }
  for (let y = top; y <= Math.min(bottom, of.rows); y += 1) {
    const at = Math.round(camera.toScreen(0, y)[1]) + 0.5;
    pen.moveTo(ends[0][0], at);
    pen.lineTo(ends[1][0], at);
  }
  pen.lineWidth = 1;
  pen.strokeStyle = "rgba(128, 140, 155, .45)";
  pen.stroke();
}

function measure() {
  const from = camera.toScreen(...ruler.from), to = camera.toScreen(...ruler.to);
  for (const [width, colour] of [[5, "rgba(0, 0, 0, .65)"], [2.5, "#ffd54a"]]) {
    pen.lineWidth = width * ratio;
    pen.strokeStyle = colour;
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    for (const end of [from, to]) {
      pen.moveTo(end[0] + 5 * ratio, end[1]);
      pen.arc(end[0], end[1], 5 * ratio, 0, 7);
    }
    pen.stroke();
  }
}

function cross() {
  const [x, y] = [camera.width / 2, camera.height / 2];
  for (const [width, colour] of [[4, "rgba(0, 0, 0, .7)"], [2, "#fff"]]) {
    pen.lineWidth = width * ratio;
    pen.strokeStyle = colour;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(x + dx * 4 * ratio, y + dy * 4 * ratio);
      pen.lineTo(x + dx * 13 * ratio, y + dy * 13 * ratio);
    }
    pen.stroke();
  }
}

/** The tile of the whole raster, in the corner. */
const whole = () => ({ ...tileView(0), level: levels(raster().columns, raster().rows), x: 0, y: 0 });

/** A canvas of 180 columns in the corner: the whole, and where the window is. */
function minimap() {
  const map = $("map");
  const of = raster();
  const long = 180 * ratio;
  const fit = long / Math.max(of.columns, of.rows);
  const width = Math.max(Math.round(of.columns * fit), 24 * ratio), height = Math.max(Math.round(of.rows * fit), 24 * ratio);
  if (map.width !== width || map.height !== height) {
    Object.assign(map, { width, height });
    map.style.width = `${width / ratio}px`;
    map.style.height = `${height / ratio}px`;
    map.dataset.name = "";
  }
  const id = whole();
  const tile = tiles.get(id);
  const ink = map.getContext("2d");
  ink.clearRect(0, 0, width, height);
  if (tile) {
    const name = `${Tiles.address(id)} ${tile.effort}`;
    if (map.dataset.name !== name) {
      map.dataset.name = name;
      const small = new OffscreenCanvas(tile.width, tile.height);
      const image = new ImageData(tile.width, tile.height);
      tile.samples.forEach((sample, at) => {
        const gray = (sample * 255) / of.max;
        image.data.set([gray, gray, gray, 255], at * 4);
      });
      small.getContext("2d").putImageData(image, 0, 0);
      map.picture = small;
    }
    ink.imageSmoothingQuality = "high";
    ink.drawImage(map.picture, 0, 0, width, height);
    if (tile.within > 0) {
      ink.save();
      lines(ink, [0, 0, width, height], tile.within > of.max * NEAR);
      ink.restore();
    }
  }
  map.dataset.exact = String(tile?.within === 0);
  const [left, top] = camera.toRaster(0, 0), [right, bottom] = camera.toRaster(camera.width, camera.height);
  const x = (left / of.columns) * width, y = (top / of.rows) * height;
  const w = ((right - left) / of.columns) * width, h = ((bottom - top) / of.rows) * height;
  const box = w < 8 || h < 8 ? [x + w / 2 - 5 * ratio, y + h / 2 - 5 * ratio, 10 * ratio, 10 * ratio] : [x, y, w, h];
  for (const [line, colour] of [[4, "rgba(0, 0, 0, .7)"], [2, "#ffd54a"]]) {
    ink.lineWidth = line * ratio;
    ink.strokeStyle = colour;
    ink.strokeRect(...box);
  }
}

// ---- what is told -----------------------------------------------------------------------------------------------------------------

/** The pixel that is pointed at. */
function pointed() {
  const at = keyboard || !place ? [camera.width / 2, camera.height / 2] : place;
  const [x, y] = camera.toRaster(...at).map(Math.floor);
  const of = raster();
  return x >= 0 && y >= 0 && x < of.columns && y < of.rows ? [x, y] : null;
}

let probed = { name: "", value: null, request: null, timer: 0 };

/** The sample of a pixel, asked for where it is not in a tile. */
function sample(x, y, level) {
  const { samples, within } = sampled(x, y, level);
  if (level === 0 && samples !== null) return { exact: samples };
  const of = tileView(0);
  const name = `${of.key}/${of.node}/${x},${y}`;
  if (probed.name !== name) {
    clearTimeout(probed.timer);
    probed.request?.abort();
    probed = { name, value: null, request: new AbortController(), timer: 0 };
    probed.timer = setTimeout(async () => {
      try {
        const url = `raw?design=${of.key}&node=${of.node}&x=${x}&y=${y}&w=1&h=1`;
        const response = await fetch(url, { signal: probed.request.signal });
        if (!response.ok || probed.name !== name) return;
        const bytes = await response.arrayBuffer();
        probed.value = of.bits === 8 ? new Uint8Array(bytes)[0] : new Uint16Array(bytes)[0];
        redraw();
      } catch {
        // Another pixel is pointed at.
      }
    }, 120);
  }
  return { exact: probed.value, block: samples, within };
}

/** What a tile of this level says of a pixel. */
function sampled(x, y, level, which = 0) {
  const side = 2 ** level;
  const [column, row] = [Math.floor(x / side), Math.floor(y / side)];
  const tile = tiles.get({ ...tileView(which), level, x: Math.floor(column / TILE), y: Math.floor(row / TILE) });
  if (!tile) return { samples: null, within: 0 };
  return { samples: tile.samples[(row % TILE) * tile.width + (column % TILE)], within: tile.within };
}

function heightOf(value, of) {
  return of.amplitude ? ` · ${length((value / of.max) * of.amplitude, of.amplitude)}` : "";
}

function status(ids, level) {
  const of = raster();
  const at = pointed();
  const most = Math.min(level, levels(of.columns, of.rows));
  $("place").replaceChildren();
  $("value").replaceChildren();
  if (at) {
    const [x, y] = at;
    const far = of.pixel ? ` · ${length(x * of.pixel, of.columns * of.pixel)}, ${length(y * of.pixel, of.rows * of.pixel)}` : "";
    $("place").append(element("b", {}, `${count(x)}, ${count(y)}`), element("small", {}, ` px${far}`));
    const { exact, block, within } = sample(x, y, most);
    if (exact !== null && exact !== undefined) $("value").append("sample ", element("b", {}, count(exact)), element("small", {}, heightOf(exact, of)));
    if (block !== null && block !== undefined) {
      const side = count(2 ** most);
      $("value").append(element("small", {}, `${$("value").hasChildNodes() ? " · " : ""}${view.figure} of ${side} × ${side}: ${within > 0 ? "≈ " : ""}${count(block)}`));
    }
    if (compared() && x < scene(1).width && y < scene(1).height) {
      const other = sampled(x, y, most, 1).samples;
      if (other !== null) $("value").append(element("small", {}, ` ⇔ ${count(other)}`));
    }
  }
  const screen = camera.scale / ratio;
  $("zoom").textContent = screen >= 1 ? `${count(screen, 1)} : 1` : `1 : ${count(1 / screen, 1 / screen < 10 ? 1 : 0)}`;
  const { all, there, exact, within } = tiles.quality(ids);
  const mark = $("mark");
  mark.hidden = exact === all && !tiles.trouble;
  if (tiles.trouble) mark.textContent = tiles.trouble;
  else if (there < all) mark.textContent = "computing…";
  else if (!mark.hidden) {
    const how = within > of.max * NEAR ? "rough: within" : "≈ within";
    mark.textContent = `${how} ${count(within)} of ${count(of.max)} · ${Math.floor((exact / all) * 100)} % exact`;
  }
  picture.dataset.exact = String(exact === all);
  $("measure").textContent = ruler?.to ? distance() : ruler ? "ruler: where from?" : "";
  $("job").textContent = job ? jobText() : "";
  scaleBar(of);
  lookText(of, level);
}

function distance() {
  const of = raster();
  const [dx, dy] = [ruler.to[0] - ruler.from[0], ruler.to[1] - ruler.from[1]];
  const far = Math.hypot(dx, dy);
  const angle = (Math.atan2(-dy, dx) / Math.PI) * 180;
  const metres = of.pixel ? `${length(far * of.pixel)} · ` : "";
  return `ruler ${metres}${count(far, 2)} px (${count(dx, 1)}, ${count(dy, 1)}), ${count(angle, 2)}°`;
}

function jobText() {
  if (job.trouble) return `job: ${job.trouble}`;
  const share = job.lines > 0 ? (job.executed / job.lines) * 100 : 100;
  const pass = job.passes > 1 ? `, pass ${job.pass + 1} of ${job.passes}` : "";
  return `${job.complete ? "job done: " : ""}${count(job.executed)} of ${count(job.lines)} lines executed (${count(share, 1)} %)${pass}`;
}

function scaleBar(of) {
  const pixel = of.pixel ?? 1;
  const most = (140 * ratio / camera.scale) * pixel;
  const power = 10 ** Math.floor(Math.log10(most));
  const nice = [5, 2, 1].map((step) => step * power).find((size) => size <= most) ?? power;
  const width = (nice / pixel) * camera.scale / ratio;
  $("scale").hidden = view.mode === "solid" && painter.solid;
  $("scale").firstChild.nodeType === Node.TEXT_NODE && $("scale").firstChild.remove();
  $("scale").prepend(of.pixel ? length(nice) : `${count(nice, 2)} px`);
  $("scale").querySelector("span").style.width = `${Math.max(width, 2)}px`;
}

function lookText(of, level) {
  const { true: known, pixels } = relief(of);
  const times = exaggeration(level);
  const say = (id, text) => { document.querySelector(`output[for="${id}"]`).textContent = text; };
  say("low", count(view.low));
  say("high", count(view.high ?? of.max));
  say("level", count(view.level ?? Math.ceil(of.max / 2)));
  say("azimuth", `${view.azimuth}°`);
  say("elevation", `${view.elevation}°`);
  say("exaggeration", `×${times >= 100 ? count(times) : Number(times.toPrecision(2))}`);
  if (view.auto) $("exaggeration").value = String(clamp(Math.log2(times), -6, 16));
  $("heights").textContent = known
    ? `${count(of.max)} is ${length(of.amplitude)} high; a pixel is ${length(of.pixel)} wide.`
    : `The canvas has not both amplitude= and pixel=: ${count(of.max)} is taken to be ${count(pixels)} px high.`;
}

/** Has screen readers say where the cross is. */
function speak() {
  const at = pointed();
  if (at) $("spoken").textContent = `${$("place").textContent}: ${$("value").textContent}`;
}

// ---- settings ---------------------------------------------------------------------------------------------------------------------

function settle() {
  const of = scene() ? raster() : null;
  for (const button of document.querySelectorAll("[data-mode]")) {
    const own = button.dataset.mode === view.mode;
    button.setAttribute("aria-checked", String(own));
    button.tabIndex = own ? 0 : -1;
    if (button.dataset.mode === "solid") button.disabled = !painter.solid;
  }
  for (const field of document.querySelectorAll(".only")) field.hidden = !field.classList.contains(view.mode);
  if (view.mode === "gray") document.querySelector(".only.colour.relief").hidden = true;
  for (const id of ["figure", "ramp", "azimuth", "elevation"]) $(id).value = String(view[id]);
  $("exaggeration").value = String(Math.log2(view.exaggeration));
  for (const id of ["auto", "difference"]) $(id).checked = view[id];
  if (of) {
    for (const id of ["low", "high", "level"]) $(id).max = String(of.max);
    $("low").value = String(view.low);
    $("high").value = String(view.high ?? of.max);
    $("level").value = String(view.level ?? Math.ceil(of.max / 2));
    for (const button of document.querySelectorAll("[data-node]")) button.setAttribute("aria-pressed", String(Number(button.dataset.node) === of.node));
  }
  const colours = ramp(view.mode === "gray" ? "gray" : view.ramp);
  painter.colours(colours);
  const legend = $("legend").getContext("2d");
  const line = legend.createImageData(256, 1);
  line.data.set(colours);
  for (let y = 0; y < 10; y += 1) legend.putImageData(line, 0, y);
  const two = designs.length > 1;
  $("compare").hidden = !two;
  $("compare").setAttribute("aria-pressed", String(view.compare));
  $("difference-field").hidden = !compared();
  $("ruler").setAttribute("aria-pressed", String(ruler !== null));
  document.body.classList.toggle("ruling", ruler !== null);
  const split = $("split");
  split.hidden = !compared();
  split.style.left = `${view.split * 100}%`;
  split.setAttribute("aria-valuenow", String(Math.round(view.split * 100)));
  if (two) {
    split.querySelector(".left").textContent = designs[0].name;
    split.querySelector(".right").textContent = view.difference ? `${designs[1].name}: more is orange, less is blue` : designs[1].name;
  }
  redraw();
}

function change(values) {
  Object.assign(view, values);
  settle();
}

/** Spreads the samples that are seen over the whole range of colours. */
function stretch() {
  const of = raster();
  let low = of.max, high = 0;
  const level = Math.min(camera.level, levels(of.columns, of.rows));
  for (const { x, y } of shown) {
    const tile = tiles.get({ ...tileView(0), level, x, y });
    if (!tile) continue;
    for (const value of tile.samples) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low <= high) change({ low, high: Math.max(high, low + 1) });
}

function look(node) {
  if (node === raster().node) return;
  view.node = node === scene().root ? null : node;
  const of = raster();
  Object.assign(camera, { columns: of.columns, rows: of.rows });
  ruler = null;
  camera.fit();
  title();
  settle();
}

function title() {
  const of = raster();
  const size = of.pixel ? ` · ${length(of.columns * of.pixel)} × ${length(of.rows * of.pixel)}` : "";
  const node = isRoot() ? "" : ` · ${of.nodes.find(({ id }) => id === of.node).kind}`;
  $("name").replaceChildren(designs.map(({ name }) => name.split("/").slice(-2).join("/")).join(" ⇔ ") + node,
    element("small", {}, `${count(of.columns)} × ${count(of.rows)} px${size} · ${of.bits} bits`));
  document.title = `${designs[0].name.split("/").slice(-2).join("/")}${node} – Relief`;
}

// ---- the address ------------------------------------------------------------------------------------------------------------------

let remembering = 0;
let written = "";

function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const short = (number, digits) => String(Number(number.toFixed(digits)));
    const values = { x: short(camera.x, 3), y: short(camera.y, 3), z: String(Number((camera.scale / ratio).toPrecision(7))), mode: view.mode };
    const plain = { figure: "mean", ramp: "tide", low: 0, high: null, level: null, azimuth: 315, elevation: 40, node: null, split: 0.5, spin: 28, tilt: 48, compare: false, difference: false };
    for (const [name, usual] of Object.entries(plain)) if (view[name] !== usual) values[name] = String(view[name]);
    if (!view.auto) values.exaggeration = String(Number(view.exaggeration.toPrecision(4)));
    written = `#${new URLSearchParams(values)}`;
    if (location.hash !== written) history.replaceState(null, "", written);
  }, 150);
}

/** What the address says; whatever is not right is left as it is. */
function recall() {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (name, least, greatest) => {
    const text = said.get(name);
    const value = Number(text);
    return text !== null && text !== "" && Number.isFinite(value) ? clamp(value, least, greatest) : null;
  };
  const of = scene();
  const node = number("node", 0, of.nodes.at(-1).id);
  view.node = node !== null && of.nodes.some(({ id }) => id === node) && node !== of.root ? node : null;
  const seen = raster();
  Object.assign(camera, { columns: seen.columns, rows: seen.rows });
  if (MODES.includes(said.get("mode"))) view.mode = said.get("mode");
  if (["mean", "least", "greatest"].includes(said.get("figure"))) view.figure = said.get("figure");
  if (rampNames.includes(said.get("ramp"))) view.ramp = said.get("ramp");
  for (const [name, least, greatest] of [["low", 0, of.max], ["high", 0, of.max], ["level", 0, of.max], ["azimuth", 0, 359], ["elevation", 5, 90],
    ["split", 0, 1], ["spin", -720, 720], ["tilt", 8, 90], ["exaggeration", 1 / 64, 65536]]) {
    const value = number(name, least, greatest);
    if (value !== null) view[name] = value;
  }
  view.auto = number("exaggeration", 0, 1e6) === null;
  for (const name of ["compare", "difference"]) if (said.has(name)) view[name] = said.get(name) === "true";
  const [x, y, z] = [number("x", 0, seen.columns), number("y", 0, seen.rows), number("z", 1e-15, 1e3)];
  margins();
  if (x !== null && y !== null && z !== null) {
    Object.assign(camera, { x, y, scale: z * ratio });
    camera.settle();
  } else {
    camera.fit();
  }
}

addEventListener("hashchange", () => {
  if (location.hash === written || !scene()) return;
  recall();
  title();
  settle();
});

// ---- hands ------------------------------------------------------------------------------------------------------------------------

const pointers = new Map();

function at(event) {
  return [event.clientX * ratio, event.clientY * ratio];
}

picture.addEventListener("pointerdown", (event) => {
  picture.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, { from: at(event), last: at(event), moved: false });
  keyboard = false;
});

picture.addEventListener("pointermove", (event) => {
  if (!scene()) return;
  const now = at(event);
  place = now;
  keyboard = false;
  const own = pointers.get(event.pointerId);
  if (own) {
    const [dx, dy] = [now[0] - own.last[0], now[1] - own.last[1]];
    if (Math.hypot(now[0] - own.from[0], now[1] - own.from[1]) > 4 * ratio) own.moved = true;
    if (pointers.size === 1) {
      if (view.mode === "solid" && painter.solid && !event.shiftKey) {
        view.spin = (view.spin + (dx / ratio) * 0.35) % 360;
        view.tilt = clamp(view.tilt + (dy / ratio) * 0.3, 8, 90);
      } else if (own.moved) camera.move(dx, dy);
    } else if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1].last;
      const before = Math.hypot(own.last[0] - other[0], own.last[1] - other[1]);
      const after = Math.hypot(now[0] - other[0], now[1] - other[1]);
      camera.move(dx / 2, dy / 2);
      camera.zoom(after / Math.max(before, 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    own.last = now;
  }
  if (ruler?.from && !ruler.done) ruler.to = camera.toRaster(...now);
  redraw();
});

picture.addEventListener("pointerup", (event) => {
  const own = pointers.get(event.pointerId);
  pointers.delete(event.pointerId);
  if (own && !own.moved && ruler && scene()) mark(camera.toRaster(...at(event)));
});
picture.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
picture.addEventListener("pointerleave", () => {
  place = null;
  redraw();
});

/** An end of the ruler. */
function mark(end) {
  if (!ruler.from || ruler.done) ruler = { from: end, to: null, done: false };
  else Object.assign(ruler, { to: end, done: true });
  redraw();
}

picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (!scene()) return;
  const lines = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? 400 : 1;
  // A pinch on a touchpad comes as a wheel with Ctrl, in small steps.
  camera.zoom(2 ** (-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0025)), ...at(event));
  redraw();
}, { passive: false });

picture.addEventListener("dblclick", (event) => {
  if (ruler || !scene()) return;
  camera.zoom(event.shiftKey ? 0.5 : 2, ...at(event));
  redraw();
});

$("map").addEventListener("click", (event) => {
  const box = $("map").getBoundingClientRect();
  camera.x = ((event.clientX - box.left) / box.width) * camera.columns;
  camera.y = ((event.clientY - box.top) / box.height) * camera.rows;
  camera.settle();
  redraw();
});

const split = $("split");
split.addEventListener("pointerdown", (event) => split.setPointerCapture(event.pointerId));
split.addEventListener("pointermove", (event) => {
  if (split.hasPointerCapture(event.pointerId)) change({ split: clamp(event.clientX / innerWidth, 0, 1) });
});
split.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  change({ split: clamp(view.split + step, 0, 1) });
});

function toggleRuler() {
  ruler = ruler ? null : { from: null, to: null, done: false };
  settle();
}

function toggleSide() {
  $("side").hidden = !$("side").hidden;
  $("toggle").setAttribute("aria-expanded", String(!$("side").hidden));
  margins();
  redraw();
}

/** Tells why the sample that is pointed at is what it is. */
async function why() {
  const at = pointed();
  const of = tileView(0);
  if (!at) return;
  try {
    const response = await fetch(`why?design=${of.key}&node=${of.node}&x=${at[0]}&y=${at[1]}`);
    const told = await response.json();
    const close = () => { $("why").hidden = true; };
    if (response.ok) story($("why"), told, close);
    else $("spoken").textContent = told.error.text;
  } catch {
    // The server is gone, which is shown already.
  }
}

function press(key, shift) {
  const window = (part) => (shift ? 0.9 : 0.15) * part;
  const turned = view.mode === "solid" && painter.solid && !shift;
  const actions = {
    ArrowLeft: () => turned ? change({ spin: view.spin - 5 }) : camera.move(window(camera.width), 0),
    ArrowRight: () => turned ? change({ spin: view.spin + 5 }) : camera.move(-window(camera.width), 0),
    ArrowUp: () => turned ? change({ tilt: clamp(view.tilt + 4, 8, 90) }) : camera.move(0, window(camera.height)),
    ArrowDown: () => turned ? change({ tilt: clamp(view.tilt - 4, 8, 90) }) : camera.move(0, -window(camera.height)),
    "+": () => camera.zoom(Math.SQRT2), "=": () => camera.zoom(Math.SQRT2), "-": () => camera.zoom(Math.SQRT1_2), "−": () => camera.zoom(Math.SQRT1_2),
    0: () => camera.fit(), 1: () => camera.zoom(ratio / camera.scale),
    g: () => change({ mode: "gray" }), c: () => change({ mode: "colour" }), t: () => change({ mode: "threshold" }), s: () => change({ mode: "relief" }),
    3: () => painter.solid && change({ mode: "solid" }),
    l: () => change({ azimuth: (view.azimuth + (shift ? 345 : 15)) % 360 }),
    d: () => doubt(!doubting), m: toggleRuler, x: () => designs.length > 1 && change({ compare: !view.compare }), n: toggleSide, p: speak, w: why,
    Enter: () => { if (ruler) mark(camera.toRaster(camera.width / 2, camera.height / 2)); },
    Escape: () => { ruler = null; $("why").hidden = true; doubt(false); settle(); },
    "?": () => $("help").showModal(),
  };
  const action = actions[key] ?? actions[key.toLowerCase()];
  if (!action) return false;
  action();
  if (ruler?.from && !ruler.done && keyboard) ruler.to = camera.toRaster(camera.width / 2, camera.height / 2);
  redraw();
  return true;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !scene() || $("help").open) return;
  const inside = event.target.closest("input, select, button, [role=slider]");
  const moves = event.key.startsWith("Arrow") || event.key === "Enter" || event.key === " ";
  if (inside && (moves || event.target.matches("input, select"))) return;
  if (event.target === picture && moves) keyboard = true;
  if (press(event.key, event.shiftKey)) event.preventDefault();
});

for (const button of document.querySelectorAll("[data-mode]")) {
  button.addEventListener("click", () => change({ mode: button.dataset.mode }));
  button.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const able = MODES.filter((mode) => mode !== "solid" || painter.solid);
    const mode = able[(able.indexOf(view.mode) + step + able.length) % able.length];
    change({ mode });
    document.querySelector(`[data-mode="${mode}"]`).focus();
  });
}
for (const name of rampNames) $("ramp").append(element("option", { value: name }, name));
$("ramp").addEventListener("change", (event) => change({ ramp: event.target.value }));
$("figure").addEventListener("change", (event) => change({ figure: event.target.value }));
$("low").addEventListener("input", (event) => change({ low: Math.min(Number(event.target.value), (view.high ?? scene().max) - 1) }));
$("high").addEventListener("input", (event) => change({ high: Math.max(Number(event.target.value), view.low + 1) }));
$("level").addEventListener("input", (event) => change({ level: Number(event.target.value) }));
for (const id of ["azimuth", "elevation"]) $(id).addEventListener("input", (event) => change({ [id]: Number(event.target.value) }));
$("exaggeration").addEventListener("input", (event) => change({ auto: false, exaggeration: 2 ** Number(event.target.value) }));
$("auto").addEventListener("change", (event) => change({ auto: event.target.checked, exaggeration: exaggeration(camera.level) }));
$("difference").addEventListener("change", (event) => change({ difference: event.target.checked }));
$("stretch").addEventListener("click", stretch);
$("whole").addEventListener("click", () => change({ low: 0, high: null }));
$("ruler").addEventListener("click", toggleRuler);
$("compare").addEventListener("click", () => change({ compare: !view.compare }));
$("fit").addEventListener("click", () => { camera.fit(); redraw(); });
$("toggle").addEventListener("click", toggleSide);
$("keys").addEventListener("click", () => $("help").showModal());
$("doubts").addEventListener("click", () => doubt(!doubting));

// ---- the server -------------------------------------------------------------------------------------------------------------------

/** Takes designs as the server tells them. */
function take(state) {
  tiles.served(state.threads);
  const first = !scene();
  designs = state.designs.map((told, which) => {
    const was = designs[which]?.scene ?? null;
    // What is being read anew stays as it was until it is there.
    const now = told.ready ? told.scene : was;
    const before = was && now && was.key !== now.key ? was : designs[which]?.before ?? null;
    if (before === was && before && now.since?.key === before.key) tiles.carry(before, now, now.since.rects);
    return { ...told, scene: now, before };
  });
  const [told] = designs;
  const bad = designs.find(({ trouble }) => trouble);
  document.body.classList.toggle("stale", Boolean(bad && scene()));
  report(bad ?? told);
  $("empty").hidden = scene() !== null || Boolean(bad);
  if (told.loading > 0) $("empty").textContent = `Preparing the design… ${Math.floor(told.loading * 100)} %`;
  if (!scene()) return;
  if (first) {
    recall();
    if (designs.length > 1 && !location.hash.includes("compare=")) view.compare = true;
  } else if (view.node !== null && !scene().nodes.some(({ id }) => id === view.node)) {
    view.node = null;
  }
  if (view.high !== null) view.high = Math.min(view.high, scene().max);
  const of = raster();
  if (camera.columns !== of.columns || camera.rows !== of.rows) {
    Object.assign(camera, { columns: of.columns, rows: of.rows });
    camera.settle();
  }
  const listed = `${of.key} ${scene().nodes.length}`;
  if ($("tree").dataset.listed !== listed) {
    $("tree").dataset.listed = listed;
    tree($("tree"), scene(), of.node, look);
  }
  title();
  settle();
}

function report(of) {
  // What is wrong is shown over the picture; what is doubtful is counted, and listed when it is asked for.
  const warnings = of.scene?.warnings ?? [];
  const button = $("doubts");
  button.hidden = warnings.length === 0;
  button.textContent = `${count(warnings.length)} ${warnings.length === 1 ? "warning" : "warnings"}`;
  button.setAttribute("aria-expanded", String(doubting && !of.trouble));
  problems($("problems"), {
    trouble: of.trouble, warnings: doubting ? warnings : [], name: of.name.split("/").at(-1), shown: of.scene !== null,
  }, () => doubt(false));
}

/** Lists warnings, or does no longer. */
function doubt(listed) {
  doubting = listed;
  if (designs.length > 0) report(designs.find(({ trouble }) => trouble) ?? designs[0]);
}

let events = null;

/** Listens while the page is seen: a browser has few connections to a server, and many pages share them. */
function listen() {
  if (document.hidden) {
    events?.close();
    events = null;
    // Nothing is computed for a page that nobody sees.
    tiles.want([], []);
    return;
  }
  redraw();
  if (events) return;
  events = new EventSource("api/events");
  events.addEventListener("state", (event) => take(JSON.parse(event.data)));
  events.addEventListener("job", (event) => {
    job = JSON.parse(event.data);
    redraw();
  });
}

function start() {
  const flat = new URLSearchParams(location.search).has("flat");
  painter = (flat ? null : Gl.on(picture, TILE)) ?? new Flat(picture, TILE);
  assemblies = painter.surfaces.map((surface) => new Assembly(surface, TILE));
  picture.addEventListener("webglcontextlost", (event) => event.preventDefault());
  picture.addEventListener("webglcontextrestored", () => location.reload());
  resize();
  settle();
  addEventListener("resize", resize);
  document.addEventListener("visibilitychange", listen);
  listen();
}

start();
