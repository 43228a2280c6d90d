// The page of the explorer (70a): choose a head among all, point at a token, freeze it, save what is seen.

import {Head, asFile, drawThumbnail} from "./heads.js";

const {kinds, first, sentences} = JSON.parse(document.getElementById("maps").textContent);
const chosen = {...first}, panels = [], finger = matchMedia("(pointer: coarse)").matches;

function tag(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

// The number of the neighbour that an arrow key asks for, in rows of `across`; undefined for other keys.
function neighbour(key, at, across, count) {
  const to = {ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - across, ArrowDown: at + across, Home: 0, End: count - 1}[key];
  return to === undefined ? to : to < 0 || to >= count ? at : to;
}

// One sentence with its translation: all heads of a kind as thumbnails, and the chosen one in full.
class Panel {
  constructor(sentence) {
    Object.assign(this, {sentence, frozen: null, pointed: {}});
    this.heading = tag("h2", {}, tag("bdi", {}, sentence.source), " → ", tag("bdi", {}, sentence.target));
    this.heads = tag("div", {class: "heads", role: "radiogroup", "aria-label": "layer and head"});
    this.picture = tag("div", {class: "picture"});
    this.said = tag("p", {class: "said", "aria-live": "polite"});
    this.made = tag("section", {}, this.heading, tag("div", {class: "parts"}, this.heads, tag("div", {class: "full"}, this.said, this.picture)));
    this.listen();
  }

  get map() { return this.sentence.maps[chosen.kind]; }
  rows(layer, head) { return this.map.thousandths[layer - 1][head - 1].map(row => row.map(weight => weight / 1000)); }

  drawThumbnails() {
    const {thousandths: {length: layers, 0: {length: heads}}, queries, keys} = this.map, inside = [tag("span")];
    for (let head = 1; head <= heads; head++) inside.push(tag("span", {class: "number"}, String(head)));
    for (let layer = 1; layer <= layers; layer++) {
      inside.push(tag("span", {class: "number"}, String(layer)));
      for (let head = 1; head <= heads; head++) {
        const canvas = tag("canvas"), name = `layer ${layer}, head ${head}`;
        inside.push(tag("button", {type: "button", role: "radio", "aria-label": name, title: name, "data-layer": layer, "data-head": head}, canvas));
        canvas.style.aspectRatio = Math.min(2, Math.max(0.5, keys.length / queries.length));
      }
    }
    this.heads.replaceChildren(tag("span", {class: "corner"}, "layer ↓ head →"), ...inside);
    this.heads.style.setProperty("--heads", heads);
    for (const one of this.heads.querySelectorAll("button")) drawThumbnail(one.firstChild, this.rows(one.dataset.layer, one.dataset.head));
  }

  draw() {
    const {kind, layer, head} = chosen, {queries, keys} = this.map, [, ...sides] = kinds[kind];
    const active = this.picture.contains(document.activeElement) && document.activeElement.dataset;
    this.head = new Head({rows: this.rows(layer, head), queries, keys, sides, width: Math.min(560, this.made.clientWidth - 6), finger});
    this.picture.replaceChildren(this.head.lines, this.head.map);
    this.head.lines.setAttribute("aria-label", `${kinds[kind][0]}, layer ${layer}, head ${head}`);
    for (const one of this.picture.querySelectorAll(".lines .token")) {
      const {side, index} = one.dataset;
      one.setAttribute("role", "button");
      one.setAttribute("aria-label", `${side} ${(side === "query" ? queries : keys)[index]}`);
      one.setAttribute("tabindex", -1);
    }
    this.token("query", 0).setAttribute("tabindex", 0);
    if (active) this.focus(active.side, active.index);
    for (const one of this.heads.querySelectorAll("button")) {
      const here = Number(one.dataset.layer) === layer && Number(one.dataset.head) === head;
      one.setAttribute("aria-checked", here);
      one.tabIndex = here ? 0 : -1;
    }
    this.show();
  }

  token(side, index) { return this.picture.querySelector(`.lines .token[data-side="${side}"][data-index="${index}"]`); }

  focus(side, index) {
    this.picture.querySelector('[tabindex="0"]')?.setAttribute("tabindex", -1);
    const found = this.token(side, index);
    found.setAttribute("tabindex", 0);
    found.focus();
  }

  show() {
    const now = this.frozen ?? this.pointed, said = this.head.said(now);
    this.head.show(now, this.frozen !== null);
    for (const one of this.picture.querySelectorAll(".lines .token")) one.setAttribute("aria-pressed", one.classList.contains("frozen"));
    this.said.textContent = said ? said + (this.frozen ? " Frozen." : "") : "Point at a token or a cell. A click freezes it.";
  }

  point(at) { this.pointed = at; this.show(); }

  freeze(at) {
    const same = this.frozen && this.frozen.query === at.query && this.frozen.key === at.key;
    this.frozen = same || !Object.keys(at).length ? null : at;
    this.show();
  }

  // The token or cell at which an event happened, as {query}, {key} or both; {} elsewhere.
  place({target}) {
    const token = target.closest(".token"), number = name => Number(target.dataset[name]);
    if (token) return {[token.dataset.side]: Number(token.dataset.index)};
    return target.dataset.query === undefined ? {} : {query: number("query"), key: number("key")};
  }

  listen() {
    this.heads.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) choose({layer: Number(button.dataset.layer), head: Number(button.dataset.head)});
    });
    this.heads.addEventListener("keydown", event => {
      const all = [...this.heads.querySelectorAll("button")], heads = this.map.thousandths[0].length;
      const to = neighbour(event.key, all.indexOf(event.target), heads, all.length);
      if (to === undefined) return;
      event.preventDefault();
      all[to].focus();
      all[to].click();
    });
    this.picture.addEventListener("pointermove", event => { if (event.pointerType === "mouse") this.point(this.place(event)); });
    this.picture.addEventListener("pointerleave", () => this.point({}));
    this.picture.addEventListener("click", event => this.freeze(this.place(event)));
    this.picture.addEventListener("focusin", event => this.point(this.place(event)));
    this.picture.addEventListener("focusout", () => this.point({}));
    this.picture.addEventListener("keydown", event => this.press(event));
  }

  press(event) {
    const {side, index} = event.target.dataset, {queries, keys} = this.map, count = {query: queries.length, key: keys.length};
    const other = {ArrowLeft: "query", ArrowRight: "key"}[event.key];
    const to = other ? Math.min(index, count[other] - 1) : neighbour(event.key, Number(index), 1, count[side]);
    if (to !== undefined) this.focus(other ?? side, to);
    else if (event.key === "Enter" || event.key === " ") this.freeze(this.place(event));
    else return;
    event.preventDefault();
  }
}

