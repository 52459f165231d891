"use strict";
// Pictures of what the server has computed: `shown`, and `sgd` over it.

const dark = matchMedia("(prefers-color-scheme: dark)");
let plots = {}, colours = {};
const colour = name => colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = value => !Number.isFinite(value) ? "–" : Math.abs(value) >= 1e4 || (Math.abs(value) < 1e-3 && value !== 0) ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(4)));
const rough = value => short(Number(value.toPrecision(2)));  // as the outputs allow
const brief = value => Number.isFinite(value) && value !== 0 && Math.abs(value) < 0.0095 ? value.toExponential(0) : Number.isFinite(value) ? value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0) : "–";
const finite = value => Number.isFinite(value) ? value : null;

function cells(parts, tag = "td") {
  const row = document.createElement("tr");
  for (const part of parts) {
    const cell = document.createElement(tag);
    cell.append(part);
    row.append(cell);
  }
  return row;
}

function draw() {
  const {facts, arrays} = shown;
  $("risk").setAttribute("aria-label", `Risk over time, from ${short(facts.start_risk)} to ${short(arrays.risk.values[shown.count - 1])}; numbers in the table below`);
  $("phases").textContent = facts.phases.map(one => `${one.name} ${rough(one.from)} to ${rough(one.to)}`).join(" · ") || "No plateau that has been left, so no phases.";
  $("cursor").max = shown.count - 1;
  $("which").options[OVERLAPS.indexOf("readout")].disabled = !state["training.train_readout"];
  place();
  drawRisk();
  drawOverlaps();
  drawMatrix();
  drawNumbers();
  $("theory").hidden = facts.theory.length === 0;
  $("untold").textContent = facts.theory_refusal === null ? "" : `No closed form applies here: ${facts.theory_refusal}.`;
  $("theory").tBodies[0].replaceChildren(...facts.theory.map(one => cells([one.name, short(one.value), known(one)])));
}

function known(one) {
  const box = document.createElement("details");
  box.append(Object.assign(document.createElement("summary"), {textContent: one.source}), one.about);
  const cell = document.createDocumentFragment();
  cell.append(...one.caveats.map(text => Object.assign(document.createElement("p"), {className: "caveat", textContent: text})), box);
  return cell;
}

function drawNumbers() {
  // the curve for those who do not see it, or want its numbers
  if (!$("values").open) return;
  const {time, risk} = shown.arrays, last = shown.count - 1, rows = Math.min(12, last);
  const chosen = Array.from({length: rows + 1}, (_, i) => Math.round(i * last / Math.max(rows, 1)));
  $("values").querySelector("tbody").replaceChildren(...chosen.map(i => cells([short(time.values[i]), short(risk.values[i])])));
}

// ---- the time under the cursor: an output of the curve

function place() {
  const times = shown.arrays.time.values, wanted = state["view.at"];
  shown.at = shown.count - 1;
  if (wanted !== null) for (let i = shown.count - 1; i >= 0; i--) if (Math.abs(times[i] - wanted) <= Math.abs(times[shown.at] - wanted)) shown.at = i;
  $("cursor").value = shown.at;
}

function scrub(time) {
  state["view.at"] = Number(time.toPrecision(6));
  place();
  drawMatrix();
  for (const one of Object.values(plots)) one.made.redraw(false, false);
  writeAddress();
}

// ---- curves

function axes(label, logx, logy) {
  const values = (u, ticks) => ticks.map(value => value === null ? "" : short(value));
  const axis = log => {
    const filter = log ? decades : (u, ticks) => ticks;
    return {stroke: colour("--quiet"), grid: {stroke: colour("--line"), width: 1, filter}, ticks: {stroke: colour("--line"), filter}, filter, values};
  };
  return [{...axis(logx), label: "α = steps / dim", labelSize: 16, size: 34}, {...axis(logy), label, labelSize: 18, size: 64}];
}

function decades(u, ticks) {
  // of a logarithmic axis: powers of ten, and where there are few of them 2 and 5 times these; where there are many, some
  const exponents = ticks.map(value => Math.log10(value)), span = exponents.at(-1) - exponents[0], each = Math.ceil(span / 10);
  return ticks.map((value, i) => {
    const whole = Math.round(exponents[i]);
    if (Math.abs(exponents[i] - whole) < 1e-6) return whole % each === 0 ? value : null;
    const lead = value / 10 ** Math.floor(exponents[i]);
    return span < 0.7 || span < 2.5 && [2, 5].some(one => Math.abs(lead - one) < 1e-6) ? value : null;
  });
}

