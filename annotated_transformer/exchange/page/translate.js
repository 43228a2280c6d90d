// The page: what is typed is translated step by step, and what is computed is shown.

import {drawCells, drawLines, drawThumbnails, headName, makeThumbnails, nameHeads, show, walkThumbnails} from "./drawing.js";
import {inWords, nearestToDiagonal, picked, roomForWords, t} from "./drawing.js";
import "./chinese.js"; // before what it says is written
import {inCapitals, numbersDiffer} from "./doubt.js";
import {arriving, fetched, Model} from "./model.js";
import {search} from "./search.js";
import {joinSentences, splitSentences} from "./sentences.js";
import {Tokenizer} from "./tokenizer.js";
import {apart, grouped, joined} from "./words.js";

const MOST_CHARACTERS = 1000, BETWEEN_DRAWINGS = 250; // milliseconds
const place = id => document.getElementById(id);
const form = place("form"), partForm = place("part"), headForm = place("head");
const TITLES = {
  encoder: [t`source`, t`source`], decoder: [t`target, read`, t`target, read`], encoder_decoder: [t`target, written`, t`source`],
};

let model, tokenizer;
let run = 0, running = Promise.resolve();           // the newest translation; one at a time
let parts = [];                                     // the sentences, each with all that is known of it:
let part = null;                                    // ids, labels, what the encoder gave; `result` of the search: {steps, best, done};
                                                    // `forced` tokens that its translation begins with; `choices` of the reader
let step = null, frozen = null, pointed = null;     // the step shown (null: the page chooses); {side, index} of a token
let drawnAt = 0;                                    // when the head was, in milliseconds
let chosen = [];                                    // the heads that are shown, the newest last; none: the page chooses
let off = new Set();                                // numbers of the heads that are off

// Where a screen reader listens: what is there already is not written again, or it would be read again.
const write = (id, text) => { if (place(id).textContent !== text) place(id).textContent = text; };
const say = text => write("status", text);

// --- what is typed ---

function readText() {
  const text = form.elements.sentence.value, {sentences} = model.settings;
  if (text.length > MOST_CHARACTERS) {
    throw new RangeError(t`The text has ${text.length.toLocaleString("en")} characters, and this page takes ${MOST_CHARACTERS.toLocaleString("en")}: shorten it.`);
  }
  const pieces = tokenizer.encode(text);
  if (!pieces.length) throw new RangeError(t`The field holds no words: type a sentence.`);
  const found = splitSentences(text, sentences);
  const whole = found.length === 2 && pieces.length + 1 <= sentences.whole; // two short ones stay together
  return whole ? [readSentence(text, pieces)] : found.map(one => readSentence(one, tokenizer.encode(one)));
}

function readSentence(text, pieces) {
  const {ids: {eos}, longest} = model.settings;
  if (pieces.length + 1 > longest) {
    throw new RangeError(t`The sentence has ${pieces.length + 1} tokens, and this page takes ${longest}: shorten it.`);
  }
  const ids = [...pieces, eos], labels = ids.map(id => tokenizer.label(id)), unknown = pieces.includes(tokenizer.unknown);
  return {text, ids, labels, unknown, result: null, forced: [], choices: new Set()};
}

// Cut into pieces as one types; translated on Enter.
function preview() {
  try {
    const labels = readText().flatMap(one => one.labels);
    clear();
    drawTokens("source", labels);
    place("result").hidden = false;
    say(t`Press Enter, or Translate.`);
  } catch (error) {
    refuse(error);
  }
}

function clear() {
  run += 1;
  part = frozen = pointed = step = null;
  parts = [];
  drawNumbers();
  for (const id of ["source", "target", "choices", "lines", "cells"]) place(id).replaceChildren();
  place("beams").tBodies[0].replaceChildren();
  for (const id of ["translation", "about", "place", "why", "spoken", "said"]) write(id, "");
  for (const canvas of place("heads").querySelectorAll("canvas")) canvas.width = 1;
  place("release").hidden = true;
}

