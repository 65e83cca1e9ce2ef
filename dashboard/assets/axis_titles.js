/* The titles of the timeline's axes, in places of their own beside the plot.
   Rejected: plotly.js's own. To place them it measures the labels of all ticks in each view, a sixth of a zoom's time.
   Pictures to save still have them (timeline.js). */
window.lfp_axis_titles = (() => {
  /* Takes the titles out of a layout that is not drawn yet. Gives them by their axes. */
  function take(layout) {
    const titles = {};
    for (const [name, axis] of Object.entries(layout))
      if (/^[xy]axis\d*$/.test(name)) {
        titles[name] = axis.title;
        axis.title = { text: "" };
      }
    return titles;
  }

  /* The layout with its titles again. */
  function restored(layout, titles) {
    const axes = Object.entries(titles).map(([name, title]) => [name, { ...layout[name], title }]);
    return { ...layout, ...Object.fromEntries(axes) };
  }

  /* Writes the titles of a view into `host`, which lies over the whole plot. */
  function draw(host, { layout: { height, margin, ...layout } }, titles) {
    const inside = height - margin.t - margin.b;
    host.style.height = `${height}px`;
    host.replaceChildren(...Object.entries(titles).map(([name, { text }]) => {
      const title = document.createElement("span");
      title.textContent = text;
      if (name.startsWith("x"))
        Object.assign(title.style, { left: `${margin.l}px`, right: `${margin.r}px`, bottom: "4px" });
      else {
        const [low, high] = layout[name].domain;
        title.className = "upright";
        title.style.top = `${margin.t + (1 - (low + high) / 2) * inside}px`;
      }
      return title;
    }));
  }

  return { take, restored, draw };
})();
