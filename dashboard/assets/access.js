/* What the pages need for keyboard and screen reader beyond their elements. */
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.access = {
  /* The document's title and language, from the heading of the page that is shown. */
  named(page) {
    const heading = page.props.children.flat().find(one => one && one.type === "H1");
    document.title = `${[heading.props.children].flat().join("")} · TCP over long fat pipes`;
    document.documentElement.lang = page.props.lang || "en";
  },
};

/* The grid of runs moves from cell to cell by arrows. Enter opens what the cell links to. */
document.addEventListener("keydown", event => {
  const link = event.key === "Enter" && event.target.matches(".ag-cell") && event.target.querySelector("a");
  if (link) link.click();
});
