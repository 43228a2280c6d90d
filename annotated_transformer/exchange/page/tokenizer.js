// SentencePiece's byte-pair encoding, read from its own `.model` file: the same ids as in Python (51b).

const WORD = "▁"; // begins a word, and stands for a blank
const BPE = 2;    // SentencePiece's number for this kind of model
const UTF8 = new TextDecoder("utf-8", {ignoreBOM: true}); // or it would leave out the letter U+FEFF
const NORMAL = 1, UNKNOWN = 2, CONTROL = 3;

// The fields of a message in Protocol Buffers: its number, and an integer, a float or bytes.
function* fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const integer = () => {
    let value = 0, factor = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte & 128);
    return value;
  };
  while (at < bytes.length) {
    const tag = integer(), number = tag >> 3, form = tag & 7;
    if (form === 0) yield [number, integer()];
    else if (form === 1) at += 8;
    else if (form === 5) { yield [number, view.getFloat32(at, true)]; at += 4; }
    else { const length = integer(); yield [number, bytes.subarray(at, at + length)]; at += length; }
  }
}

// The rules of normalisation: a double array that spells what is replaced, then what stands in its place, each ended by a zero.
class Rules {
  constructor(bytes) {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    this.units = new Uint32Array(bytes.slice(4, 4 + size).buffer);
    this.texts = bytes.subarray(4 + size);
  }

  // How many bytes the longest rule takes from here on, and its text; null where no rule holds.
  longest(bytes, start) {
    const offset = unit => (unit >>> 10) << ((unit & 512) >>> 6);
    let place = offset(this.units[0]), found = null;
    for (let at = start; at < bytes.length; at++) {
      place ^= bytes[at];
      const unit = this.units[place];
      if ((unit & 0x800000ff) !== bytes[at]) break;
      place ^= offset(unit);
      if ((unit >>> 8) & 1) found = [at + 1 - start, this.units[place] & 0x7fffffff];
    }
    if (found === null) return null;
    const [taken, from] = found;
    return [taken, UTF8.decode(this.texts.subarray(from, this.texts.indexOf(0, from)))];
  }
}

export class Tokenizer {
  constructor(model) { // the file's bytes
    this.pieces = [];
    this.ids = new Map();
    this.scores = [];
    this.special = new Set();
    for (const [number, value] of fields(model)) {
      if (number === 1) this.add(Object.fromEntries(fields(value)));
      else if (number === 2 && Object.fromEntries(fields(value))[3] !== BPE) throw new Error("the tokenizer is none of byte pairs");
      else if (number === 3) {
        const rules = Object.fromEntries(fields(value));
        if (rules[3] === 0 || rules[4] === 0 || rules[5] === 0) throw new Error("the tokenizer treats blanks in its own way");
        if (rules[2]?.length) this.rules = new Rules(rules[2]);
      }
    }
    if (this.unknown === undefined) throw new Error("tokenizer.model is no file of SentencePiece");
  }

  add({1: piece, 2: score = 0, 3: type = NORMAL}) {
    const id = this.pieces.length, name = UTF8.decode(piece);
    this.pieces.push(name);
    this.scores.push(score);
    if (type === NORMAL) this.ids.set(name, id);
    else if (type === UNKNOWN) this.unknown = id;
    else if (type === CONTROL) this.special.add(id);
    else throw new Error("the tokenizer has pieces of a kind that this page does not know");
  }

  // One form for letters that are written in several ways; blanks as ▁, one at a time and one at the front.
  normalize(text) {
    const bytes = new TextEncoder().encode(text);
    let out = WORD;
    for (let at = 0; at < bytes.length;) {
      let [taken, found] = this.rules?.longest(bytes, at) ?? [0, ""];
      if (taken === 0) {
        taken = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
        found = UTF8.decode(bytes.subarray(at, at + taken));
      }
      at += taken;
      if (out.endsWith(WORD)) found = found.replace(/^ +/, "");
      out += found.replaceAll(" ", WORD);
    }
    return out.replace(/▁+$/, "");
  }

  // Join the two neighbours whose piece was learnt first, again and again. No piece reaches from one word into the next.
  split(word) {
    const symbols = [...word];
    while (true) {
      let best = -1, score = -Infinity;
      for (let i = 0; i + 1 < symbols.length; i++) {
        const id = this.ids.get(symbols[i] + symbols[i + 1]);
        if (id !== undefined && this.scores[id] > score) [best, score] = [i, this.scores[id]];
      }
      if (best < 0) return symbols;
      symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
    }
  }

  // Ids of the pieces, without EOS. Unknown letters side by side are one unknown piece.
  encode(text) {
    const words = this.normalize(text).match(/▁[^▁]*|[^▁]+/gu) ?? [];
    const ids = words.flatMap(word => this.split(word)).map(piece => this.ids.get(piece) ?? this.unknown);
    return ids.filter((id, i) => id !== this.unknown || ids[i - 1] !== this.unknown);
  }

  decode(ids) {
    let text = "";
    for (const id of ids.filter(id => !this.special.has(id))) {
      const piece = id === this.unknown ? " ⁇ " : this.pieces[id].replaceAll(WORD, " ");
      text += text || id === this.unknown ? piece : piece.replace(/^ /, ""); // a lone ▁ in front is no text yet
    }
    return text;
  }

  // A piece as it is shown: one that continues a word begins with a dot (70).
  label(id) {
    const piece = id === this.unknown ? WORD + "⁇" : this.pieces[id];
    if (this.special.has(id)) return id === 1 ? "<eos>" : "<start>";
    return !piece.startsWith(WORD) ? `·${piece}` : piece.slice(1) || WORD;
  }
}
