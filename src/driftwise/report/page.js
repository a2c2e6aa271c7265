"use strict";
(() => {
  const root = document.documentElement;
  const hidden = new Set();
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  // On a touch screen a finger on a figure scrolls the page.
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const figures = [...document.querySelectorAll(".figure")].map((place) => {
    const content = JSON.parse(place.querySelector("script").textContent);
    place.textContent = "";
    return { place, ...content };
  });

  function colour(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  function trace(given, _, all) {
    const meta = given.meta || {};
    if (meta.colour === undefined) return given;
    const own = colour(`--c${meta.colour}`);
    const visible = !hidden.has(meta.agent);
    if (meta.band) return { ...given, fillcolor: own + (all.length > 20 ? "14" : "2b"), visible, showlegend: false };
    return { ...given, line: { ...given.line, color: own }, marker: { ...given.marker, color: own }, visible };
  }

  function layout(given, count) {
    const [ink, soft, line, paper] = ["--ink", "--soft", "--line", "--paper"].map(colour);
    const axis = (own) => ({
      gridcolor: line, zeroline: false, linecolor: line, automargin: true, tickfont: { color: soft },
      ...own, title: { font: { color: soft, size: 12 }, standoff: 10, ...(own || {}).title },
    });
    return {
      margin: { l: 44, r: 10, t: 8, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, color: ink, size: 12 },
      showlegend: false,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hovermode: count > 20 ? "closest" : "x unified",
      hoverlabel: { bgcolor: paper, bordercolor: line, font: { color: ink }, namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      dragmode: touch ? false : "zoom",
      uirevision: "keep", // a zoom outlives a change of colours
      ...given,
      xaxis: axis({ showgrid: false, ...given.xaxis }),
      yaxis: axis(given.yaxis),
      shapes: (given.shapes || []).map((shape) => ({ ...shape, line: { color: soft, width: 1, dash: "dot" } })),
    };
  }

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: window.matchMedia("(hover: hover)").matches ? "hover" : false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]], // these only: others may use the network
  };

  // One figure at a time, so that the page can be read and scrolled while the later ones are drawn.
  async function draw() {
    for (const { place, data, layout: given } of figures) {
      Plotly.react(place, data.map(trace), layout(given, data.length), config);
      await new Promise((done) => setTimeout(done));
    }
  }

  function show(theme) {
    root.dataset.theme = theme;
    draw();
  }

  document.getElementById("theme").addEventListener("click", () => {
    show(root.dataset.theme === "dark" ? "light" : "dark");
  });
  system.addEventListener("change", () => show(system.matches ? "dark" : "light"));

  const chips = [...document.querySelectorAll(".chip")];
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      const agent = Number(chip.dataset.agent);
      if (!hidden.delete(agent)) hidden.add(agent);
      for (const other of chips) other.setAttribute("aria-pressed", !hidden.has(Number(other.dataset.agent)));
      draw();
    });
  }

  for (const heading of document.querySelectorAll(".sortable th")) {
    heading.querySelector("button").addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const column = heading.cellIndex;
      const key = (row) => row.cells[column].dataset.key;
      const compare =
        heading.dataset.kind === "number"
          ? (a, b) => Number(key(a)) - Number(key(b)) || 0 // two that are infinite are equal
          : (a, b) => key(a).localeCompare(key(b));
      const body = heading.closest("table").tBodies[0];
      const rows = [...body.rows].sort((a, b) => (ascending ? compare(a, b) : compare(b, a)));
      body.append(...rows);
    });
  }

  show(system.matches ? "dark" : "light");
})();
