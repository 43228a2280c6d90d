// Draw each chart of the page from the specification that stands behind it.
for (const text of document.querySelectorAll("script[data-chart]")) {
  const place = document.getElementById(text.dataset.chart);
  vegaEmbed(place, JSON.parse(text.textContent), {renderer: "canvas"}).then(() => {
    place.querySelector("summary")?.setAttribute("aria-label", document.documentElement.lang.startsWith("zh") ? "保存图表" : "Save the chart");
  });
}
