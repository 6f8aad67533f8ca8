// The panels beside the picture: problems of the design, and its nodes.

import { count, element } from "./words.js";

/** Nodes deeper than that are folded at first. */
const OPEN = 3;

/** What is wrong, or doubtful, with the lines concerned. */
export function problems(panel, { trouble, warnings, name, shown }, close) {
  const list = trouble ? trouble.problems : warnings;
  panel.hidden = !trouble && warnings.length === 0;
  if (panel.hidden) return;
  panel.classList.toggle("doubts", !trouble);
  const title = trouble
    ? (list.length > 0 ? `${list.length} ${list.length === 1 ? "problem" : "problems"} in ${name}` : `${name} cannot be shown`)
    : `${list.length} ${list.length === 1 ? "warning" : "warnings"} for ${name}`;
  const heading = element("h2", {}, title);
  if (!trouble) heading.append(element("button", { onclick: close }, "Close"));
  panel.replaceChildren(heading);
  if (trouble) {
    const below = shown ? "The picture is the last that was right." : "There is no picture yet.";
    panel.append(element("p", {}, list.length > 0 ? below : `${trouble.text}. ${below}`));
  }
  panel.append(...list.map(problem));
}

function problem({ code, warning, message, help, places }) {
  const article = element("article", { class: warning ? "doubt" : "wrong" },
    element("h3", {}, element("code", {}, code), message));
  for (const { line, column, length, label, text } of places) {
    const number = String(line);
    const gap = " ".repeat(number.length);
    const before = [...text].slice(0, column - 1).map((char) => (char === "\t" ? "\t" : " ")).join("");
    article.append(element("pre", {},
      element("span", { class: "gutter" }, `${number} │ `), `${text}\n`,
      element("span", { class: "gutter" }, `${gap} │ `), before,
      element("i", {}, `${"─".repeat(Math.min(length, 60))} ${label}`)));
  }
  if (help) article.append(element("p", { class: "help" }, help));
  return article;
}

/** The nodes that a sample is made of, those above before those below; the one that decides stands out. */
export function story(panel, { x, y, value, nodes, decides, cut }, close) {
  const heading = element("h2", {}, `Why ${count(x)}, ${count(y)} is ${count(value)}`);
  heading.append(element("button", { onclick: close }, "Close"));
  const depth = ({ parent }) => (parent === null ? 0 : 1 + depth(nodes[parent]));
  const list = element("ol", {});
  nodes.forEach((node, number) => {
    const item = element("li", number === decides ? { "aria-current": "true" } : {});
    item.style.paddingInlineStart = `${depth(node)}em`;
    const notes = [];
    if (!node.inside) notes.push("beyond its edge");
    if (node.reads) notes.push(`the middle of ${count(node.reads.width)} × ${count(node.reads.height)}`);
    if (node.folded) notes.push(node.folded.before === node.folded.after ? `leaves ${count(node.folded.before)}` : `makes ${count(node.folded.after)} of ${count(node.folded.before)}`);
    if (number === decides) notes.push("decides");
    item.append(node.role ? element("span", { class: "role" }, `${node.role} `) : "", node.kind, " ",
      element("span", { class: "line" }, `line ${node.line}`), element("span", { class: "value" }, count(node.value)),
      element("small", {}, notes.length > 0 ? ` · ${notes.join(" · ")}` : ""));
    list.append(item);
  });
  panel.replaceChildren(heading, list);
  if (cut) panel.append(element("p", {}, `Only ${count(nodes.length)} nodes are listed.`));
  panel.hidden = false;
}

/** The tree of nodes; `choose` is told which one is to be seen. */
export function tree(list, scene, node, choose) {
  const nodes = new Map(scene.nodes.map((node) => [node.id, node]));
  let left = 2000;
  const item = (id, role, depth) => {
    const { kind, width, height, line, children, text } = nodes.get(id);
    left -= 1;
    const below = children.length > 0 && left > 0 ? element("ul", { hidden: depth >= OPEN }) : null;
    const fill = () => {
      if (below.childElementCount > 0) return;
      // Copies of one node are listed once.
      const seen = new Set();
      for (const child of children) {
        const name = `${child.role} ${child.node}`;
        if (left <= 0 || seen.has(name) || !nodes.has(child.node)) continue;
        seen.add(name);
        below.append(item(child.node, child.role, depth + 1));
      }
    };
    const fold = below && element("button", {
      class: "fold", "aria-expanded": String(depth < OPEN), "aria-label": `children of ${kind}, line ${line}`,
      onclick: (event) => {
        fill();
        below.hidden = !below.hidden;
        event.currentTarget.setAttribute("aria-expanded", String(!below.hidden));
        event.currentTarget.textContent = below.hidden ? "▸" : "▾";
      },
    }, depth < OPEN ? "▾" : "▸");
    const button = element("button", {
      class: "node", "data-node": id, "aria-pressed": String(id === node), title: `${text ?? ""}\n${count(width)} × ${count(height)} px`,
      onclick: () => choose(id),
    }, role ? element("span", { class: "role" }, `${role} `) : null, kind, " ", element("span", { class: "line" }, `line ${line}`));
    const row = element("div", { class: "row" }, fold ?? element("span", { class: "fold" }), button);
    if (below && depth < OPEN) fill();
    return element("li", {}, row, below);
  };
  list.replaceChildren(item(scene.root, "", 0));
}
