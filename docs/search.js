// What Sphinx's search lacks: Chinese questions, the book's chapters first, excerpts without LaTeX, and words for screen readers.

// The index holds words of Chinese, a question has no blanks between them: it is cut into the longest words that the index has.
function splitQuery(query) {
  const {terms, titleterms} = Search._index;
  const cut = text => {
    const words = [];
    for (let from = 0, to; from < text.length; from = to) {
      to = text.length;
      while (to > from + 1 && !Object.hasOwn(terms, text.slice(from, to)) && !Object.hasOwn(titleterms, text.slice(from, to))) to--;
      if (to > from + 1) words.push(text.slice(from, to));
    }
    return words.length ? words : [text];
  };
  const parts = query.match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{Letter}\p{Number}_\p{Emoji_Presentation}])+/gu) ?? [];
  return parts.flatMap(part => /\p{Script=Han}/u.test(part) ? cut(part) : part);
}

document.addEventListener("DOMContentLoaded", () => {
  // A page that explains stands before a module of the same name; who asks for a name with a capital or _ gets the reference.
  const asked = (new URLSearchParams(location.search).get("q") ?? "").trim();
  const inTitle = title => title.toLowerCase().includes(asked.toLowerCase());
  const named = page => !page.startsWith("api/") && inTitle(page.replaceAll("_", " ")); // kv cache: translation/kv_cache
  const isName = word => /[A-Z_]/.test(word) && asked.includes(word);
  Scorer.objPrio[0] = Scorer.objPrio[1]; // a module is no more than what is in it
  Scorer.score = ([page, title, , , score, , kind]) => score + (kind !== "object" && (inTitle(title) || named(page)) ? 5 : 0)
    + (page.startsWith("paper/") ? 3 : 0) + (page.startsWith("api/") ? isName(title.split(".").at(-1)) ? 5 : -12 : 0);
  const pulse = Search.startPulse; // begins when the places of the answer are there, and empty
  Search.startPulse = () => {
    const heading = document.createElement("h1"); // the page has no other
    heading.append(...Search.title.childNodes);
    Search.title.replaceWith(heading);
    Search.title = heading;
    Search.status.setAttribute("role", "status"); // what was found is read aloud
    pulse();
  };
  const withFormulas = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.replaceWith("…");
    return withFormulas(page.documentElement.outerHTML, anchor);
  };
});
// Sphinx 9 asks for a stemmer of Chinese, which it does not bring: Latin words among the Chinese ones are stemmed as English.
function ChineseStemmer() {
  return new EnglishStemmer();
}
