// The page of the explorer: choose a head among all, or several, point at a token, freeze it, save what is seen.

import {drawCells, drawLines, drawThumbnails, makeThumbnails, nameHeads, show, walkThumbnails} from "../page/drawing.js";
import {headName, inWords, neighbour, picked, roomForWords, sameHead} from "../page/drawing.js";

const {kinds, first, sentences} = JSON.parse(document.getElementById("maps").textContent);
const chosen = {kind: first.kind, heads: picked([], {layer: first.layer - 1, head: first.head - 1}, false)}, panels = []; // the last is the newest
const several = document.getElementById("several");
const FINGER = matchMedia("(pointer: coarse)").matches ? 1.2 : 1; // a row is then 26 pixels high
const headNames = () => chosen.heads.map(headName).join("; ");

// What no font draws, what turns the text around it, and what no file of SVG may hold.
const printable = text => text.replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu, "\ufffd");

function made(name, attributes = {}, ...inside) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...inside);
  return one;
}

function madeSvg(name, attributes = {}, ...inside) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...inside);
  return one;
}

// The weights of one kind for one sentence, counted from 0.
class Weights {
  constructor({queries, keys, languages: [query, key], thousandths}) {
    Object.assign(this, {labels: {query: queries.map(printable), key: keys.map(printable)}, languages: {query, key}, thousandths});
    Object.assign(this, {layers: thousandths.length, heads: thousandths[0].length, queries: queries.length, keys: keys.length});
  }

  at(layer, head, query, key) { return this.thousandths[layer][head][query][key] / 1000; }
}

// What a screen reader reads by; nothing where nobody has told the language.
const inLanguage = lang => lang ? {lang} : {};

// One sentence with its translation: all heads of a kind as thumbnails, and the chosen one in full.
class Panel {
  constructor({source, target, languages, maps}) {
    const sides = [source, target].map((text, i) => ({text: printable(text), lang: languages[i]})).filter(({text}) => text);
    Object.assign(this, {title: sides.map(({text}) => text).join(" → "), frozen: {}, pointed: {}}); // an encoder alone has one side
    this.weights = Object.fromEntries(Object.entries(maps).map(([kind, map]) => [kind, new Weights(map)]));
    this.heads = made("div", {class: "heads", role: "group", "aria-label": "layer and head"});
    this.across = made("div", {class: "across"});
    this.down = made("div", {class: "down"});
    this.lines = madeSvg("svg", {class: "lines", role: "group"});
    this.cells = madeSvg("svg", {class: "cells", "aria-hidden": "true"});
    this.picture = made("div", {class: "picture"}, this.lines, made("div", {}, this.cells, legend()));
    this.names = made("p", {class: "chosen"}); // beside or below the thumbnails: what grows must not move them under a pointer
    this.said = made("p", {class: "said", "aria-live": "polite"});
    const all = "All weights as a table";
    this.tables = made("div", {class: "scroll", role: "region", "aria-label": all, tabindex: 0}); // keys scroll it, in each browser
    this.all = made("details", {}, made("summary", {}, all), this.tables);
    this.model = made("div", {class: "model"}, made("span", {class: "corner"}, "layer ↓ head →"), this.across, this.down, this.heads);
    this.section = made("section", {}, made("h2", {}, ...sides.flatMap(({text, lang}, i) => [...i ? [" → "] : [], made("bdi", inLanguage(lang), text)])),
      made("div", {class: "parts"}, this.model, made("div", {class: "full"}, this.names, this.said, this.picture, this.all)));
    this.listen();
  }

  // The thumbnails of the kind that is chosen; encoder and decoder may differ in layers and heads.
  arrange() {
    const {layers, heads} = this.now, numbers = count => Array.from({length: count}, (_, i) => made("span", {}, String(i + 1)));
    if (this.arranged === `${layers} ${heads}`) return;
    this.arranged = `${layers} ${heads}`;
    makeThumbnails(this.heads, layers, heads, pick);
    this.across.replaceChildren(...numbers(heads));
    this.across.style.gridTemplateColumns = `repeat(${heads}, minmax(0, 1fr))`;
    this.down.replaceChildren(...numbers(layers));
    this.model.style.setProperty("--n-heads", heads);
  }

  get now() { return this.weights[chosen.kind]; }
  get focus() { return "query" in this.frozen || "key" in this.frozen ? this.frozen : this.pointed; }
  get isFrozen() { return this.focus === this.frozen; }
  get shown() { return chosen.heads.map(one => ({...one, weight: (query, key) => this.now.at(one.layer, one.head, query, key)})); }

