// Overlaps over time, and all of them at the chosen time.
import {chips, colour, finite, hue, join, plot} from "./curves.js";
import {$, page, state} from "./store.js";
import {cells} from "./tables.js";
import {brief, short} from "./words.js";

const HIGHEST = 40;  // of a row of the matrix
let numbering = null;

function overlapCurves() {
  // label of the axis, legend, and curves: name, colour, value at output t, the same of the simulation
  const {shown, samples} = page, {cross, student, readout} = shown.arrays, [, p, q] = cross.shape, curves = [];
  const which = state["view.overlaps"] === "readout" && !state["training.train_readout"] ? "teachers" : state["view.overlaps"];
  if (which === "students") {
    for (let i = 0; i < p; i++) for (let j = 0; j <= i; j++) curves.push([`Q${i + 1} ${j + 1}`, hue(i === j ? 0 : 1, 3), t => student.values[(t * p + i) * p + j]]);
    return ["overlap of students", [{stroke: hue(0, 3), text: "of a student with itself"}, ...p > 1 ? [{stroke: hue(1, 3), text: "of two students"}] : []], curves];
  }
  if (which === "readout") {
    for (let i = 0; i < p; i++) curves.push([`a${i + 1}`, hue(i, p), t => readout.values[t * p + i]]);
    return ["readout", Array.from({length: p}, (_, i) => ({stroke: hue(i, p), text: `student ${i + 1}`})), curves];
  }
  for (let j = 0; j < q; j++) for (let i = 0; i < p; i++) curves.push([`R${i + 1} ${j + 1}`, hue(j, q), t => cross.values[(t * p + i) * q + j], t => samples.cross[t][i * q + j]]);
  return ["overlap", Array.from({length: q}, (_, j) => ({stroke: hue(j, q), text: `teacher ${j + 1}`})), curves];
}

export function drawOverlaps() {
  const {shown, samples} = page;
  if (!shown || state["view.tab"] !== "overlaps") return;
  const from = state["view.log_time"] ? 1 : 0, [label, legend, curves] = overlapCurves();
  const along = (count, value) => Array.from({length: Math.max(count - from, 0)}, (_, t) => finite(value(t + from)));
  const series = [{label: "time"}, ...curves.map(([name, stroke]) => ({label: name, stroke, width: 1.5, spanGaps: true}))];
  let data = [along(shown.count, t => shown.arrays.time.values[t]), ...curves.map(([, , value]) => along(shown.count, value))];
  if (samples?.cross?.length && curves[0][3]) {
    const reached = samples.cross.length;
    data = join([data, [samples.time.slice(from, reached), ...curves.map(([, , , value]) => along(reached, value))]]);
    series.push(...curves.map(([name, stroke]) => ({label: `SGD ${name}`, stroke, width: 1, dash: [3, 3], spanGaps: true})));
    legend.push({stroke: colour("--quiet"), dash: "3,3", text: "the first simulated run"});
  }
  chips("overlaps-legend", legend);
  plot("overlaps", series, data, label, false);
}

export function fit(canvas, height) {
  // as many pixels as the screen shows, so that text has its size
  const width = canvas.parentElement.clientWidth || 320;
  canvas.width = width * devicePixelRatio; canvas.height = height * devicePixelRatio;
  canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  context.textAlign = "center";
  return [context, width];
}

export function drawMatrix() {
  if (!page.shown || state["view.tab"] !== "overlaps") return;
  const {arrays, at} = page.shown, [, p, q] = arrays.cross.shape, n = p + q, edge = 22;
  const room = Math.max($("matrix").closest(".panel").clientHeight - edge - 70, 120);
  const high = Math.min(room / p, HIGHEST), [context, width] = fit($("matrix"), edge + p * high), wide = (width - edge) / n;
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
    if (wide >= 30 && high >= 13) {
      context.fillStyle = Math.abs(share) > 0.75 ? "#fff" : "#111";
      context.fillText(brief(value), edge + (j + 0.5) * wide, edge + (i + 0.5) * high + 4);
    }
  }));
  context.fillStyle = colour("--ink");
  context.fillRect(edge + p * wide - 1.5, 0, 2, edge + p * high);
  clearTimeout(numbering);
  numbering = setTimeout(() => {  // for those who do not see the picture, when it has settled
    $("matrix-numbers").tHead.replaceChildren(cells(["", ...names], "th"));
    $("matrix-numbers").tBodies[0].replaceChildren(...rows.map((row, i) => cells([names[i], ...row.map(short)])));
  }, 300);
  $("caption").textContent = `At α = ${short(arrays.time.values[at])}: students (rows) with students s and teachers t. Blue positive, red negative, up to ${short(most)}.`;
}
