// Draws with WebGL2: samples are integers in textures, shaded for each screen pixel.

const COMMON = `#version 300 es
precision highp float; precision highp int; precision highp usampler2D;
uniform usampler2D samples0, samples1, states0, states1;
uniform sampler2D ramp;
uniform int tile;
uniform ivec2 grid[2];      // columns and rows of a surface, in samples
uniform ivec2 base[2];      // the sample in the window's corner, modulo the grid
uniform vec2 fraction[2];   // where in it the window begins
uniform vec4 extent[2];     // where the raster lies, in samples from there: left, top, right, bottom
uniform float greatest[2];  // M
uniform float step;         // screen pixels of a sample
uniform bool smoothly;
uniform int mode;           // 0 gray, 1 colour, 2 threshold, 3 relief
uniform vec2 range;         // what is drawn darkest and brightest, of M
uniform float threshold;
uniform float slope;        // the height of M in columns of samples
uniform vec3 light;

uint texel(int which, ivec2 at) { return which == 0 ? texelFetch(samples0, at, 0).r : texelFetch(samples1, at, 0).r; }
ivec2 slot(int which, ivec2 at) {
  ivec2 last = ivec2(ceil(extent[which].zw)) - 1;
  at = clamp(at, ivec2(extent[which].xy), max(last, ivec2(extent[which].xy)));
  return (at + base[which] + grid[which]) % grid[which];
}
float sampled(int which, ivec2 at) { return float(texel(which, slot(which, at))) / greatest[which]; }
uint state(int which, ivec2 at) {
  ivec2 of = slot(which, at) / tile;
  return which == 0 ? texelFetch(states0, of, 0).r : texelFetch(states1, of, 0).r;
}
float between(int which, vec2 at) {
  vec2 low = floor(at - 0.5), part = at - 0.5 - low;
  ivec2 i = ivec2(low);
  return mix(mix(sampled(which, i), sampled(which, i + ivec2(1, 0)), part.x),
             mix(sampled(which, i + ivec2(0, 1)), sampled(which, i + ivec2(1, 1)), part.x), part.y);
}
float value(int which, vec2 at) { return smoothly ? between(which, at) : sampled(which, ivec2(floor(at))); }
vec3 normal(int which, vec2 at, float reach) {
  float x = between(which, at + vec2(reach, 0)) - between(which, at - vec2(reach, 0));
  float y = between(which, at + vec2(0, reach)) - between(which, at - vec2(0, reach));
  return normalize(vec3(-x * slope / (2.0 * reach), -y * slope / (2.0 * reach), 1.0));
}
float lit(vec3 n) { return min(0.3 + 0.7 * max(dot(n, light), 0.0) / max(light.z, 0.35), 1.16); }
float spread(float v) { return clamp((v - range.x) / max(range.y - range.x, 1e-6), 0.0, 1.0); }
vec3 painted(float v) { return texture(ramp, vec2((spread(v) * 255.0 + 0.5) / 256.0, 0.5)).rgb; }
`;

const FLAT_VERTEX = `#version 300 es
void main() { gl_Position = vec4(vec2((gl_VertexID << 1) & 2, gl_VertexID & 2) * 2.0 - 1.0, 0.0, 1.0); }`;

