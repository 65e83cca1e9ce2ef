/* What the pages need for keyboard and screen reader beyond their elements. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.access = {
  /* The document's title and language, from the heading of the page that is shown. */
  named(page) {
    const heading = page.props.children.flat().find(one => one && one.type === "H1");
    document.title = `${[heading.props.children].flat().join("")} · TCP over long fat pipes`;
    document.documentElement.lang = page.props.lang || "en";
  },

  /* Moves the time axis of the timeline, as a drag would. Half of the span is left out, doubled, or passed by. */
  moved() {
    const asked = window.dash_clientside.callback_context.triggered_id;
    const plot = document.querySelector("#timeline .js-plotly-plot");
    if (!asked || !plot) return;
    const [start, end] = plot._fullLayout.xaxis.range, span = end - start;
    const [first, last] = { "move-in": [0.25, -0.25], "move-out": [-0.5, 0.5],
                            "move-earlier": [-0.5, -0.5], "move-later": [0.5, 0.5] }[asked];
    window.Plotly.relayout(plot, { "xaxis.range": [start + first * span, end + last * span] });
  },
};

/* The grid of runs moves from cell to cell by arrows. Enter opens what the cell links to. */
document.addEventListener("keydown", event => {
  const link = event.key === "Enter" && event.target.matches(".ag-cell") && event.target.querySelector("a");
  if (link) link.click();
});
