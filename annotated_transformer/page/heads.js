// One head as a thumbnail, as lines between tokens and as a heat map, in plain SVG; and what is drawn as a file.
// `rows` are weights from 0 to 1, a row for each query. Colours stand in the style sheet, as properties of `:root`.

const SVG = "http://www.w3.org/2000/svg";
const FONT = "sans-serif", NUMBER = 34, FAINTEST = 0.005; // pixels; weights below are not drawn
const measuring = document.createElement("canvas").getContext("2d");

export function svg(name, attributes = {}, ...inside) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

// The root, so that a weight of 0.05 can be seen.
const opacity = weight => Math.sqrt(Math.min(1, Math.max(0, weight))).toFixed(3);

// What no font draws, what turns the text around it, and what no file of SVG may hold.
const printable = text => text.replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu, "\ufffd");

function textWidth(text, font) {
  measuring.font = `${font}px ${FONT}`;
  return measuring.measureText(text).width;
}

function shortened(text, font, limit) {
  let letters = [...printable(text).slice(0, 200)];
  if (textWidth(letters.join(""), font) <= limit) return letters.join("");
  while (letters.length && textWidth(`${letters.join("")}…`, font) > limit) letters.pop();
  return `${letters.join("")}…`;
}

// A pixel for each weight, in the canvas's own colour.
export function drawThumbnail(canvas, rows) {
  [canvas.width, canvas.height] = [rows[0].length, rows.length];
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(canvas).color;
  rows.forEach((row, i) => row.forEach((weight, j) => {
    pen.globalAlpha = opacity(weight);
    pen.fillRect(j, i, 1, 1);
  }));
}

// A head in full: `lines` and `map` are SVG elements. `show` puts a query, a key or a pair of both in front.
export class Head {
  constructor({rows, queries, keys, sides, width, finger}) {
    Object.assign(this, {rows, queries, keys, sides, tokens: [], cells: [], strokes: []});
    const most = Math.max(queries.length, keys.length);
    this.step = Math.max(finger ? 24 : 14, Math.min(24, Math.floor(720 / most))); // height of a row
    this.font = Math.min(14, this.step - 2);
    const limit = Math.max(60, Math.min(190, (width - 2 * NUMBER - 70) / 2));
    const widest = Math.max(...[...queries, ...keys, ...sides].map(text => textWidth(printable(text), this.font)));
    this.label = Math.min(limit, 12 + widest);
    this.drawLines(width, most);
    this.drawMap();
    this.show();
  }

  // A label with its box; the first of each token also answers to the keyboard and shows its weight as a number.
  token(side, index, x, y, {align, upright = false, first = false}) {
    const label = this[side === "query" ? "queries" : "keys"][index], {step, font} = this, wide = this.label;
    const inner = align === "end" ? x + wide - 6 : x + 6;
    const name = svg("text", {class: "name", x: inner, y: y + step / 2 + 0.35 * font, "text-anchor": align, "font-size": font},
      shortened(label, font, wide - 12));
    const box = {x, y: y + 0.5, width: wide, height: step - 1, rx: 3};
    const shade = svg("rect", {class: "shade", ...box, "fill-opacity": 0});
    const made = svg("g", {class: "token", "data-side": side, "data-index": index},
      svg("title", {}, printable(label)), svg("rect", {class: "box", ...box}), shade, name);
    if (upright) made.setAttribute("transform", `translate(${y} ${x + wide}) rotate(-90) translate(${-x} ${-y})`);
    if (!first) made.setAttribute("aria-hidden", "true");
    const number = svg("text", {class: "number", y: y + step / 2 + 0.35 * font, x: align === "end" ? x - 4 : x + wide + 4,
      "text-anchor": align, "font-size": font - 1});
    if (first) made.append(number);
    this.tokens.push({made, side, index, shade, number});
    return made;
  }

  drawLines(width, most) {
    const {step, label, font, rows} = this, heading = step + 4, left = NUMBER;
    const between = Math.max(60, Math.min(170, width - 2 * (NUMBER + label)));
    const right = left + label + between, wide = right + label + NUMBER;
    const strokes = svg("g", {class: "strokes"});
    rows.forEach((row, i) => row.forEach((weight, j) => {
      if (weight < FAINTEST) return;
      const stroke = svg("line", {x1: left + label, x2: right, y1: heading + (i + 0.5) * step, y2: heading + (j + 0.5) * step,
        "stroke-opacity": opacity(weight), "stroke-width": (0.8 + 2.2 * Math.sqrt(weight)).toFixed(2)});
      this.strokes.push({made: stroke, i, j});
      strokes.append(stroke);
    }));
    const headings = [[left + label - 6, "end", this.sides[0]], [right + 6, "start", this.sides[1]]];
    this.lines = svg("svg", {class: "lines", width: wide, height: heading + most * step + 2, role: "group"},
      ...headings.map(([x, align, text]) => svg("text", {class: "side", x, y: 0.8 * font + 2, "text-anchor": align, "font-size": font - 1}, text)),
      strokes,
      ...rows.map((_, i) => this.token("query", i, left, heading + i * step, {align: "end", first: true})),
      ...rows[0].map((_, j) => this.token("key", j, right, heading + j * step, {align: "start", first: true})));
  }