const FLAT = `${COMMON}
uniform float height;
uniform float split;        // the second design is drawn right of this, in screen pixels
uniform bool difference;
out vec4 colour;
vec3 shade(int which, vec2 at) {
  float v = value(which, at);
  if (mode == 2) return sampled(which, ivec2(floor(at))) >= threshold ? vec3(1.0) : vec3(0.09, 0.13, 0.2);
  if (mode == 3) return mix(vec3(0.86, 0.85, 0.83), painted(v), 0.35) * lit(normal(which, at, 1.0));
  return painted(v);
}
void main() {
  vec2 screen = vec2(gl_FragCoord.x, height - gl_FragCoord.y);
  bool second = screen.x >= split;
  int which = second && !difference ? 1 : 0;
  vec2 at = (which == 0 ? fraction[0] : fraction[1]) + screen / step;
  vec4 edge = which == 0 ? extent[0] : extent[1];
  if (any(lessThan(at, edge.xy)) || any(greaterThanEqual(at, edge.zw))) discard;
  if (state(which, ivec2(floor(at))) == 0u) {
    float check = mod(floor(screen.x / 12.0) + floor(screen.y / 12.0), 2.0);
    colour = vec4(vec3(0.5 + 0.05 * check) * 0.3, 0.3);
    return;
  }
  if (difference && second) {
    vec2 other = fraction[1] + screen / step;
    vec4 edges = extent[1];
    if (any(lessThan(other, edges.xy)) || any(greaterThanEqual(other, edges.zw)) || state(1, ivec2(floor(other))) == 0u) discard;
    float less = sampled(0, ivec2(floor(at))), d = sampled(1, ivec2(floor(other))) - less;
    vec3 ground = vec3(0.25 + 0.5 * less);
    vec3 tint = d > 0.0 ? vec3(0.93, 0.36, 0.08) : vec3(0.1, 0.45, 0.95);
    colour = vec4(d == 0.0 ? ground : mix(ground, tint, 0.55 + 0.45 * sqrt(abs(d))), 1.0);
    return;
  }
  colour = vec4(shade(which, at), 1.0);
}`;

/** Vertices along each side of a height field. */
const SIDE = 320;

const SOLID_VERTEX = `${COMMON}
uniform mat4 view;
uniform vec2 corner;        // the first sample that is shown
uniform vec2 window;        // columns and rows of those shown
uniform float rise;         // the height of M, of the window's longer side
uniform int side;
out vec2 place;
out float depth;
void main() {
  vec2 part = vec2(gl_VertexID % side, gl_VertexID / side) / float(side - 1);
  place = corner + clamp(part * window, vec2(0.001), window - 0.001);
  vec2 xy = (place - corner - window / 2.0) / max(window.x, window.y);
  gl_Position = view * vec4(xy.x, -xy.y, (between(0, place) - 0.5) * rise, 1.0);
  depth = gl_Position.w;
}`;

const SOLID = `${COMMON}
in vec2 place;
in float depth;
out vec4 colour;
void main() {
  if (state(0, ivec2(floor(place))) == 0u) discard;
  float v = between(0, place);
  vec3 paint = mix(vec3(0.86, 0.85, 0.83), painted(v), 0.45);
  colour = vec4(paint * lit(normal(0, place, 1.0)), 1.0);
}`;

class Surface {
  constructor(gl, tile, unit) {
    Object.assign(this, { gl, tile, unit, samples: null, states: null, columns: 1, rows: 1, bits: 8 });
    this.resize(1, 1, 8);
    this.mark(new Uint8Array(1));
  }

  resize(columns, rows, bits) {
    const { gl } = this;
    for (const texture of [this.samples, this.states]) if (texture) gl.deleteTexture(texture);
    Object.assign(this, { columns, rows, bits });
    const make = (unit, format, width, height) => {
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      return texture;
    };
    this.samples = make(this.unit, bits === 8 ? gl.R8UI : gl.R16UI, columns * this.tile, rows * this.tile);
    this.states = make(this.unit + 2, gl.R8UI, columns, rows);
  }

  put(column, row, samples, width, height) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + this.unit);
    const type = this.bits === 8 ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT;
    gl.texSubImage2D(gl.TEXTURE_2D, 0, column * this.tile, row * this.tile, width, height, gl.RED_INTEGER, type, samples);
  }

  mark(states) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + this.unit + 2);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, this.columns, this.rows, gl.RED_INTEGER, gl.UNSIGNED_BYTE, states);
  }
}

