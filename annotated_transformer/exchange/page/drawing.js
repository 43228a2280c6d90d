// One head or several as lines and as a heat map, all heads as thumbnails. A darker mark is a larger weight. One head has the page's
// colour, several have one each.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 22, NUMBER = 36, LEAST = 0.005; // pixels; weights below the last are not drawn
const MOST_SAID = 5, MOST_OF_EACH = 2; // so many weights are said of a token; of each head, if there are several
const COLOURS = 8, ON_LABEL = 0.5; // how many the style has; a head's colour behind letters is this much paler

// What the page says: t before a text in backquotes. `speak` gives it another language: a table by the English, {} for what changes.
let table = {};
export function speak(words) { table = words; }
export function t(strings, ...values) {
  const english = strings.join("{}"), parts = (table[english] ?? english).split("{}");
  return parts.map((part, i) => i ? values[i - 1] + part : part).join("");
}

function make(parent, name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  parent.append(element);
  return element;
}

const pen = document.createElement("canvas").getContext("2d");

// As much of a label as fits into so many pixels, even in the bold letters of a token that is pointed at.
function shortened(label, room) {
  const letters = [...label], first = n => n < letters.length ? letters.slice(0, n).join("") + "…" : label;
  pen.font = `700 13px ${getComputedStyle(document.body).fontFamily}`;
  let n = letters.length;
  while (n > 1 && pen.measureText(first(n)).width > room) n--;
  return first(n);
}

export const sameHead = (a, b) => a.layer === b.layer && a.head === b.head;

// The heads that are shown after a click on one: that one alone, or, of several, with it or without it. Each keeps its colour.
export function picked(heads, {layer, head}, several) {
  const one = {layer, head, colour: 0}, others = heads.filter(other => !sameHead(other, one));
  if (!several) return [one];
  if (others.length < heads.length) return others.length ? others : heads; // one always stays
  const kept = others.slice(-(COLOURS - 1)), taken = kept.map(other => other.colour);
  one.colour = Array.from({length: COLOURS}, (_, colour) => colour).find(colour => !taken.includes(colour));
  return [...kept, one];
}

export const headName = ({layer, head}) => t`layer ${layer + 1}, head ${head + 1}`;

// The names of the heads that are shown; of several, each in its colour.
export function nameHeads(parent, heads) {
  parent.replaceChildren(...heads.flatMap((one, i) => {
    const name = document.createElement("span");
    name.textContent = headName(one);
    name.classList.toggle("swatch", heads.length > 1);
    return [...i ? [" "] : [], paint(name, heads, one)];
  }));
}

// What is drawn in an element has the colour of its head, if there are several.
export function paint(element, heads, {colour}) {
  if (heads.length > 1) element.style.setProperty("--map", `var(--head-${colour})`);
  else element.style.removeProperty("--map");
  return element;
}

function label(parent, side, index, text, room, box, attributes, heads) {
  const group = make(parent, "g", {class: "label", [`data-${side}`]: index}), {x = 0, y, width, height} = box;
  make(group, "rect", {class: "box", "fill-opacity": 0, rx: 3, ...box});
  if (heads.length > 1) heads.forEach((head, i) => {
    const strip = {x: x + i * width / heads.length, y, width: width / heads.length, height};
    paint(make(group, "rect", {class: "strip", "fill-opacity": 0, ...strip}), heads, head);
  });
  make(group, "text", attributes, shortened(text, room));
  make(group, "title", {}, text);
}

// What to draw: `queries` and `keys` are labels, `titles` what they are, `heads` one or several, `weight(query, key)` the numbers
// of each.
export function drawLines(svg, {queries, keys, titles, heads}, room) {
  const width = Math.max(300, Math.min(room, 560)), column = Math.min(130, (width - 2 * NUMBER) / 2 - 35);
  const height = 24 + ROW * Math.max(queries.length, keys.length), middle = i => 24 + ROW * (i + 0.5);
  const left = NUMBER + column, right = width - NUMBER - column;
  svg.replaceChildren();
  for (const [name, value] of [["width", width], ["height", height], ["viewBox", `0 0 ${width} ${height}`]]) svg.setAttribute(name, value);
  make(svg, "text", {class: "heading", x: left - 4, y: 14, "text-anchor": "end"}, titles[0]);
  make(svg, "text", {class: "heading", x: right + 4, y: 14}, titles[1]);
  heads.forEach((head, number) => {
    const group = paint(make(svg, "g"), heads, head);
    const beside = (number - (heads.length - 1) / 2) * Math.min(3, (ROW - 8) / heads.length); // no line hides another
    for (let query = 0; query < queries.length; query++) {
      for (let key = 0; key < keys.length; key++) {
        const w = head.weight(query, key);
        if (w < LEAST) continue;
        make(group, "line", {class: "weight", "data-query": query, "data-key": key, "stroke-opacity": w.toFixed(3),
                             x1: left, y1: middle(query) + beside, x2: right, y2: middle(key) + beside});
      }
    }
  });
  const sides = [["query", queries, NUMBER, left - 4, "end", NUMBER - 4], ["key", keys, right, right + 4, "start", width - NUMBER + 4]];
  for (const [side, labels, x, at, anchor, number] of sides) {
    labels.forEach((text, i) => {
      const box = {x, y: middle(i) - ROW / 2 + 1, width: column, height: ROW - 2};
      label(svg, side, i, text, column - 8, box, {x: at, y: middle(i) + 4.5, "text-anchor": anchor}, heads);
      make(svg, "text", {class: "number", [`data-${side}`]: i, x: number, y: middle(i) + 4, "text-anchor": anchor});
    });
  }
}

