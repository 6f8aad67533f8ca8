// Colours for samples, computed: lightness rises evenly while the hue turns, in OKLab (Björn Ottosson, 2020), so that equal steps of
// samples look equal, and are told apart without colour as well.

/** OKLCh to sRGB, 0 to 255 each; chroma is lowered until the colour can be shown. */
function colour(lightness, chroma, hue) {
  for (let c = chroma; ; c *= 0.9) {
    const a = c * Math.cos(hue), b = c * Math.sin(hue);
    const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ];
    if (c < 1e-3 || linear.every((value) => value >= -1e-4 && value <= 1.0001)) {
      return linear.map((value) => {
        const v = Math.min(Math.max(value, 0), 1);
        return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
      });
    }
  }
}

const turn = (degrees) => (degrees / 180) * Math.PI;

/** From a place between 0 and 1 to lightness, chroma and hue. */
const RAMPS = {
  gray: (t) => [t, 0, 0],
  tide: (t) => [0.18 + 0.77 * t, 0.13 * Math.sin(Math.PI * (0.12 + 0.8 * t)), turn(290 - 190 * t)],
  ember: (t) => [0.14 + 0.82 * t, 0.17 * Math.sin(Math.PI * (0.1 + 0.82 * t)), turn(325 + 140 * t)],
  terrain: (t) => [0.34 + 0.6 * t, 0.11 * (1 - 0.75 * t), turn(165 - 110 * t)],
  bands: (t) => [0.45 + 0.45 * ((t * 16) % 1), 0.1, turn(40 + 300 * t)],
};

export const names = Object.keys(RAMPS);

/** 256 colours, RGBA. */
export function ramp(name) {
  const of = RAMPS[name] ?? RAMPS.gray;
  const colours = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i += 1) {
    // Grays are those of samples themselves.
    const rgb = name === "gray" ? [i, i, i] : colour(...of(i / 255));
    colours.set([...rgb, 255], 4 * i);
  }
  return colours;
}
