// What tells that a translation is wrong, however sure the model is: the rules of translation/lines.py.

// Several words, by the pattern that settings.json brings, without a small letter: `in_capitals`.
export const inCapitals = (text, patterns) =>
  new RegExp(patterns.several, "u").test(text) && text.toUpperCase() === text && text.toLowerCase() !== text;

// The numbers of a text in digits, as they stand and with groups joined: `numbers_in`.
function numbersIn(text) {
  const whole = text.replace(/([0-9])[,.'’](?=[0-9]{3}(?![0-9]))/g, "$1");
  const joined = whole.replace(/([0-9])(?:-(?=[0-9])|[ \u00a0\u202f](?=[0-9]{3}(?![0-9])))/g, "$1");
  return [whole, joined].map(one => (one.match(/[0-9]+/g) ?? []).map(number => number.replace(/^0+/, "")));
}

// A number in digits that the sentence, which has some, lacks: `numbers_differ`.
export function numbersDiffer(sentence, text) {
  const there = new Set(numbersIn(sentence).flat());
  const ends = [...there].filter(year => year.length === 4).map(year => year.slice(2));
  const afternoon = hour => hour > 12 && hour < 25 && there.has(`${hour - 12}`);
  const known = number => number === "" || there.has(number) || ends.includes(number) || afternoon(Number(number));
  return there.size > 0 && numbersIn(text).every(numbers => !numbers.every(known));
}