function plot(id, series, data, label, logy, hooks) {
  // the same lines: new data; other lines: a new plot
  const width = $(id).clientWidth, height = innerWidth > 760 ? 300 : 220, logx = state["view.log_time"];
  const shape = JSON.stringify([series.map(one => [one.label, one.stroke]), label, logx, logy, width, height]);
  if (plots[id]?.shape === shape) { plots[id].made.setData(data); return; }
  plots[id]?.made.destroy();
  const follow = u => { if (u.cursor.idx != null && u.cursor.left >= 0) scrub(u.data[0][u.cursor.idx]); };
  const options = {
    width, height, series, axes: axes(label, logx, logy), legend: {show: false}, cursor: {drag: {x: false, y: false}},
    scales: {x: {time: false, distr: logx ? 3 : 1}, y: {distr: logy ? 3 : 1}},
    hooks: {...hooks, draw: [...(hooks.draw ?? []), now], setCursor: [follow]},
  };
  plots[id] = {shape, made: new uPlot(options, data, $(id))};
}

function chips(id, entries) {
  // a legend: [colour, text]
  $(id).replaceChildren(...entries.map(([stroke, text]) => {
    const item = document.createElement("li"), swatch = document.createElement("span");
    swatch.style.background = stroke;
    item.append(swatch, text);
    return item;
  }));
}

function drawRisk() {
  if (!shown) return;
  const {arrays} = shown, from = state["view.log_time"] ? 1 : 0;
  const time = Array.from(arrays.time.values).slice(from, shown.count);
  const series = [{label: "time"}, {label: "equations", stroke: colour("--one"), width: 2, spanGaps: true}];
  const least = state["view.log_risk"] ? shown.facts.accuracy : -Infinity;  // below it there is only rounding
  const seen = value => value > least ? finite(value) : null;
  let data = [time, Array.from(arrays.risk.values).slice(from, shown.count).map(seen)];
  const hidden = data[1].includes(null) ? ` (down to ${short(least)}, its accuracy)` : "";
  const legend = [[colour("--one"), `deterministic limit${hidden}`]];
  if (sgd?.risk.length) {
    data = uPlot.join([data, [sgd.time.slice(from), ...sgd.risk.map(row => row.slice(from).map(value => value === null || (value <= 0 && state["view.log_risk"]) ? null : value))]]);
    sgd.risk.forEach((row, i) => series.push({label: `SGD ${i + 1}`, stroke: colour("--two"), width: 1, spanGaps: true}));
    legend.push([colour("--two"), `SGD at dimension ${shown.facts.dim} (${sgd.risk.length} runs)`]);
  }
  if (shown.facts.theory.some(one => one.at)) legend.push([colour("--three"), "theory"]);
  chips("risk-legend", legend);
  plot("risk", series, data, "risk", state["view.log_risk"], {drawClear: [shade], draw: [marks]});
}

function inside(u, what) {
  const context = u.ctx, {left, top, width, height} = u.bbox;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  context.font = `${11 * devicePixelRatio}px system-ui`;
  context.textAlign = "left"; context.lineWidth = devicePixelRatio; context.setLineDash([]);
  what(context, left, top, width, height);
  context.restore();
}

function line(context, a, b, c, d) { context.beginPath(); context.moveTo(a, b); context.lineTo(c, d); context.stroke(); }

function now(u) {
  if (state["view.at"] === null) return;
  inside(u, (context, left, top, width, height) => {
    const x = u.valToPos(shown.arrays.time.values[shown.at], "x", true);
    context.strokeStyle = colour("--quiet");
    line(context, x, top, x, top + height);
  });
}

function spans(u, left, width) {
  // phases with their edges on the screen
  const at = time => Math.min(Math.max(u.valToPos(Math.max(time, u.scales.x.min), "x", true), left), left + width);
  return shown.facts.phases.map(one => [one.name, at(one.from), at(one.to)]);
}

function shade(u) {
  inside(u, (context, left, top, width, height) => {
    context.fillStyle = colour("--shade");
    context.strokeStyle = colour("--line");
    for (const [name, a, b] of spans(u, left, width)) {
      if (name === "plateau") context.fillRect(a, top, b - a, height);
      line(context, b, top, b, top + height);
    }
  });
}

