/* The legends of the timeline: beside each panel a button for each of its traces, which shows or hides the trace. A
   second click soon after the first shows this trace alone in its panel, or all. What is hidden stays so from view to
   view.
   Rejected: plotly.js's own. It draws them two or three times for each view and measures every text, a third of a
   zoom's time, and no key reaches them. Pictures to save still have them (timeline.js). */
window.lfp_legend = (() => {
  const SVG = "http://www.w3.org/2000/svg", HIDDEN = "legendonly";
  const DASHES = { dot: "2 2", dash: "6 4", longdash: "9 4", dashdot: "6 3 2 3" };
  /* plotly.js's symbols, in a box of 16 px. */
  const SYMBOLS = {
    "circle": "M12 8a4 4 0 1 0-8 0a4 4 0 1 0 8 0z",
    "circle-open-dot": "M12 8a4 4 0 1 0-8 0a4 4 0 1 0 8 0zM8 8h.1",
    "triangle-up": "M4 11h8L8 4z",
    "triangle-down": "M4 5h8L8 12z",
    "hourglass-open": "M4 3h8L4 13h8z",
    "x-thin": "M5 5l6 6M11 5l-6 6",
    "cross-thin": "M8 3.5v9M3.5 8h9",
    "asterisk-open": "M8 3.5v9M3.5 8h9M5 5l6 6M11 5l-6 6",
    "y-up-open": "M8 8v5M8 8L4 4M8 8l4-4",
  };

  function shape(parent, attributes) {
    const path = parent.appendChild(document.createElementNS(SVG, "path"));
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
  }

  /* A short piece of the line, or one mark. */
  function sample({ mode, line = {}, marker = {} }) {
    const box = document.createElementNS(SVG, "svg");
    box.setAttribute("viewBox", "0 0 28 16");
    box.setAttribute("aria-hidden", "true");
    if (mode.startsWith("lines"))
      shape(box, { d: "M0 8h28", stroke: line.color, "stroke-width": line.width,
                   "stroke-dasharray": DASHES[line.dash] || "none" });
    else {
      const symbol = marker.symbol || "circle", isFilled = !/-(open|thin)/.test(symbol);
      shape(box, { d: SYMBOLS[symbol] || SYMBOLS[symbol.replace("-open", "")], transform: "translate(6 0)",
                   stroke: isFilled ? "none" : marker.color, "stroke-width": 2,
                   fill: isFilled ? marker.color : "none" });
    }
    return box;
  }

  /* What a trace is called in all views: its group, or its name without the numbers of one view. */
  const key = ({ legendgroup, name }) => legendgroup || name.replace(/ \([^()]*\)$/, "");

  /* Applies the reader's choice to the traces of a view that is not drawn yet. `chosen`: what `set` keeps. */
  function apply(data, chosen) {
    for (const trace of data) if (chosen.has(key(trace))) trace.visible = chosen.get(key(trace));
  }

  /* Shows or hides traces of a plot that is drawn. `visible`: gives what plotly.js calls so, of a trace. */
  function set(plot, chosen, traces, visible) {
    for (const trace of traces) chosen.set(key(trace), visible(trace));
    const rows = plot.data.flatMap((trace, row) => chosen.has(key(trace)) ? [row] : []);
    return window.Plotly.restyle(plot, { visible: rows.map(row => chosen.get(key(plot.data[row]))) }, rows);
  }

  /* Draws the legends of a view into `host`, which lies over the margin beside the plot. */
  function draw(host, plot, chosen) {
    const { height, margin } = plot.layout, inside = height - margin.t - margin.b;
    const focused = host.contains(document.activeElement) && document.activeElement.dataset.trace;
    const panels = new Map();
    for (const trace of plot.data)
      if (trace.showlegend !== false) panels.set(trace.legend, [...panels.get(trace.legend) || [], trace]);
    host.style.width = `${margin.r}px`;
    host.replaceChildren(...[...panels].map(([name, traces]) => {
      const panel = document.createElement("div");
      panel.style.top = `${margin.t + (1 - plot.layout[name].y) * inside}px`;
      panel.append(...traces.map(trace => entry(host, plot, chosen, trace, traces)));
      return panel;
    }));
    pressed(host, plot);
    if (focused) [...host.querySelectorAll("button")].find(({ dataset }) => dataset.trace === focused)?.focus();
  }

  function entry(host, plot, chosen, trace, panel) {
    const button = document.createElement("button");
    button.dataset.trace = key(trace);
    button.append(sample(trace), trace.name);
    button.addEventListener("click", ({ detail }) => {
      const isAlone = panel.every(other => other === trace || other.visible === HIDDEN);
      const change = detail === 2
        ? set(plot, chosen, panel, other => other === trace || isAlone || HIDDEN)
        : set(plot, chosen, [trace], () => trace.visible === HIDDEN || HIDDEN);
      change.then(() => pressed(host, plot));
    });
    return button;
  }

  /* Tells by each button whether its trace is shown. */
  function pressed(host, plot) {
    const hidden = new Set(plot.data.filter(({ visible }) => visible === HIDDEN).map(key));
    for (const button of host.querySelectorAll("button"))
      button.setAttribute("aria-pressed", !hidden.has(button.dataset.trace));
  }

  return { apply, draw };
})();
