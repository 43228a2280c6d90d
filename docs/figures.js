// A click on a figure opens it by itself, where a phone can make it larger.
document.addEventListener("click", event => {
  const figure = event.target.closest("article img");
  if (figure && !figure.closest("a")) location.assign(figure.src);
});