function choose(choice) {
  const another = choice.kind && choice.kind !== chosen.kind;
  Object.assign(chosen, choice);
  for (const panel of panels) {
    if (another) Object.assign(panel, {frozen: null, pointed: {}});
    if (another || !panel.head) panel.drawThumbnails();
    panel.draw();
  }
  document.getElementById("chosen").textContent = `layer ${chosen.layer}, head ${chosen.head}`;
}

function save() {
  const {color: ink, backgroundColor: ground} = getComputedStyle(document.body), title = `${kinds[chosen.kind][0]}, layer ${chosen.layer}, head ${chosen.head}`;
  const text = asFile(panels.map(({sentence, head}) => ({heading: [`${sentence.source} → ${sentence.target}`, title], head})), {ink, ground});
  const link = tag("a", {download: "heads.svg", href: URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

for (const [kind, [title]] of Object.entries(kinds)) {
  const button = tag("input", {type: "radio", name: "kind", value: kind});
  button.checked = kind === chosen.kind;
  button.addEventListener("change", () => choose({kind}));
  document.getElementById("kinds").append(tag("label", {}, button, title));
}
for (const sentence of sentences) {
  panels.push(new Panel(sentence));
  document.querySelector("main").append(panels.at(-1).made);
}
choose({});
document.title = `${document.title}: ${sentences.map(({source}) => source).join(" / ")}`;
document.getElementById("save").addEventListener("click", save);
document.addEventListener("keydown", event => { if (event.key === "Escape") for (const panel of panels) panel.freeze({}); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const panel of panels) { panel.drawThumbnails(); panel.draw(); } });
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's bar that comes and goes changes the height
  width = innerWidth;
  for (const panel of panels) panel.draw();
});
