// The pieces of each word made one, as `AttentionMaps.words` does: rows are averaged, columns are summed.

const CONTINUES = "·", BEGINS = "▁";
// Thai, Lao, Burmese, Khmer, Japanese and Chinese write no blanks: there each piece is a word, unless it begins with a mark.
const NO_BLANKS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u;
const hasLetter = text => /[\p{L}\p{N}]|(?![\ufe00-\ufe0f])[\p{Mn}\p{Mc}]/u.test(text); // the others say how a sign looks
const bare = label => label.startsWith(CONTINUES) ? label.slice(1) : label;

function isSign(label) {
  const text = bare(label), rest = text.startsWith(BEGINS) ? text.slice(1) : text;
  return rest !== "" && !hasLetter(rest);
}

// Each word's label and the numbers of its pieces. Punctuation stands apart before and after a word, not within.
export function grouped(labels) {
  const starts = labels.map((label, i) => i === 0 || !label.startsWith(CONTINUES)), words = [];
  for (let i = 1; i < labels.length; i++) {
    const before = labels[i - 1], label = bare(labels[i]), meets = text => NO_BLANKS.test(text ?? "");
    starts[i] ||= (meets([...label][0]) || meets([...before].at(-1)) && hasLetter(label)) && before !== BEGINS
      && !/^\p{M}/u.test(label);
  }
  for (let i = labels.length - 1; i > 0; i--) starts[i] ||= isSign(labels[i]) && (starts[i + 1] ?? true);
  for (let i = 1; i < labels.length; i++) starts[i] ||= isSign(labels[i - 1]) && (starts[i - 1] || labels[i - 2] === BEGINS);
  for (let i = 1; i < labels.length; i++) { // a blank before a sign, as French has it before !, is no word
    starts[i] &&= !(labels[i - 1] === BEGINS && labels[i].startsWith(CONTINUES) && isSign(labels[i]));
  }
  labels.forEach((label, i) => {
    if (starts[i]) words.push({label: i ? bare(label) : label, pieces: [i]});
    else {
      words.at(-1).label += bare(label);
      words.at(-1).pieces.push(i);
    }
  });
  return words.map(({label, pieces}) => ({label: /^▁[^·]/u.test(label) ? label.slice(1) : label, pieces}));
}

// The same form for pieces that stay apart.
export const apart = labels => labels.map((label, i) => ({label, pieces: [i]}));

// Weights between words, of weights between pieces; queries and keys as `grouped` gives them.
export function joined(weights, queries, keys) {
  const at = (layer, head, query, key) => {
    const rows = queries[query].pieces, columns = keys[key].pieces;
    let sum = 0;
    for (const row of rows) for (const column of columns) sum += weights.at(layer, head, row, column);
    return sum / rows.length;
  };
  return {layers: weights.layers, heads: weights.heads, queries: queries.length, keys: keys.length, at};
}
