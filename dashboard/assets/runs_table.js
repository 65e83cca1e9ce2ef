/* In a document that was not opened at the list of runs: a table of runs that fetches its scripts, 2 MB, when it is
   first shown. `lfp_later` has their addresses (document.py). Rejected: fetching them after the first view, because a
   click could come before them. */
(() => {
  const { Suspense, createElement, lazy } = window.React;

  function run(address) {
    return new Promise((done, failed) => {
      const script = Object.assign(document.createElement("script"), { src: address, onload: done, onerror: failed });
      document.head.append(script);
    });
  }

  const Fetched = lazy(async () => {
    await Promise.all(window.lfp_later.map(run));
    const fetched = window.dash_ag_grid;
    window.dash_ag_grid = { ...fetched, AgGrid }; /* Another component here would make a new table of one on the page. */
    return { default: fetched.AgGrid };
  });

  function AgGrid(props) {
    return createElement(Suspense, { fallback: null }, createElement(Fetched, props));
  }
  AgGrid.dashRenderType = true; /* Dash says who changed the properties, as the fetched component wants it. */

  if (window.lfp_later.length) window.dash_ag_grid = { AgGrid };
})();