function refuse(error) {
  clear();
  place("result").hidden = true;
  if (!(error instanceof RangeError)) console.error(error);
  say(error instanceof RangeError ? error.message : t`This could not be computed (${error.message}): reload the page.`);
}

// --- the translation ---

function translate() {
  const number = ++run;
  place("about").textContent = place("spoken").textContent = "";
  running = running.then(() => follow(number)).catch(refuse);
  return running;
}

// All sentences that have no translation yet; afterwards the first of several is shown.
async function follow(number) {
  if (number !== run) return;
  const began = performance.now(), {settings} = model;
  const switches = settings.switches.map(name => Number(form.elements[name].checked));
  if (!parts.length) {
    parts = readText();
    drawNumbers();
  }
  const open = parts.filter(one => !one.result?.done);
  place("result").hidden = false;
  say(t`Translating …`);
  for (const one of open) if (!await searched(one, number, switches)) return;
  if (open.length > 1) look(0);
  finish(performance.now() - began, switches);
}

// Whether the search for a sentence, which is shown meanwhile, came to its end: a newer one stops it.
async function searched(one, number, switches) {
  const {settings} = model, {alpha, extra_length: extra} = settings.search, {eos} = settings.ids;
  Object.assign(one, await model.encode(one.ids, switches, off));
  if (number !== run) return false;
  const longest = Math.min(one.ids.length + extra, settings.config.max_length), beams = Number(form.elements.beams.value);
  const decode = beginnings => model.decode(one, beginnings);
  for await (const found of search(decode, {beams, alpha, longest, eos, forced: one.forced})) {
    if (number !== run) return false;
    part = one;
    one.result = found;
    if (found.done && !chosen.length) chosen = picked([], measuredHead() ?? nearestToDiagonal(weightsOf("encoder_decoder")), false);
    draw();
    await new Promise(done => setTimeout(done)); // so that it is seen
    if (number !== run) return false;
  }
  return true;
}

function doubtful({text, unknown, forced, result: {best}}) {
  const {doubtful_below: below, ids: {eos}, sentences} = model.settings;
  const unlike = unknown || inCapitals(text, sentences) || numbersDiffer(text, tokenizer.decode(best.tokens)) || best.token !== eos;
  return below !== null && !forced.length && (unlike || best.logP / best.length < below);
}

function finish(milliseconds, switches) {
  const {settings} = model, off = settings.switches.filter((_, i) => !switches[i]), bests = parts.map(one => one.result.best);
  const [tokens, logP] = ["length", "logP"].map(name => bests.reduce((sum, best) => sum + best[name], 0));
  const facts = [t`${tokens} tokens`, t`log-probability ${logP.toFixed(2)}`, t`${(milliseconds / 1000).toFixed(2)} s`];
  if (off.length) facts.push(t`without ${off.map(name => t([name]).trim()).join(t`, `)}`);
  place("about").textContent = facts.join(" · ");
  write("spoken", place("translation").textContent); // whole, once
  const said = [parts.some(doubtful) && t([settings.unsure]), parts.some(one => one.unknown) && t`⁇ stands for letters that the model has never seen.`];
  say(said.filter(Boolean).join(" "));
  performance.mark("translated");
}

function force(index, token) {
  const choices = new Set([...part.choices].filter(earlier => earlier < index)).add(index);
  again({forced: [...part.result.best.tokens.slice(0, index), token], choices}, index);
}

// The shown sentence is translated anew. The button that was pressed is gone then: a token gets the focus, unless the reader moved it.
function again(change, index) {
  Object.assign(part, change, {result: null});
  frozen = pointed = step = null;
  translate().then(() => {
    if (document.activeElement === document.body) (place("target").children[index] ?? place("go")).focus();
  });
}

// Another sentence of several is shown.
function look(index) {
  part = parts[index];
  frozen = pointed = step = null;
  draw();
}

// --- what is shown ---

