// Numbers and lengths as people read them.

const groups = new Intl.NumberFormat("en", { useGrouping: true, maximumFractionDigits: 3 });

/** A number in groups of three digits, with thin spaces. */
export function count(number, digits = 0) {
  const factor = 10 ** digits;
  return groups.format(Math.round(number * factor) / factor).replaceAll(",", "\u202f");
}

/** Metres in the unit that suits `like`, so that several lengths have the same. */
export function length(metres, like = metres) {
  const units = [[1, "m"], [1e-3, "mm"], [1e-6, "µm"], [1e-9, "nm"]];
  const size = Math.abs(like) * 1.000001;
  const [unit, name] = units.find(([unit]) => size >= unit) ?? units[3];
  const value = metres / unit;
  const digits = Math.abs(value) >= 1000 ? 1 : 3;
  return `${count(value, digits)} ${name}`;
}

export function clamp(value, least, greatest) {
  return Math.min(Math.max(value, least), greatest);
}

/** An element with attributes and children; text is text, never HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
