// Draw each chart of the page from the specification that stands behind it.
for (const text of document.querySelectorAll("script[data-chart]")) {
  vegaEmbed(document.getElementById(text.dataset.chart), JSON.parse(text.textContent), {renderer: "canvas"});
}