// Of several heads each has its strip of every cell.
export function drawCells(svg, {queries, keys, heads}, room) {
  const across = 96, down = 96, step = Math.max(14, Math.min(26, Math.floor((room - across) / keys.length)));
  const width = across + step * keys.length, height = down + step * queries.length;
  svg.replaceChildren();
  for (const [name, value] of [["width", width], ["height", height], ["viewBox", `0 0 ${width} ${height}`]]) svg.setAttribute(name, value);
  make(svg, "rect", {class: "back", x: across, y: down, width: step * keys.length, height: step * queries.length});
  queries.forEach((text, i) => {
    const y = down + step * i, box = {x: 0, y, width: across - 2, height: step - 1};
    label(svg, "query", i, text, across - 8, box, {x: across - 6, y: y + step / 2 + 4.5, "text-anchor": "end"}, heads);
  });
  keys.forEach((text, i) => {
    const x = across + step * i, box = {x, y: 0, width: step - 1, height: down - 2}, at = `${x + step / 2 + 4.5} ${down - 6}`;
    label(svg, "key", i, text, down - 8, box, {transform: `translate(${at}) rotate(-90)`}, heads);
  });
  heads.forEach((head, number) => {
    const group = paint(make(svg, "g"), heads, head), strip = (step - 1) / heads.length;
    for (let query = 0; query < queries.length; query++) {
      for (let key = 0; key < keys.length; key++) {
        const w = head.weight(query, key);
        if (w < LEAST) continue;
        const cell = make(group, "rect", {class: "cell", "data-query": query, "data-key": key, "fill-opacity": w.toFixed(3),
                                          x: across + step * key + strip * number, y: down + step * query, width: strip, height: step - 1});
        make(cell, "title", {}, t`${queries[query]} looks at ${keys[key]}: ${w.toFixed(3)}`);
      }
    }
  });
}

// What belongs to the token that is pointed at is shown alone: {query: i}, {key: i}, or null for everything.
export function show(svg, focus, heads) {
  const [side] = Object.keys(focus ?? {}), index = side && focus[side], other = side === "query" ? "key" : "query";
  const beside = ({weight}, {dataset}) => {
    if (!side || dataset[other] === undefined) return 0;
    const i = Number(dataset[other]);
    return side === "query" ? weight(index, i) : weight(i, index);
  };
  for (const mark of svg.querySelectorAll(".weight, .cell")) mark.classList.toggle("far", Boolean(side) && Number(mark.dataset[side]) !== index);
  for (const group of svg.querySelectorAll(".label")) {
    group.classList.toggle("pointed", Boolean(side) && group.dataset[side] === String(index));
    group.querySelector(".box").setAttribute("fill-opacity", heads.length > 1 ? 0 : beside(heads[0], group).toFixed(3));
    group.querySelectorAll(".strip").forEach((strip, i) => strip.setAttribute("fill-opacity", (ON_LABEL * beside(heads[i], group)).toFixed(3)));
  }
  for (const number of svg.querySelectorAll(".number")) {
    const w = heads.length > 1 ? 0 : beside(heads[0], number);
    number.textContent = w >= LEAST ? w.toFixed(2) : "";
  }
}

