// Without formulas in the excerpts of a search: LaTeX is not what one reads.
document.addEventListener("DOMContentLoaded", () => {
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