export class Gl {
  /** Nothing where there is no WebGL2. */
  static on(canvas, tile) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, preserveDrawingBuffer: false });
    return gl ? new Gl(gl, tile) : null;
  }

  constructor(gl, tile) {
    this.gl = gl;
    this.tile = tile;
    this.solid = true;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.surfaces = [new Surface(gl, tile, 0), new Surface(gl, tile, 1)];
    this.flatly = this.program(FLAT_VERTEX, FLAT);
    this.solidly = this.program(SOLID_VERTEX, SOLID);
    this.ramp = gl.createTexture();
    gl.activeTexture(gl.TEXTURE4);
    gl.bindTexture(gl.TEXTURE_2D, this.ramp);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, 256, 1);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    this.nothing = gl.createVertexArray();
    this.mesh = this.grid();
  }

  program(vertex, fragment) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const places = new Map();
    const at = (name) => {
      if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
      return places.get(name);
    };
    return { program, at };
  }

  /** The triangles of a height field. */
  grid() {
    const { gl } = this;
    const indices = new Uint32Array((SIDE - 1) ** 2 * 6);
    let to = 0;
    for (let y = 0; y + 1 < SIDE; y += 1) {
      for (let x = 0; x + 1 < SIDE; x += 1) {
        const at = y * SIDE + x;
        indices.set([at, at + SIDE, at + 1, at + 1, at + SIDE, at + SIDE + 1], to);
        to += 6;
      }
    }
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: indices.length };
  }

  colours(colours) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE4);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, colours);
  }

  /** `windows` says for each design where the window lies in it; `look` how samples are drawn. */
  draw(windows, look) {
    const { gl } = this;
    const solid = look.solid !== null;
    const { program, at } = solid ? this.solidly : this.flatly;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(program);
    ["samples0", "samples1", "states0", "states1", "ramp"].forEach((name, unit) => gl.uniform1i(at(name), unit));
    gl.uniform1i(at("tile"), this.tile);
    windows.forEach((window, which) => {
      const { columns, rows } = this.surfaces[which];
      const grid = [columns * this.tile, rows * this.tile];
      // The remainder of a place up to 2^40 is exact, and fits the card's integers.
      const base = window.base.map((place, axis) => ((place % grid[axis]) + grid[axis]) % grid[axis]);
      gl.uniform2i(at(`grid[${which}]`), ...grid);
      gl.uniform2i(at(`base[${which}]`), ...base);
      gl.uniform2f(at(`fraction[${which}]`), ...window.fraction);
      gl.uniform4f(at(`extent[${which}]`), ...window.extent);
      gl.uniform1f(at(`greatest[${which}]`), window.greatest);
    });
    gl.uniform1f(at("step"), look.step);
    gl.uniform1i(at("smoothly"), look.smoothly ? 1 : 0);
    gl.uniform1i(at("mode"), look.mode);
    gl.uniform2f(at("range"), ...look.range);
    gl.uniform1f(at("threshold"), look.threshold);
    gl.uniform1f(at("slope"), look.slope);
    gl.uniform3f(at("light"), ...look.light);
    if (solid) {
      gl.enable(gl.DEPTH_TEST);
      gl.uniformMatrix4fv(at("view"), false, look.solid.view);
      gl.uniform2f(at("corner"), ...look.solid.corner);
      gl.uniform2f(at("window"), ...look.solid.window);
      gl.uniform1f(at("rise"), look.solid.rise);
      gl.uniform1i(at("side"), SIDE);
      gl.bindVertexArray(this.mesh.array);
      gl.drawElements(gl.TRIANGLES, this.mesh.count, gl.UNSIGNED_INT, 0);
    } else {
      gl.disable(gl.DEPTH_TEST);
      gl.uniform1f(at("height"), gl.drawingBufferHeight);
      gl.uniform1f(at("split"), look.split);
      gl.uniform1i(at("difference"), look.difference ? 1 : 0);
      gl.bindVertexArray(this.nothing);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }
}
