// Where a sentence ends: the rule of data/sentences.py, with the patterns that settings.json brings from there.

const NEAR = 40; // characters before and after an end that decide

// The sentences of a text, without the blanks between them.
export function splitSentences(text, patterns) {
  const [shortened, beginner, afterEllipsis] = ["shortened", "beginner", "after_ellipsis"].map(name => new RegExp(patterns[name], "u"));
  const ends = (before, signs, after) => /^(\.\.\.|…)/.test(signs)
    ? !afterEllipsis.test(after) : signs !== "." || !shortened.test(before) || beginner.test(after);
  const found = [];
  let start = 0;
  for (const end of text.matchAll(new RegExp(patterns.end, "gu"))) {
    const close = end.index + end[1].length, next = end.index + end[0].length;
    if (!ends(text.slice(Math.max(start, close - NEAR), close), end[1], text.slice(next, next + NEAR))) continue;
    found.push(text.slice(start, close));
    start = next;
  }
  return [...found, text.slice(start)];
}

// One text of their translations, one alone as it is; Chinese and Japanese have no blank behind these signs.
export const joinSentences = texts =>
  texts.length === 1 ? texts[0] : texts.filter(Boolean).join(" ").replace(/([。！？」』）]) /gu, "$1");
