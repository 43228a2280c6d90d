document.addEventListener("DOMContentLoaded", () => {
  // A figure opens by itself, where a phone or a zoomed page can make it larger: by a click or by the keyboard.
  for (const figure of document.querySelectorAll("article img")) {
    if (figure.closest("a")) continue;
    const link = document.createElement("a");
    link.href = figure.src;
    figure.replaceWith(link);
    link.append(figure);
  }
  // What scrolls can be reached by the keyboard, in a browser that does not see to it, too: also once it is unfolded or typeset.
  const reach = new ResizeObserver(seen => {
    for (const {target} of seen) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const wide of document.querySelectorAll("article :is(pre, .table-wrapper, .math-wrapper, .live-chart)")) reach.observe(wide);
});
