// The same place in the other language: the n-th heading of one page is the n-th of the other.
document.addEventListener("DOMContentLoaded", () => {
  const headings = [...document.querySelectorAll("article h1, article h2, article h3, article h4")];
  const asked = /^#heading-(\d+)$/.exec(location.hash);
  if (asked && headings[asked[1]]) headings[asked[1]].scrollIntoView();
  for (const link of document.querySelectorAll(".language a")) {
    link.addEventListener("click", () => {
      const passed = headings.filter(one => one.getBoundingClientRect().top < innerHeight / 3).length - 1;
      link.hash = passed > 0 ? `heading-${passed}` : "";
    });
  }
});