function weightsOf(kind) {
  return kind === "encoder" ? part.weights : part.result.best.before.weights[kind];
}

// The head that aligns best, where that was measured: the one with which the figures begin, too.
function measuredHead() {
  const {head} = model.settings;
  return head && {layer: head[0] - 1, head: head[1] - 1};
}

// The heads that are chosen, as drawing.js takes them; `rows` and `columns` say which pieces each word has.
function view() {
  const kind = headForm.elements.kind.value, shown = chosen.length ? chosen : [{layer: 0, head: 0, colour: 0}];
  const written = part.result.best.tokens.map(id => tokenizer.label(id)), read = ["<start>", ...written.slice(0, -1)];
  const axes = {encoder: [part.labels, part.labels], decoder: [read, read], encoder_decoder: [written, part.labels]}[kind];
  const [rows, columns] = axes.map(headForm.elements.words.checked ? grouped : apart), weights = joined(weightsOf(kind), rows, columns);
  const heads = shown.map(one => ({...one, weight: (query, key) => weights.at(one.layer, one.head, query, key)}));
  const [queries, keys] = [rows, columns].map(words => words.map(({label}) => label));
  return {queries, keys, rows, columns, titles: TITLES[kind], heads, weights, kind};
}

// A token as a query or a key of the picture, alone or in its word; null where it is neither.
function asFocus(token, {kind, rows, columns}) {
  if (!token) return null;
  const among = words => words.findIndex(({pieces}) => pieces.includes(token.index));
  if (token.side === "target") return kind === "encoder" ? null : {query: among(rows)};
  return kind === "encoder" ? {query: among(rows)} : kind === "encoder_decoder" ? {key: among(columns)} : null;
}

function drawTokens(side, labels) {
  const buttons = labels.map((label, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    if (side === "target" && part.choices.has(index)) { button.className = "forced"; button.setAttribute("aria-description", t`forced`); }
    Object.assign(button.dataset, {side, index});
    return button;
  });
  place(side).replaceChildren(...buttons);
}

// The menu that chooses among several sentences.
function drawNumbers() {
  partForm.hidden = parts.length < 2;
  partForm.elements.which.replaceChildren(...parts.map((_, i) => new Option(t`${i + 1} of ${parts.length}`, i)));
}

const markWritten = (element, is) => { element.classList.toggle("written", is); element.setAttribute("aria-current", is); };

function drawStep() {
  const {best, steps, done} = part.result, chain = best.chain, last = chain.length - 1; // a click while it ran may be on more
  const index = Math.min(step ?? (done ? best.leastSure : last), last);
  place("place").textContent = t`${index + 1} of ${chain.length}`;
  place("why").textContent = step === null && done ? t`, the least sure` : "";
  place("choices").replaceChildren(...chain[index].before.next.map(({token, p}) => {
    const button = document.createElement("button"), [number, text] = [document.createElement("span"), document.createElement("span")];
    button.type = "button";
    button.dataset.token = token;
    [number.className, text.className] = ["number", "text"];
    [number.textContent, text.textContent] = [`${(100 * p).toFixed(1)}%`, tokenizer.label(token)];
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg"), rect = document.createElementNS(bar.namespaceURI, "rect");
    for (const [name, value] of [["height", "100%"], ["width", `${(100 * p).toFixed(1)}%`]]) rect.setAttribute(name, value);
    bar.setAttribute("aria-hidden", true);
    bar.append(rect);
    button.append(number, text, bar);
    markWritten(button, token === chain[index].token);
    button.addEventListener("click", () => force(index, token));
    return button;
  }));
  place("release").hidden = !part.choices.size;
  place("beams").tBodies[0].replaceChildren(...steps[index].map(one => {
    const row = document.createElement("tr"), ended = one.token === model.settings.ids.eos;
    row.insertCell().textContent = one.logP.toFixed(2);
    row.insertCell().textContent = `${tokenizer.decode(one.tokens)}${ended ? " <eos>" : ""}`;
    markWritten(row, one === chain[index]);
    return row;
  }));
}