// The same in a sentence: `focus` as for `show`, or with both places for one weight.
export function inWords({query, key}, {queries, keys, heads}) {
  const many = heads.length > 1, each = said => heads.map(one => said(one, many ? t` in ${headName(one)}` : "")).join(t`;`);
  if (query !== undefined && key !== undefined) {
    const list = each(({weight}, where) => ` ${weight(query, key).toFixed(many ? 2 : 3)}${where}`);
    return t`“${queries[query]}” looks at “${keys[key]}” with the weight${list}.`;
  }
  const others = query !== undefined ? keys : queries, at = (weight, i) => query !== undefined ? weight(query, i) : weight(i, key);
  const list = each(({weight}, where) => {
    const most = others.map((label, i) => [at(weight, i), label]).filter(([w]) => w >= LEAST).sort(([a], [b]) => b - a);
    const list = most.slice(0, many ? MOST_OF_EACH : MOST_SAID).map(([w, label]) => `“${label}” ${w.toFixed(2)}`).join(t`, `) || t`nothing`;
    return query !== undefined ? t`${where} at ${list}` : t`${where} by ${list}`;
  });
  return query !== undefined ? t`“${queries[query]}” looks${list}.` : t`“${keys[key]}” is looked at${list}.`;
}

// How high the place of that sentence is at least: what comes below must not move under a pointer.
export const roomForWords = heads => `${1.45 * Math.max(2, heads.length)}em`;

// Where an arrow key leads among `count` things in rows of `across`; undefined for other keys.
export function neighbour(key, at, across, count) {
  const to = {ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - across, ArrowDown: at + across, Home: 0, End: count - 1}[key];
  return to === undefined ? to : to < 0 || to >= count ? at : to;
}

// Arrow keys lead among the thumbnails, in rows of `across()`, and choose; among `several()`, Enter takes one in.
export function walkThumbnails(parent, across, several) {
  parent.addEventListener("keydown", event => {
    const all = [...parent.children], to = neighbour(event.key, all.indexOf(event.target), across(), all.length);
    if (to === undefined) return;
    event.preventDefault();
    if (!several()) all[to].click();
    all[to].focus();
  });
}

// Buttons for all heads, by layer. `choose({layer, head}, several)` when one is clicked: with a key held down that adds elsewhere,
// it joins the others. A double click shows it alone.
export function makeThumbnails(parent, layers, heads, choose) {
  parent.replaceChildren();
  parent.style.gridTemplateColumns = `repeat(${heads}, minmax(0, 1fr))`;
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const button = document.createElement("button");
      button.type = "button";
      button.title = headName({layer, head});
      button.setAttribute("aria-label", button.title);
      button.append(document.createElement("canvas"));
      button.addEventListener("click", ({ctrlKey, metaKey, shiftKey}) => choose({layer, head}, ctrlKey || metaKey || shiftKey || undefined));
      button.addEventListener("dblclick", () => choose({layer, head}, false));
      parent.append(button);
    }
  }
}

export function drawThumbnails(parent, weights, heads) {
  [...parent.children].forEach((button, number) => {
    const layer = Math.floor(number / weights.heads), head = number % weights.heads, canvas = button.firstChild;
    const shown = heads.find(one => sameHead(one, {layer, head}));
    paint(button, shown ? heads : [], shown ?? {});
    const [red, green, blue] = getComputedStyle(button).getPropertyValue("--map").match(/[0-9a-f]{2}/gi).map(two => parseInt(two, 16));
    const picture = new ImageData(weights.keys, weights.queries);
    for (let query = 0, at = 0; query < weights.queries; query++) {
      for (let key = 0; key < weights.keys; key++, at += 4) {
        picture.data.set([red, green, blue, Math.round(255 * weights.at(layer, head, query, key))], at);
      }
    }
    [canvas.width, canvas.height] = [weights.keys, weights.queries];
    canvas.getContext("2d").putImageData(picture, 0, 0);
    button.setAttribute("aria-pressed", Boolean(shown));
    button.tabIndex = sameHead(heads.at(-1), {layer, head}) ? 0 : -1; // one stop of the Tab key
    button.classList.toggle("one-of", Boolean(shown) && heads.length > 1);
  });
}

// The head whose weights lie nearest to the line from the first query and key to the last of both (70a).
export function nearestToDiagonal(weights) {
  let best = {far: Infinity};
  for (let layer = 0; layer < weights.layers; layer++) {
    for (let head = 0; head < weights.heads; head++) {
      let far = 0;
      for (let query = 0; query < weights.queries; query++) {
        const line = query * (weights.keys - 1) / Math.max(1, weights.queries - 1);
        for (let key = 0; key < weights.keys; key++) far += weights.at(layer, head, query, key) * Math.abs(key - line);
      }
      if (far < best.far) best = {layer, head, far};
    }
  }
  return best;
}