function marks(u) {
  // names of phases at the bottom; predictions as dashed lines, their names one above the other where they would collide
  inside(u, (context, left, top, width, height) => {
    const step = 14 * devicePixelRatio, taken = [];
    context.fillStyle = colour("--quiet");
    for (const [name, a, b] of spans(u, left, width)) {
      const wide = context.measureText(name).width;
      if (b - a > wide + 6) context.fillText(name, (a + b - wide) / 2, top + height - 6 * devicePixelRatio);
    }
    context.strokeStyle = context.fillStyle = colour("--three");
    context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    context.lineWidth = 1.5 * devicePixelRatio;
    const write = (text, x, y) => {
      const wide = context.measureText(text).width;
      x = Math.min(Math.max(x, left + 4), left + width - wide - 4);
      y = Math.min(Math.max(y, top + step), top + height - 2 * step);
      while (taken.some(([a, b, c]) => Math.abs(b - y) < step && x < a + c && a < x + wide) && y > top + step) y -= step;
      taken.push([x, y, wide]);
      context.fillText(text, x, y);
    };
    for (const one of shown.facts.theory.filter(one => one.at && one.value > 0)) {
      if (one.at === "risk") {
        const y = u.valToPos(one.value, "y", true);
        line(context, left, y, left + width, y);
        if (y > top && y < top + height) write(one.name, left + width, y < top + 2 * step ? y + step : y - 4);
      } else {
        const x = u.valToPos(one.value, "x", true);
        line(context, x, top, x, top + height);
        if (x > left && x < left + width) write(one.name, x + 4 * devicePixelRatio, top + height);
      }
    }
  });
}

function hue(j, of) { return `hsl(${(212 + j * 360 / of) % 360} 65% ${dark.matches ? 68 : 34}%)`; }

function overlapCurves() {
  // label of the axis, legend, and curves: name, colour, value at output t, the same of SGD
  const {cross, student, readout} = shown.arrays, [, p, q] = cross.shape, curves = [];
  const which = state["view.overlaps"] === "readout" && !state["training.train_readout"] ? "teachers" : state["view.overlaps"];
  if (which === "students") {
    for (let i = 0; i < p; i++) for (let j = 0; j <= i; j++) curves.push([`Q${i + 1} ${j + 1}`, hue(i === j ? 0 : 1, 3), t => student.values[(t * p + i) * p + j]]);
    return ["overlap between students", [[hue(0, 3), "of a student with itself"], ...p > 1 ? [[hue(1, 3), "of two students"]] : []], curves];
  }
  if (which === "readout") {
    for (let i = 0; i < p; i++) curves.push([`a${i + 1}`, hue(i, p), t => readout.values[t * p + i]]);
    return ["readout", Array.from({length: p}, (_, i) => [hue(i, p), `student ${i + 1}`]), curves];
  }
  for (let j = 0; j < q; j++) for (let i = 0; i < p; i++) curves.push([`R${i + 1} ${j + 1}`, hue(j, q), t => cross.values[(t * p + i) * q + j], t => sgd.cross[t][i * q + j]]);
  return ["overlap with a teacher", Array.from({length: q}, (_, j) => [hue(j, q), `teacher ${j + 1}`]), curves];
}

function drawOverlaps() {
  if (!shown) return;
  const from = state["view.log_time"] ? 1 : 0, [label, legend, curves] = overlapCurves();
  const along = (count, value) => Array.from({length: Math.max(count - from, 0)}, (_, t) => finite(value(t + from)));
  const series = [{label: "time"}, ...curves.map(([name, stroke]) => ({label: name, stroke, width: 1.5, spanGaps: true}))];
  let data = [along(shown.count, t => shown.arrays.time.values[t]), ...curves.map(([, , value]) => along(shown.count, value))];
  if (sgd?.cross?.length && curves[0][3]) {
    const reached = sgd.cross.length;
    data = uPlot.join([data, [sgd.time.slice(from, reached), ...curves.map(([, , , value]) => along(reached, value))]]);
    series.push(...curves.map(([name, stroke]) => ({label: `SGD ${name}`, stroke, width: 1, dash: [3, 3], spanGaps: true})));
    legend.push([colour("--quiet"), "dashed: the first SGD run"]);
  }
  chips("overlaps-legend", legend);
  plot("overlaps", series, data, label, false, {});
}

// ---- the matrix, and the landscape at the time under the cursor

function fit(canvas, height) {
  // as many pixels as the screen shows, so that text has its size
  const width = canvas.parentElement.clientWidth || 320;
  canvas.width = width * devicePixelRatio; canvas.height = height * devicePixelRatio;
  canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  context.textAlign = "center";
  return [context, width];
}

