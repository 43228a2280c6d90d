document.addEventListener("DOMContentLoaded", () => {
  // A figure opens by itself, where a phone or a zoomed page can make it larger: by a click or by the keyboard.
  for (const figure of document.querySelectorAll("article img")) {
    if (figure.closest("a")) continue;
    const link = document.createElement("a");
    link.href = figure.src;
    figure.replaceWith(link);
    link.append(figure);
  }
  // Long lines of code scroll; the keyboard reaches them, too, in a browser that does not see to it.
  for (const code of document.querySelectorAll("article pre")) {
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
  }
});