function drawHead() {
  const drawn = view();
  drawLines(place("lines"), drawn, place("lines").parentElement.clientWidth);
  drawCells(place("cells"), drawn, place("cells").parentElement.clientWidth);
  if (part.result.done) drawThumbnails(place("heads"), drawn.weights, drawn.heads); // while tokens come, one head is enough to draw
  const {layer, head} = drawn.heads.at(-1);
  [headForm.elements.layer.value, headForm.elements.number.value] = [layer, head];
  nameHeads(place("several"), drawn.heads);
  drawOff({layer, head});
  drawFocus();
}

// Which heads are off: a head that is off gives zeros, and its map shows the weights that it would have.
function drawOff({layer, head}) {
  const {kinds, config: {n_layers: layers, n_heads: heads}} = model.settings, kind = headForm.elements.kind;
  const shown = off.has(model.headNumber(kind.value, layer, head)), names = [...off].sort((a, b) => a - b).map(number => {
    const title = [...kind.options].find(one => one.value === kinds[Math.floor(number / (layers * heads))]).text;
    return t`${title}, ${headName({layer: Math.floor(number / heads) % layers, head: number % heads})}`;
  }).join(t`; `);
  headForm.elements.off.checked = shown;
  place("off").hidden = !off.size;
  place("off").firstChild.textContent = t`Off: ${names}.` + (shown ? t` The picture shows the weights that this head would have.` : "");
  const first = model.headNumber(kind.value, 0, 0);
  [...place("heads").children].forEach((button, number) => button.classList.toggle("off", off.has(first + number)));
}

function drawFocus() {
  if (!part?.result || !place("lines").hasChildNodes()) return;
  const token = pointed ?? frozen, seen = view(), focus = asFocus(token, seen);
  for (const id of ["lines", "cells"]) show(place(id), focus, seen.heads);
  place("said").style.minHeight = roomForWords(seen.heads);
  write("said", focus ? inWords(focus, seen) : "");
  for (const button of document.querySelectorAll(".tokens button")) {
    const own = {side: button.dataset.side, index: Number(button.dataset.index)};
    button.classList.toggle("pointed", sameToken(own, token) || token?.side === own.side && sameWord(asFocus(own, seen), focus));
    button.setAttribute("aria-pressed", sameToken(own, frozen));
  }
}

// While tokens come, the head is drawn now and then: to draw takes longer than to compute.
function draw() {
  const now = performance.now(), whole = part.result.done || now - drawnAt > BETWEEN_DRAWINGS;
  partForm.elements.which.value = parts.indexOf(part);
  drawTokens("source", part.labels);
  drawTokens("target", part.result.best.tokens.map(id => tokenizer.label(id)));
  place("translation").textContent = joinSentences(parts.map(one => one.result ? tokenizer.decode(one.result.best.tokens) : ""));
  drawStep();
  if (whole) {
    drawHead();
    drawnAt = now;
  }
}

// --- what the reader does ---

// The token that an event is about: a button, or a label in a picture.
function tokenOf(event) {
  const element = event.target?.closest?.("[data-side], [data-query], [data-key]");
  if (!element || !part?.result) return null;
  const {side, index, query, key} = element.dataset, {kind, rows, columns} = view();
  if (side) return {side, index: Number(index)};
  if (query !== undefined) return {side: kind === "encoder" ? "source" : "target", index: rows[query].pieces[0]};
  return kind === "decoder" ? null : {side: "source", index: columns[key].pieces[0]};
}

const sameToken = (a, b) => a?.side === b?.side && a?.index === b?.index;
const sameWord = (a, b) => Boolean(a && b) && a.query === b.query && a.key === b.key;

function point(token) {
  if (sameToken(token, pointed)) return;
  pointed = token;
  drawFocus();
}

