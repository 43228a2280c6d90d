// Beam search (61a), one step at a time, so that each step can be shown. With one beam it is greedy search.

const SHOWN = 8; // alternatives that are kept of each step

const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

// A beginning of a translation: its last token, what stood before it, and its log-probability.
// Once the decoder has seen it: `next`, the likeliest tokens to follow with their probabilities, and the `weights`.
export class Beginning {
  constructor(before = null, token = null, logP = 0) {
    Object.assign(this, {before, token, logP, length: before ? before.length + 1 : 0});
  }

  get chain() { return this.before ? [...this.before.chain, this] : []; }
  get tokens() { return this.chain.map(one => one.token); }

  // Number of the token of which the model was least sure: where a look at the others pays.
  get leastSure() {
    const sure = this.chain.map(({logP, before}) => logP - before.logP);
    return sure.indexOf(Math.min(...sure));
  }
}

// Places of the n largest numbers, largest first.
function largest(numbers, n) {
  const places = [];
  for (let i = 0; i < numbers.length; i++) {
    if (places.length === n && numbers[i] <= numbers[places[n - 1]]) continue;
    let at = places.length;
    while (at > 0 && numbers[places[at - 1]] < numbers[i]) at--;
    places.splice(at, 0, i);
    if (places.length > n) places.pop();
  }
  return places;
}

function logNormalizer(logits) {
  let most = -Infinity, sum = 0;
  for (const logit of logits) most = Math.max(most, logit);
  for (const logit of logits) sum += Math.exp(logit - most);
  return most + Math.log(sum);
}

// The ways in which one beginning may go on; where the reader forces a token, that one.
function continuations(beginning, found, n, forced) {
  const {logits, ...weights} = found, all = logNormalizer(logits), places = largest(logits, Math.max(n, SHOWN));
  const logP = token => logits[token] - all;
  beginning.weights = weights;
  beginning.next = places.slice(0, SHOWN).map(token => ({token, p: Math.exp(logP(token))}));
  if (forced !== undefined && !beginning.next.some(({token}) => token === forced)) {
    beginning.next.push({token: forced, p: Math.exp(logP(forced))});
  }
  const tokens = forced === undefined ? places.slice(0, n) : [forced];
  return tokens.map(token => new Beginning(beginning, token, beginning.logP + logP(token)));
}

// Yields after each step {steps, best, done}: of each step what was kept, best first; the best beginning; whether it is the result.
// decode(beginnings) is `Model.decode` for a source; `forced` are tokens that the translation has to begin with.
export async function* search(decode, {beams, alpha, longest, eos, forced = []}) {
  const steps = [];
  let alive = [new Beginning()], finished = [];
  for (let length = 1; ; length++) {
    const found = await decode(alive.map(one => one.tokens)), n = beams > 1 ? 2 * beams : 1;
    const grown = alive.flatMap((one, k) => continuations(one, found[k], n, forced[length - 1]));
    const top = grown.filter(one => one.logP > -Infinity).sort((a, b) => b.logP - a.logP).slice(0, n);
    const ended = top.filter(one => one.token === eos), going = top.filter(one => one.token !== eos).slice(0, beams);
    for (const one of ended) one.score = one.logP / lengthPenalty(length, alpha);
    finished = [...finished, ...ended].sort((a, b) => b.score - a.score).slice(0, beams);
    steps.push(top.filter(one => ended.includes(one) || going.includes(one)));
    const reachable = going.length ? going[0].logP / lengthPenalty(longest, alpha) : -Infinity; // no beam that goes on can end better
    const done = length >= longest || !going.length || finished.length > 0 && finished[0].score >= reachable;
    const best = done && finished.length ? finished[0] : going[0] ?? finished[0];
    yield {steps, best, done};
    if (done) return;
    alive = going;
  }
}