  draw() {
    const {query: queries, key: keys} = this.now.labels, [kind, ...titles] = kinds[chosen.kind], room = this.section.clientWidth - 8;
    const [active] = Object.entries(this.lines.contains(document.activeElement) ? this.placeOf(document.activeElement) : {});
    this.arrange();
    const {shown} = this;
    nameHeads(this.names, shown);
    drawThumbnails(this.heads, this.now, shown);
    drawLines(this.lines, {queries, keys, titles, heads: shown}, Math.min(room, 420) / FINGER);
    for (const name of ["width", "height"]) this.lines.setAttribute(name, FINGER * this.lines.getAttribute(name));
    drawCells(this.cells, {queries, keys, titles, heads: shown}, Math.min(room, 400));
    this.lines.setAttribute("aria-label", `${kind}, ${headNames()}`);
    for (const one of this.lines.querySelectorAll(".label")) {
      const [[side, index]] = Object.entries(this.placeOf(one));
      const said = {role: "button", tabindex: -1, "aria-label": `${side} ${this.now.labels[side][index]}`, ...inLanguage(this.now.languages[side])};
      for (const [name, value] of Object.entries(said)) one.setAttribute(name, value);
    }
    this.token("query", 0).setAttribute("tabindex", 0);
    if (active) this.moveTo(...active);
    this.writeTables();
    this.show();
  }

  // All weights of each head that is shown, where the reader asks for them.
  writeTables() {
    this.tables.replaceChildren();
    if (!this.all.open) return;
    const {query: queries, key: keys} = this.now.labels, [kind, ...titles] = kinds[chosen.kind];
    const row = (...cells) => made("tr", {}, ...cells), header = (scope, label) => {
      const lang = this.now.languages[{row: "query", col: "key"}[scope]];
      return made("th", {scope, ...inLanguage(lang)}, label);
    };
    const top = () => row(made("td", {}, `${titles[0]} ↓ ${titles[1]} →`), ...keys.map(key => header("col", key)));
    this.tables.append(...this.shown.map(one => made("table", {}, made("caption", {}, `${kind}, ${headName(one)}`), made("thead", {}, top()),
      made("tbody", {}, ...queries.map((query, i) => row(header("row", query), ...keys.map((_, j) => made("td", {}, one.weight(i, j).toFixed(3)))))))));
  }

  // The token or cell that an element is or belongs to, as {query}, {key} or both; {} elsewhere.
  placeOf(element) {
    const {query, key} = (this.picture.contains(element) && element.closest("[data-query], [data-key]"))?.dataset ?? {};
    return {...query !== undefined && {query: Number(query)}, ...key !== undefined && {key: Number(key)}};
  }

  token(side, index) { return this.lines.querySelector(`.label[data-${side}="${index}"]`); }

  moveTo(side, index) {
    this.lines.querySelector('[tabindex="0"]').setAttribute("tabindex", -1);
    this.token(side, index).setAttribute("tabindex", 0);
    this.token(side, index).focus();
  }

  show() {
    const {query, key} = this.focus, one = query !== undefined ? {query} : key !== undefined ? {key} : null;
    for (const drawing of [this.lines, this.cells]) {
      show(drawing, one, this.shown);
      drawing.classList.toggle("frozen", this.isFrozen);
    }
    for (const label of this.lines.querySelectorAll(".label")) label.setAttribute("aria-pressed", this.isFrozen && label.classList.contains("pointed"));
    const {query: queries, key: keys} = this.now.labels;
    this.said.style.minHeight = roomForWords(this.shown);
    const text = one ? inWords(this.focus, {queries, keys, heads: this.shown}) + (this.isFrozen ? " Frozen." : "")
      : "Point at a token or a cell, or use Tab and the arrow keys. A click or Enter freezes it.";
    if (this.said.textContent !== text) this.said.textContent = text; // what is written again is read aloud again
  }

  point(place) { this.pointed = place; this.show(); }

  freeze(place) {
    const same = this.frozen.query === place.query && this.frozen.key === place.key;
    this.frozen = same ? {} : place;
    this.show();
  }

  listen() {
    walkThumbnails(this.heads, () => this.now.heads, () => several.checked);
    this.picture.addEventListener("pointermove", ({target}) => this.point(this.placeOf(target)));
    this.picture.addEventListener("click", ({target}) => this.freeze(this.placeOf(target)));
    this.picture.addEventListener("focusin", ({target}) => this.point(this.placeOf(target)));
    for (const name of ["pointerleave", "focusout"]) this.picture.addEventListener(name, () => this.point({}));
    this.lines.addEventListener("keydown", event => this.press(event));
    this.all.addEventListener("toggle", () => this.writeTables());
  }

  press(event) {
    const [[side, index]] = Object.entries(this.placeOf(event.target)), count = {query: this.now.queries, key: this.now.keys};
    const other = {ArrowLeft: "query", ArrowRight: "key"}[event.key];
    const to = other ? Math.min(index, count[other] - 1) : neighbour(event.key, index, 1, count[side]);
    if (to !== undefined) this.moveTo(other ?? side, to);
    else if (event.key === "Enter" || event.key === " ") this.freeze({[side]: index});
    else return;
    event.preventDefault();
  }
}