function freeze(token) {
  frozen = !token || sameToken(token, frozen) ? null : token;
  if (!frozen) pointed = null;
  const before = step, at = [...place("choices").children].indexOf(document.activeElement); // its button goes, the focus stays
  step = frozen?.side === "target" ? frozen.index : null;
  if (step !== before) drawStep();
  place("choices").children[at]?.focus();
  drawFocus();
}

function listen() {
  const shown = place("result");
  const ofKeys = () => tokenOf({target: document.querySelector(".tokens :focus-visible")}); // stays when the page moves under a mouse
  for (const name of ["mouseover", "focusin"]) shown.addEventListener(name, event => point(tokenOf(event) ?? ofKeys()));
  shown.addEventListener("mouseleave", () => point(ofKeys()));
  shown.addEventListener("focusout", () => point(null));
  shown.addEventListener("click", event => { const token = tokenOf(event); if (token) freeze(token); });
  document.addEventListener("keydown", event => { if (event.key === "Escape" && part?.result) freeze(null); });
  form.addEventListener("submit", event => { event.preventDefault(); clear(); translate(); });
  form.elements.sentence.addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  form.elements.sentence.addEventListener("input", preview);
  form.addEventListener("change", event => { if (event.target.name !== "sentence") form.requestSubmit(); });
  place("release").addEventListener("click", () => again({forced: [], choices: new Set()}, Math.min(...part.choices)));
  for (const one of [partForm, headForm]) one.addEventListener("submit", event => event.preventDefault());
  partForm.addEventListener("change", () => look(Number(partForm.elements.which.value)));
  place("all").addEventListener("click", () => { off = new Set(); headForm.elements.off.focus(); form.requestSubmit(); });
  headForm.addEventListener("change", event => {
    const {layer, number: head, several} = headForm.elements, one = {layer: Number(layer.value), head: Number(head.value)};
    if ([layer, head].includes(event.target) || !several.checked && event.target === several) chosen = picked([], one, false);
    if (event.target.name === "off") {
      const number = model.headNumber(headForm.elements.kind.value, one.layer, one.head);
      off = new Set(off);
      if (event.target.checked) off.add(number); else off.delete(number);
      form.requestSubmit();
    } else if (part?.result) drawHead();
  });
  addEventListener("resize", () => { if (part?.result) drawHead(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (part?.result) drawHead(); });
}

async function start() {
  const bar = Object.assign(place("loaded"), {hidden: false});
  arriving.tell = () => Object.assign(bar, arriving.of && {max: arriving.of, value: arriving.bytes});
  say(t`Loading the model …`);
  try {
    [model, tokenizer] = await Promise.all([Model.load(), fetched("tokenizer.model").then(file => new Tokenizer(new Uint8Array(file)))]);
  } catch (error) {
    console.error(error);
    say(t`The model could not be loaded (${error.message}): reload the page, try another browser, or write the page again.`);
    return;
  } finally { bar.hidden = true; }
  const {model: name, languages: [read, written], search: {beam_size: own}, config: {n_layers: layers, n_heads: heads}} = model.settings;
  place("model").textContent = name;
  form.elements.beams.append(...[...new Set([own, 4, 1])].map(n => new Option(n > 1 ? t`beam of ${n}` : t`greedy`, n))); // own first
  for (const id of ["sentence", "source"]) place(id).lang = read ?? ""; // which a screen reader reads by
  for (const one of [...["translation", "target", "choices", "spoken"].map(place), place("beams").tBodies[0]]) one.lang = written ?? "";
  for (const [field, count] of [["layer", layers], ["number", heads]]) {
    headForm.elements[field].append(...Array.from({length: count}, (_, i) => new Option(i + 1, i)));
  }
  makeThumbnails(place("heads"), layers, heads, (one, more = headForm.elements.several.checked) => {
    chosen = picked(chosen, one, more);
    if (part?.result) drawHead();
  });
  walkThumbnails(place("heads"), () => heads, () => headForm.elements.several.checked);
  listen();
  place("go").disabled = false;
  await translate();
}

start();
