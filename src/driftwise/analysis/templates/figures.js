"use strict";
// From a figure's description to the traces and the layout of plotly.js; page.js gives them colours.
const figureContent = (() => {
  const numbers = (packed) => new Float32Array(Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)).buffer);
  const percent = (share, digits) => `${(100 * share).toFixed(digits)} %`;
  // plotly.js reads some HTML.
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function axis({ label, log, from_zero, limits, ticks }, lowest = 0) {
    return {
      title: { text: plain(label) },
      ...(log && { type: "log" }),
      ...(from_zero && { rangemode: "tozero", minallowed: lowest }),
      ...(limits && { range: limits }),
      ...(ticks && { tickvals: ticks.map(([at]) => at), ticktext: ticks.map(([, text]) => plain(text)) }),
    };
  }

  function line(figure, { kind, name, x, y, style, agent, hover, end }) {
    const [number, dash] = style || ["faint", 0];
    const drawn = {
      type: "scatter",
      mode: { marked: "lines+markers", dots: "markers" }[kind] || "lines",
      name: plain(name),
      x: numbers(x || figure.x),
      y: numbers(y),
      line: { width: style ? 2 : 0.8, dash: ["solid", "dash", "dot", "dashdot"][dash] },
      hovertemplate: "%{y:.4~r}",
      meta: { colour: number, agent },
    };
    if (hover.length) Object.assign(drawn, { text: hover.map(plain), hovertemplate: "%{text}<extra></extra>" });
    if (kind === "dots") drawn.marker = { size: 9 };
    if (kind === "steps") drawn.line.shape = "hv";
    if (kind === "stacked") drawn.stackgroup = figure.name;
    if (kind === "background") Object.assign(drawn, { line: { width: 0.8 }, hoverinfo: "skip", opacity: 0.3 });
    if (kind === "reference") {
      Object.assign(drawn, { line: { width: 1.2, dash: "dot" }, meta: { colour: "soft" } });
      if (figure.unit) drawn.yaxis = "y2"; // an axis without a curve is not drawn
    }
    if (end) {
      const text = [...Array(drawn.y.length - 1).fill(""), plain(end)];
      const look = { mode: "lines+text", textposition: "middle right", cliponaxis: false, hoverinfo: "skip" };
      Object.assign(drawn, { text, ...look });
    }
    return drawn;
  }

  // The area around a curve: along its upper side and back along the lower, piece by piece between gaps.
  function band(figure, curve) {
    const [at, low, high] = [curve.x || figure.x, curve.low, curve.high].map(numbers);
    const area = { x: [], y: [] };
    for (let start = 0, end; start < at.length; start = end + 1) {
      for (end = start; end < at.length && !Number.isNaN(at[end] + low[end] + high[end]); ) end += 1;
      const places = Array.from({ length: end - start }, (_, place) => start + place);
      const back = [...places].reverse();
      area.x.push(...[...places, ...back].map((place) => at[place]), null);
      area.y.push(...places.map((place) => high[place]), ...back.map((place) => low[place]), null);
    }
    const look = { type: "scatter", mode: "lines", fill: "toself", line: { width: 0 }, hoverinfo: "skip" };
    return { ...area, ...look, meta: { ...line(figure, curve).meta, band: true } };
  }

  // An axis to the right, in shares of the unit, as far as one and a half times the highest curve.
  function sharesAxis({ unit, unit_label: label, extent: [lowest, highest] }) {
    const top = (1.5 * highest) / unit;
    const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1];
    const step = steps.find((size) => top <= 6 * size) || 1;
    const shares = Array.from({ length: Math.ceil((top + step) / step) }, (_, place) => place * step);
    const ticks = shares.map((share) => [share * unit, percent(share, step < 0.01 ? 1 : 0)]);
    const place = { overlaying: "y", matches: "y", side: "right", showgrid: false };
    return { ...axis({ label, from_zero: true, ticks }, lowest), ...place };
  }

  // Faint curves and bands come first, so that none lies over a line.
  function curvesContent(figure) {
    const { curves, marks, shades, extent, strip } = figure;
    const lines = curves.map((curve) => line(figure, curve));
    const bands = curves.filter((curve) => curve.low).map((curve) => band(figure, curve));
    const edges = { xref: "x", y0: 0, y1: 1, layer: "below" };
    const shapes = [
      ...marks.map((x) => ({ type: "line", yref: "paper", x0: x, x1: x, ...edges })),
      ...shades.map(({ start, stop, style }) => (
        { type: "rect", yref: "y domain", x0: start, x1: stop, colour: style ? style[0] : "faint", ...edges })),
    ];
    const layout = { xaxis: axis(figure.x_axis, extent[0]), yaxis: axis(figure.y_axis, extent[0]), shapes };
    if (curves.some((curve) => curve.end)) layout.margin = { l: 44, r: 40, t: 8, b: 40 };
    if (curves.some((curve) => curve.hover.length)) layout.hovermode = "closest";
    if (figure.legend) layout.showlegend = true;
    if (figure.unit) layout.yaxis2 = sharesAxis(figure);
    if (strip) {
      const height = 0.1; // as a share of the figure's
      const area = line(figure, { name: "drift", x: strip[0], y: strip[1], agent: "", hover: [] });
      const look = { line: { width: 1, shape: "vh" }, fill: "tozeroy", hovertemplate: "%{y:.0%}", yaxis: "y3" };
      lines.push({ ...area, ...look, meta: { colour: "soft" } });
      const hidden = { showticklabels: false, showgrid: false, fixedrange: true };
      layout.xaxis.anchor = "y3";
      layout.yaxis.domain = [height + 0.06, 1];
      layout.yaxis3 = { ...axis({ label: "drift", limits: [0, 1.05] }), domain: [0, height], ...hidden };
    }
    const faint = ({ meta }) => meta.colour === "faint";
    return { data: [...lines.filter(faint), ...bands, ...lines.filter((line) => !faint(line))], layout };
  }

  function barsContent({ labels, shares, texts, styles, x_label: label, agent }) {
    const bar = (share, place) => ({
      type: "bar",
      orientation: "h",
      x: [share],
      y: [plain(labels[place])],
      text: [texts[place]],
      textposition: "auto",
      hovertemplate: "%{y}: %{x:.1%}<extra></extra>",
      meta: { colour: styles[place][0], agent },
    });
    const layout = {
      barmode: "stack", // every bar has its own row
      xaxis: { ...axis({ label }), tickformat: ".0%", rangemode: "tozero" },
      yaxis: { ...axis({ label: "" }), autorange: "reversed", showgrid: false },
      hovermode: "closest",
    };
    return { data: shares.map(bar), layout };
  }

  function heatMapContent(figure) {
    const { x_label: x, y_label: y, value_label: value, column_labels: columns } = figure;
    const names = [y, x, value].map(plain);
    const values = [...numbers(figure.values)].map((value) => (Number.isNaN(value) ? null : value));
    const map = {
      type: "heatmap",
      x: columns.map(plain),
      y: figure.row_labels.map(plain),
      z: figure.row_labels.map((_, row) => values.slice(row * columns.length, (row + 1) * columns.length)),
      text: figure.texts.map((row) => row.map(plain)),
      texttemplate: figure.texts_shown ? "%{text}" : "",
      hovertemplate: `${names[0]} %{y}<br>${names[1]} %{x}: ${names[2]} %{text}<extra></extra>`,
    };
    if (figure.scale) map.colorbar = { title: { text: plain(figure.scale), side: "right" } };
    const layout = { xaxis: axis({ label: x }), yaxis: axis({ label: y }) };
    if (figure.downwards) layout.yaxis.autorange = "reversed";
    return { data: [map], layout };
  }

  return (figure) =>
    figure.curves ? curvesContent(figure) : figure.shares ? barsContent(figure) : heatMapContent(figure);
})();