  drawMap() {
    const {step, label, font, rows} = this, n = rows[0].length, top = label + 4, end = top + rows.length * step;
    const cells = svg("g", {class: "cells"});
    rows.forEach((row, i) => row.forEach((weight, j) => {
      const cell = svg("rect", {x: label + j * step, y: top + i * step, width: step - 1, height: step - 1, "fill-opacity": opacity(weight),
        "data-query": i, "data-key": j});
      this.cells.push({made: cell, i, j});
      cells.append(cell);
    }));
    const legend = [0, 0.25, 0.5, 0.75, 1].flatMap((weight, k) => [
      svg("rect", {class: "sample", x: label + 52 + 34 * k, y: end + 10, width: 34, height: 12, "fill-opacity": opacity(weight)}),
      svg("text", {class: "side", x: label + 69 + 34 * k, y: end + 35, "text-anchor": "middle", "font-size": 11}, String(weight)),
    ]);
    this.map = svg("svg", {class: "map", width: label + Math.max(n * step, 230) + 2, height: end + 42, "aria-hidden": "true"},
      svg("rect", {class: "ground", x: label - 1, y: top - 1, width: n * step + 1, height: rows.length * step + 1}), cells,
      ...rows.map((_, i) => this.token("query", i, 0, top + i * step, {align: "end"})),
      ...rows[0].map((_, j) => this.token("key", j, 0, label + j * step, {align: "start", upright: true})),
      svg("text", {class: "side", x: label, y: end + 20, "font-size": 11}, "weight"), ...legend);
  }

  show({query = -1, key = -1} = {}, frozen = false) {
    const {rows} = this, near = (i, j) => query >= 0 ? i === query : key < 0 || j === key;
    for (const {made, i, j} of this.strokes) made.classList.toggle("far", !near(i, j));
    for (const {made, i, j} of this.cells) made.classList.toggle("far", !near(i, j));
    for (const {made, side, index, shade, number} of this.tokens) {
      const pointed = index === (side === "query" ? query : key);
      const weight = side === "key" && query >= 0 ? rows[query][index] : side === "query" && query < 0 && key >= 0 ? rows[index][key] : 0;
      made.classList.toggle("pointed", pointed);
      made.classList.toggle("frozen", pointed && frozen);
      shade.setAttribute("fill-opacity", weight < FAINTEST ? 0 : (0.75 * weight).toFixed(3));
      number.textContent = weight < FAINTEST ? "" : weight.toFixed(2);
    }
  }

  // What is in front, in words; nothing when nothing is.
  said({query = -1, key = -1} = {}) {
    const {rows, queries, keys} = this, name = label => `“${printable(label)}”`;
    if (query >= 0 && key >= 0) return `${name(queries[query])} looks at ${name(keys[key])} with the weight ${rows[query][key].toFixed(3)}.`;
    if (query < 0 && key < 0) return "";
    const [weights, others] = query >= 0 ? [rows[query], keys] : [rows.map(row => row[key]), queries];
    const best = weights.map((weight, at) => [weight, at]).filter(([weight]) => weight >= FAINTEST).sort((a, b) => b[0] - a[0]).slice(0, 5);
    const list = best.map(([weight, at]) => `${name(others[at])} ${weight.toFixed(2)}`).join(", ") || "nothing";
    return query >= 0 ? `${name(queries[query])} looks at ${list}.` : `${name(keys[key])} is looked at by ${list}.`;
  }
}

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "opacity", "font-weight"];

// A copy that needs no style sheet: any program that reads SVG draws it as it is seen now.
function still(drawn, place) {
  const copy = drawn.cloneNode(true), originals = [drawn, ...drawn.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((one, i) => {
    const style = getComputedStyle(originals[i]);
    if (style.display === "none") return one.remove();
    for (const name of ["class", "role", "tabindex", ...one.getAttributeNames().filter(name => /^(aria|data)-/.test(name))]) one.removeAttribute(name);
    if (["line", "rect", "text"].includes(one.localName)) for (const name of KEPT) one.setAttribute(name, style.getPropertyValue(name));
  });
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
  return copy;
}

// The text of a file: for each sentence its heading, its lines and its heat map.
export function asFile(parts, {ink, ground}) { // parts: [{heading, head}]
  let y = 16, wide = 0;
  const inside = parts.flatMap(({heading, head: {lines, map}}) => {
    const top = y + 14 + 22 * heading.length, right = 16 + Number(lines.getAttribute("width")) + 24;
    const texts = heading.map((line, k) => svg("text", {x: 16, y: y + 14 + 22 * k, "font-size": 15, "font-weight": k ? 400 : 700, fill: ink}, printable(line)));
    y = 24 + top + Math.max(lines.getAttribute("height"), map.getAttribute("height"));
    wide = Math.max(wide, right + Number(map.getAttribute("width")) + 16, ...heading.map(line => 32 + 1.1 * textWidth(line, 15)));
    return [...texts, still(lines, {x: 16, y: top}), still(map, {x: right, y: top})];
  });
  const whole = svg("svg", {width: Math.ceil(wide), height: y, viewBox: `0 0 ${Math.ceil(wide)} ${y}`, "font-family": FONT},
    svg("rect", {width: "100%", height: "100%", fill: ground}), ...inside);
  return new XMLSerializer().serializeToString(whole);
}
