// Draw each chart of the page from the specification that stands behind it.
for (const text of document.querySelectorAll("script[data-chart]")) {
  const place = document.getElementById(text.dataset.chart);
  vegaEmbed(place, JSON.parse(text.textContent), {renderer: "canvas"}).then(() => {
    place.querySelector("summary")?.setAttribute("aria-label", document.documentElement.lang.startsWith("zh") ? "保存图表" : "Save the chart");
    for (const choices of place.querySelectorAll(".vega-bind:has([type=radio])")) { // whose number is “1”?
      choices.setAttribute("role", "radiogroup");
      choices.setAttribute("aria-label", choices.querySelector(".vega-bind-name").textContent.trim());
    }
  });
}