function legend() {
  const weights = [0, 0.25, 0.5, 0.75, 1], drawing = madeSvg("svg", {class: "legend", width: 230, height: 40});
  drawing.append(madeSvg("text", {class: "heading", x: 0, y: 16}, "weight"));
  weights.forEach((weight, i) => drawing.append(
    madeSvg("rect", {class: "cell sample", x: 52 + 34 * i, y: 6, width: 34, height: 12, "fill-opacity": weight}),
    madeSvg("text", {class: "heading", x: 69 + 34 * i, y: 33, "text-anchor": "middle"}, String(weight))));
  return drawing;
}

// --- a file of what is seen ---

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "opacity", "font-size", "font-weight"];

// A copy that needs no style sheet, without what is hidden: any program that reads SVG draws it as it is seen now.
function still(drawing, x, y) {
  const copy = drawing.cloneNode(true), originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((one, i) => {
    const style = getComputedStyle(originals[i]);
    if (style.visibility === "hidden") return one.remove();
    for (const name of one.getAttributeNames().filter(name => /^(class|role|style|tabindex|(aria|data)-.*)$/.test(name))) one.removeAttribute(name);
    if (["line", "rect", "text"].includes(one.localName)) for (const name of KEPT) one.setAttribute(name, style.getPropertyValue(name));
  });
  for (const [name, value] of [["x", x], ["y", y]]) copy.setAttribute(name, value);
  return copy;
}

// For each sentence its heading, its lines and its heat map.
function asFile() {
  const {color: fill, backgroundColor: ground} = getComputedStyle(document.body), size = (drawing, name) => Number(drawing.getAttribute(name));
  const name = `${panels.map(({title}) => title).join("; ")}: ${kinds[chosen.kind][0]}, ${headNames()}`;
  const inside = [madeSvg("title", {}, name), madeSvg("rect", {width: "100%", height: "100%", fill: ground})];
  const named = () => chosen.heads.length < 2 ? [headNames()] : [...panels[0].names.children].map((one, i) =>
    madeSvg("tspan", {fill: getComputedStyle(one).borderBottomColor}, (i ? "; " : "") + one.textContent));
  let wide = 32 + 9 * (30 + headNames().length), y = 16;
  for (const {title, lines, cells, picture} of panels) {
    const texts = [[[title], 700], [[`${kinds[chosen.kind][0]}, `, ...named()], 400]], right = 40 + size(lines, "width"), top = y + 60;
    texts.forEach(([text, weight], i) => inside.push(madeSvg("text", {x: 16, y: y + 16 + 22 * i, "font-size": 15, "font-weight": weight, fill}, ...text)));
    inside.push(still(lines, 16, top), still(cells, right, top), still(picture.querySelector(".legend"), right + 96, top + size(cells, "height")));
    y = top + Math.max(size(lines, "height"), size(cells, "height") + 40) + 24;
    wide = Math.max(wide, right + size(cells, "width") + 16, right + 342, 32 + 9 * title.length);
  }
  const file = madeSvg("svg", {role: "img", width: wide, height: y, viewBox: `0 0 ${wide} ${y}`, "font-family": "sans-serif"}, ...inside);
  return new XMLSerializer().serializeToString(file);
}

function save() {
  const address = URL.createObjectURL(new Blob([asFile()], {type: "image/svg+xml"}));
  made("a", {download: "heads.svg", href: address}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// --- the page ---

// A head that was clicked; `more` says whether it joins the others or stands alone, if not the box does.
function pick(one, more = several.checked) { choose({heads: picked(chosen.heads, one, more)}); }

function choose(choice) {
  const another = choice.kind !== undefined;
  Object.assign(chosen, choice);
  const {layers, heads} = panels[0].now; // the same in all
  const fit = chosen.heads.map(one => ({...one, layer: Math.min(one.layer, layers - 1), head: Math.min(one.head, heads - 1)}));
  chosen.heads = fit.filter((one, i) => !fit.slice(i + 1).some(other => sameHead(one, other)));
  for (const panel of panels) {
    if (another) Object.assign(panel, {frozen: {}, pointed: {}}); // its tokens are others
    panel.draw();
  }
}

several.addEventListener("change", () => { if (!several.checked) pick(chosen.heads.at(-1), false); });
for (const [kind, [title]] of Object.entries(kinds)) {
  const button = made("input", {type: "radio", name: "kind", value: kind});
  button.checked = kind === chosen.kind;
  button.addEventListener("change", () => choose({kind}));
  document.getElementById("kinds").append(made("label", {}, button, title));
}
for (const sentence of sentences) {
  panels.push(new Panel(sentence));
  document.querySelector("main").append(panels.at(-1).section);
}
choose({});
document.getElementById("wait").remove();
document.title = `Attention: ${sentences.map(({source}) => printable(source)).join(" / ")}`;
document.getElementById("save").addEventListener("click", save);
document.addEventListener("keydown", ({key}) => { if (key === "Escape") for (const panel of panels) panel.freeze({}); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose({}));
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's bar that comes and goes changes the height alone
  width = innerWidth;
  choose({});
});
