// What tells that a translation is wrong, however sure the model is: the rules of translation/lines.py.

// Several words, by the pattern that settings.json brings, without a small letter: `in_capitals`.
export const inCapitals = (text, patterns) =>
  new RegExp(patterns.several, "u").test(text) && text.toUpperCase() === text && text.toLowerCase() !== text;

// A number in digits that the sentence, which has some, lacks: `numbers_differ`.
export function numbersDiffer(sentence, text) {
  const numbers = sentence.match(/[0-9]+/g) ?? [], plain = number => number.replace(/^0+/, "");
  const there = new Set(numbers.map(plain)), joined = numbers.join("");
  const afternoon = number => Number(number) > 12 && Number(number) < 25 && there.has(`${Number(number) - 12}`);
  const usual = number => number === "00" || number.length === 2 && afternoon(number);
  const other = number => !joined.includes(number) && !there.has(plain(number)) && !usual(number);
  return joined !== "" && (text.match(/[0-9]+/g) ?? []).some(other);
}
