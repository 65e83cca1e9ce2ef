/* The timeline of a trial. It asks the server for each view (timeline/views.py) and draws it with plotly.js. A
   request that a later one makes useless is given up. Hover texts of lines come once the view is drawn.

   A trial's document brings `lfp_first`: what its first view needs (document.py). That view is drawn before Dash has made
   the page, outside of what is visible, and moves into the page when the page is there. */
window.dash_clientside = window.dash_clientside || {};
/* Dash's polyfill replaces these; plotly.js calls them for each colour and text, and the browser's own are ten times as
   fast. */
{
  const { trim, ...others } = window.lfp_native;
  Object.assign(window, others);
  String.prototype.trim = trim;
}
(() => {
  const SOON_MS = 120, MOST_FACTS = 8, WAITING = Array(MOST_FACTS).fill("…");
  let plot = null, address = "", flow = 0, visit = 0, page = 0, moves = false, underway = null, soon = 0, config = {};
  let early = null, words = "", frame = null, legends = null, axisTitles = null, titles = {};
  const shown = new Map();  // what a reader chose in the legends

  function said(text = words) {
    const line = document.getElementById("timeline-said");
    words = text;
    if (line) line.textContent = text;
  }
  const chosen = () => ({ flow, ...(plot && plot.lfpBin ? { bin: plot.lfpBin } : {}) });

  async function fetched(kind, query, signal) {
    let answer;
    try {
      answer = await fetch(`${address}/${kind}${query ? `?${query}` : ""}`, { signal });
    } catch (error) {
      throw error.name === "AbortError" ? error : new Error("The dashboard does not answer.");
    }
    const found = await answer.json().catch(() => ({ error: `The dashboard answered with status ${answer.status}.` }));
    if (!answer.ok) throw new Error(found.error);
    return found;
  }

  /* Shows the view of a query. `kept`: vertical ranges of a box zoom, with the units in which they are. */
  async function show(query, kept = {}) {
    underway?.abort();
    clearTimeout(soon);
    const own = underway = new AbortController();
    try {
      const figure = await fetched("view", query, own.signal);
      if (own !== underway) return;
      await draw(figure, kept);
      if (own !== underway) return;
      said(figure.layout.meta.said);
      soon = setTimeout(() => name(query, own, figure.data), SOON_MS);
    } catch (error) {
      if (error.name !== "AbortError") said(error.message);
    }
  }

  async function draw({ data, layout }, { ranges = {}, units = {} }) {
    for (const trace of data)
      if (trace.customdata?.later !== undefined) trace.customdata = Array(trace.customdata.later).fill(WAITING);
    for (const [axis, range] of Object.entries(ranges)) {
      const step = units[axis] && layout.meta[axis] ? units[axis] / layout.meta[axis] : 1;
      if (layout[axis]) layout[axis].range = range.map(limit => limit * step);
    }
    window.lfp_legend.apply(data, shown);
    layout.showlegend = false;
    titles = window.lfp_axis_titles.take(layout);
    await window.Plotly.react(plot, data, layout, config);
    window.lfp_legend.draw(legends, plot, shown);
    window.lfp_axis_titles.draw(axisTitles, plot, titles);
    if (layout.meta.visit >= 0) visit = layout.meta.visit;
    exported(layout.xaxis.range);
    plot.setAttribute("data-view", layout.xaxis.range.join(" "));
  }

  /* The link to the segments of the view. */
  function exported(range) {
    const [from, to] = range.map(limit => limit.toFixed(9));
    const link = document.getElementById("export-csv");
    if (link) link.href = `${address}/segments.csv?${new URLSearchParams({ ...chosen(), from, to })}`;
  }

  /* Lists what happened in the view that is drawn: a page of it, with its place among all. */
  async function list(number, own) {
    const table = document.getElementById("timeline-events");
    if (!table || !plot?._fullLayout) return;
    const [from, to] = plot._fullLayout.xaxis.range.map(limit => limit.toFixed(9));
    const query = new URLSearchParams({ ...chosen(), from, to, page: number });
    const found = await fetched("events", query.toString(), own.signal);
    if (own !== underway) return;
    page = found.page;
    const row = texts => {
      const line = document.createElement("tr");
      texts.forEach((text, column) => {
        const cell = line.insertCell();
        if (column) { cell.textContent = text; return; }
        const leads = document.createElement("button");  // to the event, with the width of the view kept
        leads.className = "plain";
        leads.textContent = text;
        leads.addEventListener("click", () => centre(Number(text)));
        cell.append(leads);
      });
      return line;
    };
    table.tBodies[0].replaceChildren(...found.rows.map(row));
    const first = found.page * found.size, total = found.total.toLocaleString("en");
    document.getElementById("timeline-events-said").textContent = found.total
      ? `${(first + 1).toLocaleString("en")} to ${(first + found.rows.length).toLocaleString("en")} of ${total} in view`
      : "Nothing happened in view.";
    document.getElementById("events-earlier").disabled = found.page === 0;
    document.getElementById("events-later").disabled = found.page + 1 >= found.pages;
  }

  function turned(by) {
    list(page + by, underway).catch(error => { if (error.name !== "AbortError") said(error.message); });
  }

  function centre(t) {
    const [start, end] = plot._fullLayout.xaxis.range, half = (end - start) / 2;
    go({ from: (t - half).toFixed(9), to: (t + half).toFixed(9) });
    plot.scrollIntoView({ block: "start" });  // the list is below it
  }

  /* Fills in the hover texts of what is drawn; plotly.js reads them when it shows one. */
  async function name(query, own, data) {
    try {
      linked();
      const facts = await fetched("hover", query, own.signal);
      if (own !== underway) return;
      facts.forEach((texts, row) => texts?.forEach((text, point) => { data[row].customdata[point] = text; }));
      hoverAgain();
      plot.setAttribute("data-hover", query);
      await list(0, own);
    } catch (error) {
      if (error.name !== "AbortError") said(error.message);
    }
  }

  /* A hover text that is on the screen was written before its facts came. */
  function hoverAgain() {
    const [first, ...others] = plot._hoverdata || [];
    if (!first?.xaxis) return;
    const points = [first, ...others].map(({ curveNumber, pointNumber }) => ({ curveNumber, pointNumber }));
    window.Plotly.Fx.hover(plot, points, first.xaxis._id + first.yaxis._id);
  }

  /* The same for a view that a reader chose: the address of the page then leads to it. */
  function go(asked, kept) {
    moves = true;
    show(new URLSearchParams({ ...chosen(), ...asked }).toString(), kept);
  }

  function linked() {
    if (!moves || !plot?._fullLayout?.xaxis) return;
    const [from, to] = plot._fullLayout.xaxis.range.map(limit => limit.toFixed(9));
    window.history.replaceState(window.history.state, "", `?${new URLSearchParams({ ...chosen(), from, to })}`);
  }

  /* A drag, a double click or a script has changed the axes. Gives whether a view was asked for. */
  function zoomed(edits) {
    const ranges = {};
    let whole = false;
    for (const [key, value] of Object.entries(edits)) {
      const [, axis, end] = /^([xy]axis\d*)\.range(?:\[([01])\])?$/.exec(key) || [];
      if (axis && end === undefined) ranges[axis] = [...value];
      else if (axis) (ranges[axis] ??= [])[end] = value;
      else whole ||= /^xaxis\d*\.autorange$/.test(key);
    }
    const [, x] = Object.entries(ranges).find(([axis]) => axis.startsWith("x")) || [];
    const kept = Object.fromEntries(Object.entries(ranges).filter(([axis]) => axis.startsWith("y")));
    const chooses = Boolean(x) && x[1] > x[0];
    if (chooses) go({ from: x[0].toFixed(9), to: x[1].toFixed(9) }, { ranges: kept, units: plot.layout.meta });
    else if (whole) go({ visit: "whole" });
    return chooses || whole;
  }

  /* What plotly.js does when a drag ends: it draws the points that it has over the new range. In our plot the server's
     view comes at once, so that drawing is left out; it takes as long as the view's. Other plots get plotly's own. */
  window.Plotly.register({
    moduleType: "apiMethod",
    name: "_guiRelayout",
    fn(graph, ...edits) {
      if (graph === plot && typeof edits[0] === "object" && zoomed(edits[0])) return Promise.resolve(graph);
      graph._fullLayout._guiEditing = true;
      const done = window.Plotly.relayout(graph, ...edits);
      graph._fullLayout._guiEditing = false;
      return done;
    },
  });

  /* Draws a page's first view in a new plot. */
  function begin(first, place) {
    if (plot) window.Plotly.purge(plot);
    ({ address, config } = first);
    visit = 0;
    moves = false;
    words = "";
    [frame, plot, legends, axisTitles] = Array.from({ length: 4 }, () => document.createElement("div"));
    frame.className = "with-legends";
    legends.className = "legends";
    axisTitles.className = "axis-titles";
    frame.append(plot, legends, axisTitles);
    place.replaceChildren(frame);
    const own = plot;
    show(first.query).then(() => own.on?.("plotly_relayout", edits => { if (own === plot) zoomed(edits); }));
  }

  function beginEarly() {
    early = document.body.appendChild(document.createElement("div"));
    early.className = "early";
    early.setAttribute("aria-hidden", "true");
    begin(window.lfp_first, early);
  }

  /* Moves what was drawn early into the page, with what only the page knows. */
  function moveIn(host) {
    host.replaceChildren(frame);
    said();
    if (plot._fullLayout) exported(plot._fullLayout.xaxis.range);
    if (plot.hasAttribute("data-hover")) turned(0);
  }

  function moved(by, more = {}) {
    const [start, end] = plot._fullLayout.xaxis.range, span = end - start;
    go({ from: (start + by[0] * span).toFixed(9), to: (end + by[1] * span).toFixed(9), ...more });
  }

  const MOVES = { "move-in": [0.25, -0.25], "move-out": [-0.5, 0.5],
                  "move-earlier": [-0.5, -0.5], "move-later": [0.5, 0.5] };

  window.dash_clientside.timeline = {
    /* The page of a trial is there. `page`: its address, first query, connection, and plotly's settings. */
    mounted(page) {
      const host = document.getElementById("timeline");
      if (!page || !host || (plot && host.contains(plot))) return null;
      const first = window.lfp_first;
      const isEarly = early && first.address === page.address && first.query === page.query;
      ({ flow } = page);
      if (!isEarly) begin(page, host);
      plot.lfpBin = page.bin;
      if (isEarly) moveIn(host);
      early?.remove();
      early = null;
      return page.address;
    },

    zoomed,

    /* A button, or the choice of a connection or of bins. */
    act() {
      const asked = window.dash_clientside.callback_context.triggered_id;
      if (!asked || !plot?._fullLayout) return;
      if (asked.startsWith("picture-"))
        window.Plotly.downloadImage(
          { data: plot.data, layout: window.lfp_axis_titles.restored({ ...plot.layout, showlegend: true }, titles) },
          { format: asked.slice("picture-".length), filename: "timeline",
            width: plot.clientWidth, height: plot.clientHeight });
      else if (asked.startsWith("events-")) turned(asked === "events-later" ? 1 : -1);
      else if (asked.startsWith("event-")) moved([0, 0], { event: asked.slice("event-".length) });
      else if (MOVES[asked]) moved(MOVES[asked]);
      else go({ visit: { "go-whole": "whole", "go-first": 0, "go-previous": visit - 1, "go-next": visit + 1 }[asked] });
    },

    /* Another connection, or bins of another width for rates. */
    chosen(connection, bin) {
      if (!plot?._fullLayout) return;
      const other = flow !== connection;
      flow = connection;
      plot.lfpBin = bin;
      if (other) go({ visit: 0 });
      else moved([0, 0]);
    },
  };
  if (window.lfp_first) beginEarly();
})();
