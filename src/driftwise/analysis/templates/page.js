"use strict";
(() => {
  const root = document.documentElement;
  const hidden = new Set(); // labels of agents
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  // On a touch screen a finger on a figure scrolls the page.
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const figures = [...document.querySelectorAll(".figure")];
  const drawn = new Map(); // from a figure's place to its content

  function colour(name) {
    return getComputedStyle(root).getPropertyValue(name).trim();
  }

  const isHeatMap = ({ type }) => type === "heatmap";

  function trace(given, _, all) {
    const meta = given.meta || {};
    if (isHeatMap(given))
      return { colorscale: "Cividis", ...given, colorbar: { outlinewidth: 0, thickness: 12, ...given.colorbar } };
    if (meta.colour === undefined) return given;
    const own = colour(`--c-${meta.colour}`);
    const visible = !hidden.has(meta.agent);
    if (meta.band) return { ...given, fillcolor: own + (all.length > 20 ? "14" : "2b"), visible, showlegend: false };
    const look = { line: { ...given.line, color: own }, marker: { ...given.marker, color: own } };
    if (given.fill) look.fillcolor = own + "55";
    return { ...given, ...look, textfont: { color: own, size: 11 }, visible };
  }

  function layout(given, data) {
    const heat = data.some(isHeatMap);
    const [ink, soft, line, paper] = ["--ink", "--soft", "--line", "--paper"].map(colour);
    const names = ["xaxis", "yaxis", ...Object.keys(given).filter((name) => /^[xy]axis\d/.test(name))];
    const usual = (name) => ({ ...(heat && { type: "category" }), showgrid: name.startsWith("y") && !heat });
    const shape = ({ colour: number, ...own }) =>
      number === undefined
        ? { ...own, line: { color: soft, width: 1, dash: "dot" } }
        : { ...own, fillcolor: colour(`--c-${number}`) + "1f", line: { width: 0 } };
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
      hovermode: data.length > 20 || heat ? "closest" : "x unified",
      hoverlabel: { bgcolor: paper, bordercolor: line, font: { color: ink }, namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      dragmode: touch ? false : "zoom",
      uirevision: "keep", // a zoom outlives a change of colours
      ...given,
      ...Object.fromEntries(names.map((name) => [name, axis({ ...usual(name), ...given[name] })])),
      shapes: (given.shapes || []).map(shape),
    };
  }

  const options = () => ({
    responsive: true,
    displaylogo: false,
    displayModeBar: window.matchMedia("(hover: hover)").matches ? "hover" : false,
    modeBarButtons: [["toImage", toSvg(), "zoom2d", "pan2d", "resetScale2d"]], // others may use the network
  });
  const toSvg = () => ({
    name: "toSvg",
    title: "Download plot as SVG",
    icon: Plotly.Icons.disk,
    click: (place) => Plotly.downloadImage(place, { format: "svg", filename: place.dataset.name }),
  });

  function draw(place) {
    if (!drawn.has(place)) {
      drawn.set(place, figureContent(JSON.parse(place.querySelector("script").textContent)));
      place.textContent = "";
    }
    const { data, layout: given } = drawn.get(place);
    Plotly.react(place, data.map(trace), layout(given, data), options());
  }

  // One figure at a time, so that the page can be read and scrolled meanwhile.
  async function drawAll(places) {
    for (const place of places) {
      draw(place);
      await new Promise((done) => setTimeout(done));
    }
  }

  const redraw = () => drawAll([...drawn.keys()]);

  function show(theme) {
    root.dataset.theme = theme;
    redraw();
  }

  // Figures are drawn when one comes near them: most of a long page is never looked at.
  const watch = new IntersectionObserver(
    (entries) => {
      const near = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
      for (const place of near) watch.unobserve(place);
      drawAll(near);
    },
    { rootMargin: "500px" },
  );
  window.addEventListener("beforeprint", () => figures.filter((place) => !drawn.has(place)).forEach(draw));

  document.getElementById("theme").addEventListener("click", () => {
    show(root.dataset.theme === "dark" ? "light" : "dark");
  });
  system.addEventListener("change", () => show(system.matches ? "dark" : "light"));

  const chips = [...document.querySelectorAll(".chip")];
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      const { agent } = chip.dataset;
      if (!hidden.delete(agent)) hidden.add(agent);
      for (const other of chips) other.setAttribute("aria-pressed", !hidden.has(other.dataset.agent));
      redraw();
    });
  }

  for (const heading of document.querySelectorAll(".sortable th")) {
    heading.querySelector("button").addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const column = heading.cellIndex;
      const key = (row) => Number(row.cells[column].dataset.key);
      const word = (row) => row.cells[column].textContent;
      const compare =
        heading.dataset.kind === "number"
          ? (a, b) => key(a) - key(b) || 0 // two that are infinite are equal
          : (a, b) => word(a).localeCompare(word(b));
      const body = heading.closest("table").tBodies[0];
      const rows = [...body.rows].sort((a, b) => (ascending ? compare(a, b) : compare(b, a)));
      body.append(...rows);
    });
  }

  // A table that is wider than its place becomes cards, so that nothing of it is cut off.
  function fit() {
    const tables = [...document.querySelectorAll(".scroll")];
    for (const table of tables) table.classList.remove("cards");
    const wide = tables.filter((table) => table.scrollWidth > table.clientWidth + 1);
    for (const table of wide) {
      table.classList.add("cards");
      const headings = [...table.querySelectorAll("th")].map((heading) => heading.textContent);
      for (const cell of table.querySelectorAll("td")) cell.dataset.label = headings[cell.cellIndex];
    }
  }
  window.addEventListener("resize", fit);
  fit();

  for (const button of document.querySelectorAll(".more")) {
    button.addEventListener("click", () => {
      button.previousElementSibling.querySelector("table").classList.remove("long");
      button.remove();
    });
  }

  show(system.matches ? "dark" : "light");
  for (const place of figures) watch.observe(place);
})();