function drawMatrix() {
  if (!shown) return;
  const {arrays, at} = shown, [, p, q] = arrays.cross.shape, n = p + q, edge = 22;
  const time = `α = ${short(arrays.time.values[at])}`;
  const high = Math.min(258 / p, 56), [context, width] = fit($("matrix"), edge + p * high), wide = (width - edge) / n;
  $("cursor").setAttribute("aria-valuetext", time);
  $("now").textContent = `${time}, risk ${short(arrays.risk.values[at])}`;
  const entry = (i, j) => j < p ? arrays.student.values[(at * p + i) * p + j] : arrays.cross.values[(at * p + i) * q + j - p];
  const rows = Array.from({length: p}, (_, i) => Array.from({length: n}, (_, j) => entry(i, j)));
  const most = Math.max(1e-12, ...rows.flat().filter(Number.isFinite).map(Math.abs));
  const names = [...Array.from({length: p}, (_, i) => `s${i + 1}`), ...Array.from({length: q}, (_, j) => `t${j + 1}`)];
  context.font = "11px system-ui";
  context.fillStyle = colour("--quiet");
  names.forEach((name, j) => context.fillText(name, edge + (j + 0.5) * wide, 14));
  rows.forEach((row, i) => context.fillText(names[i], edge / 2 - 1, edge + (i + 0.5) * high + 4));
  rows.forEach((row, i) => row.forEach((value, j) => {
    const share = Number.isFinite(value) ? value / most : 0;
    context.fillStyle = share >= 0 ? `hsl(212 70% ${95 - 55 * share}%)` : `hsl(352 70% ${95 + 55 * share}%)`;
    context.fillRect(edge + j * wide, edge + i * high, wide - 1, high - 1);
    if (wide >= 28) {
      context.fillStyle = Math.abs(share) > 0.75 ? "#fff" : "#111";
      context.fillText(brief(value), edge + (j + 0.5) * wide, edge + (i + 0.5) * high + 4);
    }
  }));
  context.fillStyle = colour("--ink");
  context.fillRect(edge + p * wide - 1.5, 0, 2, edge + p * high);
  clearTimeout(numbering);
  numbering = setTimeout(() => {  // for those who do not see the picture, when it has settled
    $("numbers").tHead.replaceChildren(cells(["", ...names], "th"));
    $("numbers").tBodies[0].replaceChildren(...rows.map((row, i) => cells([names[i], ...row.map(short)])));
  }, 300);
  $("caption").textContent = `Overlaps of students (rows) with students s and teachers t. Blue positive, red negative, up to ${short(most)}.`;
  drawLandscape();
}

let bending = null, numbering = null;

function drawLandscape() {
  // how the risk bends here, and which critical points are near
  const {facts, at} = shown, decays = shown.tables.training.weight_decay > 0;
  $("unbent").textContent = facts.landscape !== null ? facts.landscape : decays ? "Of the risk itself, without weight decay." : "";
  $("bending").hidden = facts.landscape !== null;
  $("listing").hidden = facts.landscape !== null;
  if (facts.landscape !== null) return;
  $("hessian").classList.add("old");  // until the new one is here
  clearTimeout(bending);
  const mine = shown;
  bending = setTimeout(() => bend(at, mine), 150);
}

async function bend(at, mine) {
  const answer = await fetch("/api/curvature", {method: "POST", body: JSON.stringify({state: mine.tables, at})}).catch(() => null);
  if (mine !== shown || at !== shown.at) return;
  if (!answer?.ok) { $("bent").textContent = answer ? (await answer.json()).problems.join("; ") : "the server does not answer"; return; }
  $("hessian").classList.remove("old");
  const {inside, outside, room, near, unlisted} = await answer.json();
  $("unlisted").textContent = unlisted ?? "";
  $("critical").hidden = near.length === 0;
  $("critical").tBodies[0].replaceChildren(...near.map(one =>
    cells([`${one.kind}: ${one.inside} learned, ${one.outside} astray`, short(one.loss), short(one.risk), String(one.index)])));
  const [context, width] = fit($("hessian"), 90), all = [...inside, ...outside];
  const low = Math.min(0, ...all), high = Math.max(0, ...all), where = value => 20 + (value - low) / (high - low || 1) * (width - 40);
  context.strokeStyle = context.fillStyle = colour("--quiet");
  line(context, 10, 60, width - 10, 60);
  line(context, where(0), 10, where(0), 66);
  context.font = "12px system-ui";
  for (const value of new Set([low, 0, high])) {
    if (value === 0 || Math.abs(where(value) - where(0)) > 50) context.fillText(short(value), Math.min(Math.max(where(value), 24), width - 24), 84);
  }
  for (const [values, name, top, bottom] of [[inside, "--one", 15, 34], [outside, "--two", 36, 58]]) {
    context.strokeStyle = colour(name);
    for (const value of values) line(context, where(value), top, where(value), bottom);
  }
  const times = room === null ? "infinitely many times" : `${room} times`, down = inside.filter(value => value < 0).length;
  $("bent").textContent = `Hessian at α = ${short(shown.arrays.time.values[at])}: ${inside.length} eigenvalues along the units (upper, ${down} negative), ${outside.length} outside, each ${times} (lower); from ${short(low)} to ${short(high)}.`;
}
