"use strict";
// The page holds no mathematics: it asks, draws, and remembers the state in its address.

const FIELDS = [
  ["Teacher", [
    ["teacher.width", "width", {kind: "int", min: 1, max: 8}],
    ["teacher.activation", "activation", {kind: "choice", of: ["quadratic", "erf", "linear", "relu"]}],
    ["teacher.readout", "readout", {kind: "choice", of: ["mean", "sqrt", "unit"]}]]],
  ["Student", [
    ["student.width", "width", {kind: "int", min: 1, max: 12}],
    ["student.activation", "activation", {kind: "choice", of: ["quadratic", "erf", "linear", "relu"]}],
    ["student.readout", "readout", {kind: "choice", of: ["mean", "sqrt", "unit"]}],
    ["student.norm", "norm", {kind: "choice", of: ["free", "sphere"]}]]],
  ["Inputs", [
    ["inputs.dim", "dimension", {kind: "log", min: 16, max: 1e6, whole: true}],
    ["inputs.spectrum.distinct", "eigenvalues L", {kind: "int", min: 1, max: 64, optional: 1}],
    ["inputs.spectrum.beta", "power β", {kind: "float", min: 0.1, max: 2, step: 0.05}]]],
  ["Training", [
    ["training.learning_rate", "learning rate", {kind: "log", min: 1e-3, max: 10}],
    ["training.label_noise", "label noise Δ", {kind: "float", min: 0, max: 2, step: 0.01}],
    ["training.batch", "batch", {kind: "int", min: 1, max: 64}],
    ["training.weight_decay", "weight decay", {kind: "float", min: 0, max: 1, step: 0.01}],
    ["training.loss_factor", "loss factor", {kind: "choice", of: [1, 0.5]}],
    ["training.train_readout", "train readout", {kind: "truth"}]]],
  ["Start", [
    ["start.seed", "seed", {kind: "int", min: 0, max: 99}],
    ["start.students", "law", {kind: "choice", of: ["gaussian", "orthogonal"]}],
    ["start.scale", "scale", {kind: "log", min: 1e-6, max: 3}],
    ["start.cross", "first overlaps", {kind: "log", min: 1e-6, max: 0.3}]]],
  ["Time", [["run.until", "until (steps / dim)", {kind: "log", min: 1, max: 1e6}]]],
];
const SPECS = Object.fromEntries(FIELDS.flatMap(([, rows]) => rows.map(([name, , spec]) => [name, spec])));
const DEFAULTS = {
  "teacher.width": 3, "teacher.activation": "quadratic", "teacher.readout": "mean", "student.width": 6,
  "student.activation": "quadratic", "student.readout": "mean", "student.norm": "free", "inputs.dim": 10000,
  "inputs.spectrum.distinct": 1, "inputs.spectrum.beta": 1, "training.learning_rate": 0.1, "training.label_noise": 0,
  "training.batch": 1, "training.weight_decay": 0, "training.loss_factor": 1, "training.train_readout": false,
  "start.seed": 0, "start.students": "gaussian", "start.scale": 1, "start.cross": 0.01, "run.until": 200,
};
const $ = id => document.getElementById(id);
const state = {...DEFAULTS};
let shown = null, sgd = null, running = null, latest = 0, asking = false, plots = {};

// ---- the state, as tables for the library and as an address

function tables(from = state) {
  const made = {};
  const put = (name, value) => {
    const words = name.split(".");
    let at = made;
    for (const word of words.slice(0, -1)) at = at[word] ??= {};
    at[words.at(-1)] = value;
  };
  for (const [name, value] of Object.entries(from)) {
    if (name.startsWith("inputs.spectrum.") && from["inputs.spectrum.distinct"] <= 1) continue;
    if (name === "start.cross" && from["start.students"] !== "orthogonal") continue;
    if (name === "start.scale" && from["student.norm"] === "sphere") continue;
    put(name, value);
  }
  if (made.inputs?.spectrum) {  // as many dimensions for each eigenvalue
    const L = made.inputs.spectrum.distinct;
    made.inputs.dim = Math.max(1, Math.round(made.inputs.dim / L)) * L;
  }
  return made;
}

function adopt(made) {
  Object.assign(state, DEFAULTS);
  const walk = (part, before) => {
    for (const [name, value] of Object.entries(part)) {
      if (value !== null && typeof value === "object") walk(value, `${before}${name}.`);
      else if (`${before}${name}` in DEFAULTS) state[`${before}${name}`] = value;
    }
  };
  walk(made, "");
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, DEFAULTS);
  let any = false;
  for (const [name, text] of given) {
    if (!Object.hasOwn(DEFAULTS, name)) continue;
    any = true;
    const kind = typeof DEFAULTS[name];
    state[name] = kind === "number" ? Number(text) : kind === "boolean" ? text === "true" : text;
  }
  return any;
}

function writeAddress() {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  // never empty: an empty address means the first preset
  history.replaceState(null, "", `#${new URLSearchParams(changed.length ? changed : [["run.until", state["run.until"]]])}`);
}

// ---- controls

function build() {
  for (const [title, rows] of FIELDS) {
    const set = document.createElement("fieldset"), legend = document.createElement("legend");
    legend.textContent = title;
    set.append(legend);
    for (const [name, label, spec] of rows) set.append(control(name, label, spec));
    $("controls").append(set);
  }
}

function control(name, label, spec) {
  const box = document.createElement("div"), text = document.createElement("label");
  box.className = "field";
  text.textContent = label;
  text.htmlFor = name;
  box.append(text);
  const change = value => { state[name] = value; fill(name); idle(); $("preset").value = ""; moved(); };
  if (spec.kind === "choice") {
    const select = document.createElement("select");
    select.id = name;
    for (const value of spec.of) select.append(new Option(value, value));
    select.addEventListener("change", () => change(typeof spec.of[0] === "number" ? Number(select.value) : select.value));
    box.append(select);
  } else if (spec.kind === "truth") {
    const tick = document.createElement("input");
    tick.type = "checkbox"; tick.id = name;
    tick.addEventListener("change", () => change(tick.checked));
    box.append(tick);
  } else {
    const number = document.createElement("input"), slide = document.createElement("input");
    number.type = "number"; number.id = name; number.step = "any";
    slide.type = "range"; slide.id = `${name}:slide`;
    slide.setAttribute("aria-label", `${label}, slider`);
    const log = spec.kind === "log";
    slide.min = log ? Math.log10(spec.min) : spec.min;
    slide.max = log ? Math.log10(spec.max) : spec.max;
    slide.step = log ? 0.01 : spec.kind === "int" ? 1 : spec.step;
    const tidy = value => spec.whole || spec.kind === "int" ? Math.round(value) : Number(value.toPrecision(4));
    slide.addEventListener("input", () => change(tidy(log ? 10 ** slide.value : Number(slide.value))));
    number.addEventListener("change", () => { if (number.value !== "") change(Number(number.value)); });
    box.append(number, slide);
  }
  return box;
}

function fill(name) {
  const spec = SPECS[name], value = state[name], input = $(name);
  if (spec.kind === "truth") { input.checked = value; return; }
  if (document.activeElement !== input || spec.kind === "choice") input.value = value;
  const slide = $(`${name}:slide`);
  slide?.setAttribute("aria-valuetext", String(value));
  if (slide && document.activeElement !== slide) slide.value = spec.kind === "log" ? Math.log10(Math.max(value, spec.min)) : value;
}

function fillAll() { Object.keys(SPECS).forEach(fill); idle(); }

function idle() {
  // what the problem does not use cannot be moved
  const unused = {
    "inputs.spectrum.beta": state["inputs.spectrum.distinct"] <= 1,
    "start.cross": state["start.students"] !== "orthogonal",
    "start.scale": state["student.norm"] === "sphere",
  };
  for (const [name, is] of Object.entries(unused)) for (const id of [name, `${name}:slide`]) $(id).disabled = is;
}

// ---- asking: the latest request wins

function moved() {
  cancel();
  sgd = null;
  writeAddress();
  ask();
}

async function ask() {
  // one request at a time, then the newest: what is old by then is never asked
  latest++;
  if (asking) return;
  asking = true;
  try {
    for (let done = 0; done !== latest;) { done = latest; await askOnce(done); }
  } finally { asking = false; }
}

async function askOnce(mine) {
  const began = performance.now();
  try {
    const answer = await fetch("/api/curve", {method: "POST", body: JSON.stringify(tables())});
    if (!answer.ok) { problems((await answer.json()).problems); document.body.classList.add("stale"); return; }
    const found = unpack(await answer.arrayBuffer());
    document.body.classList.remove("stale");
    shown = found;
    shown.count = Math.max(1, Array.from(found.arrays.risk.values).findLastIndex(Number.isFinite) + 1);  // outputs that were reached
    problems([]);
    draw();
    document.documentElement.dataset.latency = (performance.now() - began).toFixed(1);
    document.documentElement.dataset.drawn = mine;
  } catch (error) {
    problems(["the server does not answer; is `solvable explore` still running?"]);
  }
}

function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size;
  const arrays = {};
  for (const [name, shape] of head.arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = {shape, values: new Float32Array(buffer, at, count)};
    at += 4 * count;
  }
  return {facts: head.facts, arrays};
}

function problems(lines) {
  $("problems").replaceChildren(...lines.map(line => Object.assign(document.createElement("li"), {textContent: line})));
}

// ---- simulation, streaming in

async function simulate() {
  cancel();
  running = new AbortController();
  const mine = running;
  sgd = {time: [0], risk: []};
  $("simulate").disabled = true; $("cancel").disabled = false; $("progress").value = 0;
  $("status").textContent = "SGD is being prepared (compiled, the first time)";
  try {
    const runs = Number($("runs").value);
    const body = JSON.stringify({state: tables(), runs, seed: Math.floor(Math.random() * 1e9)});
    const answer = await fetch("/api/simulate", {method: "POST", body, signal: mine.signal});
    if (!answer.ok) { problems((await answer.json()).problems); sgd = null; return; }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done || mine !== running) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) take(JSON.parse(line));
      drawRisk();
    }
  } catch (error) {
    if (error.name !== "AbortError") problems(["the simulation was cut off"]);
  } finally {
    if (mine === running) { running = null; $("simulate").disabled = false; $("cancel").disabled = true; }
  }
}

function take(piece) {
  if (piece.problems) { problems(piece.problems); return; }
  if (!sgd.risk.length) sgd.risk = piece.risk.map(() => [shown.facts.start_risk]);
  $("status").textContent = "SGD from the same start; at finite dimension its noise adds to the first overlaps, so it leaves plateaus sooner";
  sgd.time.push(...piece.time);
  piece.risk.forEach((row, i) => sgd.risk[i].push(...row));
  $("progress").value = sgd.time.at(-1) / state["run.until"];
}

function cancel() {
  running?.abort();
  running = null;
  $("simulate").disabled = false; $("cancel").disabled = true;
}

// ---- drawing

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const short = value => value === null ? "–" : Math.abs(value) >= 1e4 || (Math.abs(value) < 1e-3 && value !== 0) ? value.toExponential(2) : String(Number(value.toPrecision(4)));

function draw() {
  const {facts, arrays} = shown;
  const half = facts.half_time === null ? "" : ` · half the first risk at ${short(facts.half_time)}`;
  $("status").textContent = `${facts.message}${half} · problem ${facts.hash}`;
  const last = Array.from(arrays.risk.values).filter(Number.isFinite).at(-1);
  $("risk").setAttribute("aria-label", `Risk over time, from ${short(facts.start_risk)} to ${short(last ?? null)}`);
  $("phases").textContent = facts.phases.map(one => `${one.name} ${short(one.from)} to ${short(one.to)}`).join(" · ");
  $("cursor").max = shown.count - 1;
  $("status").classList.toggle("warning", !facts.success);
  drawRisk();
  drawOverlaps();
  drawMatrix();
  $("theory").tBodies[0].replaceChildren(...facts.theory.map(one => cells([one.name, short(one.value), one.source])));
}

function cells(texts) {
  const row = document.createElement("tr");
  for (const text of texts) row.append(Object.assign(document.createElement("td"), {textContent: text}));
  return row;
}

// ---- the landscape: which critical point is near in risk, and how the risk bends there

let bending = null;

function drawLandscape(at) {
  const {facts, arrays} = shown, risk = arrays.risk.values[at];
  const known = facts.critical.length > 0 && Number.isFinite(risk);
  $("landscape").hidden = !known;
  if (!known) return;
  const gap = one => Math.abs(one.risk - risk);
  const near = [...facts.critical].sort((a, b) => gap(a) - gap(b)).slice(0, 5);
  $("critical").tBodies[0].replaceChildren(...near.toSorted((a, b) => b.risk - a.risk).map(one =>
    cells([one === near[0] ? "●" : "", `${one.kind}: ${one.inside} learned, ${one.outside} astray`, short(one.risk), String(one.index)])));
  clearTimeout(bending);
  const mine = latest;
  bending = setTimeout(() => bend(at, mine), 150);
}

async function bend(at, mine) {
  if (mine !== latest) return;
  const answer = await fetch("/api/curvature", {method: "POST", body: JSON.stringify({state: tables(), at})}).catch(() => null);
  if (!answer?.ok || mine !== latest || at !== Number($("cursor").value)) return;
  const {inside, outside, room} = await answer.json();
  const canvas = $("hessian"), context = canvas.getContext("2d"), all = [...inside, ...outside];
  const low = Math.min(0, ...all), high = Math.max(0, ...all), place = value => 20 + (value - low) / (high - low || 1) * (canvas.width - 40);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.strokeStyle = context.fillStyle = colour("--quiet");
  line(context, 10, 60, canvas.width - 10, 60);
  line(context, place(0), 10, place(0), 66);
  context.font = "12px system-ui"; context.textAlign = "center";
  for (const value of new Set([low, 0, high])) {
    if (value === 0 || Math.abs(place(value) - place(0)) > 50) context.fillText(short(value), Math.min(Math.max(place(value), 24), canvas.width - 24), 84);
  }
  for (const [values, name] of [[inside, "--one"], [outside, "--two"]]) {
    context.strokeStyle = colour(name);
    for (const value of values) line(context, place(value), name === "--one" ? 15 : 35, place(value), name === "--one" ? 34 : 58);
  }
  const times = room === null ? "infinitely many times" : `${room} times`;
  $("bent").textContent = `Hessian at α = ${short(shown.arrays.time.values[at])}: ${inside.length} eigenvalues along the units (upper), ${outside.length} outside, each ${times} (lower).`;
}

function axes(label) {
  const line = {stroke: colour("--quiet"), grid: {stroke: colour("--line"), width: 1}, ticks: {stroke: colour("--line")}};
  const values = (u, ticks) => ticks.map(value => value === null ? "" : short(value));
  return [{...line, label: "α = steps / dim", labelSize: 16, size: 34, values}, {...line, label, labelSize: 18, size: 64, values}];
}

function plot(id, options, data) {
  // the same lines: new data; other lines: a new plot
  const shape = JSON.stringify([options.series.map(one => [one.label, one.stroke]), options.scales, options.width]);
  if (plots[id]?.shape === shape) { plots[id].made.setData(data); return; }
  plots[id]?.made.destroy();
  plots[id] = {shape, made: new uPlot(options, data, $(id))};
}

function drawRisk() {
  if (!shown) return;
  const {arrays} = shown, logx = $("logx").checked, logy = $("logy").checked;
  const from = logx ? 1 : 0;
  const time = Array.from(arrays.time.values).slice(from, shown.count), risk = Array.from(arrays.risk.values).slice(from, shown.count);
  const series = [{label: "time"}, {label: "deterministic limit", stroke: colour("--one"), width: 2}];
  let data = [time, risk.map(value => Number.isFinite(value) ? value : null)];
  if (sgd?.risk.length) {
    const rows = sgd.risk.map((row, i) => [sgd.time.slice(from), row.slice(from)]);
    data = uPlot.join([[data[0], data[1]], ...rows]);
    rows.forEach((row, i) => series.push({label: `SGD ${i + 1}`, stroke: colour("--two"), width: 1, spanGaps: true}));
    series[1].spanGaps = true;
  }
  plot("risk", {
    width: $("risk").clientWidth, height: 300, series, axes: axes("risk"), legend: {live: false},
    scales: {x: {time: false, distr: logx ? 3 : 1}, y: {distr: logy ? 3 : 1}},
    hooks: {drawClear: [shade], draw: [marks], setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0 && !sgd) scrub(u.cursor.idx + from); }]},
  }, data);
}

function shade(u) {
  const context = u.ctx, {left, top, width, height} = u.bbox;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  context.fillStyle = colour("--shade");
  for (const one of shown.facts.phases) {
    if (one.name !== "plateau") continue;
    const a = u.valToPos(Math.max(one.from, u.scales.x.min), "x", true), b = u.valToPos(one.to, "x", true);
    context.fillRect(a, top, b - a, height);
  }
  context.restore();
}

function marks(u) {
  const context = u.ctx, {left, top, width, height} = u.bbox;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  context.strokeStyle = context.fillStyle = colour("--three");
  context.setLineDash([6, 4]);
  context.textAlign = "left";
  context.font = `${11 * devicePixelRatio}px system-ui`;
  for (const one of shown.facts.theory) {
    if (one.at === "risk" && one.value > 0) {
      const y = u.valToPos(one.value, "y", true);
      line(context, left, y, left + width, y);
      const text = `${one.name} (theory)`;
      context.fillText(text, left + width - context.measureText(text).width - 6, y < top + 20 ? y + 14 * devicePixelRatio : y - 4);
    } else if (one.at === "time" && one.value > 0) {
      const x = u.valToPos(one.value, "x", true);
      line(context, x, top, x, top + height);
      context.fillText(`${one.name} (theory)`, x + 4, top + height - 8);
    }
  }
  context.restore();
}

function line(context, a, b, c, d) { context.beginPath(); context.moveTo(a, b); context.lineTo(c, d); context.stroke(); }

function drawOverlaps() {
  const {arrays} = shown, [, p, q] = arrays.cross.shape, time = Array.from(arrays.time.values).slice(0, shown.count);
  const series = [{label: "time"}], data = [time];
  for (let j = 0; j < q; j++) for (let i = 0; i < p; i++) {
    series.push({label: `R${i + 1}${j + 1}`, stroke: [colour("--one"), colour("--two"), colour("--three")][j % 3], width: 1});
    data.push(time.map((_, t) => { const value = arrays.cross.values[(t * p + i) * q + j]; return Number.isFinite(value) ? value : null; }));
  }
  plot("overlaps", {
    width: $("overlaps").clientWidth, height: 300, series, axes: axes("student–teacher overlap"), legend: {show: false},
    scales: {x: {time: false}, y: {}}, hooks: {setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0) scrub(u.cursor.idx); }]},
  }, data);
}

function scrub(at) { $("cursor").value = at; drawMatrix(); }

function drawMatrix() {
  if (!shown) return;
  const {arrays} = shown, at = Number($("cursor").value), [, p, q] = arrays.cross.shape, n = p + q;
  const canvas = $("matrix"), context = canvas.getContext("2d"), size = canvas.width / n;
  $("cursor").setAttribute("aria-valuetext", `α = ${short(arrays.time.values[at])}`);
  $("now").textContent = `α = ${short(arrays.time.values[at])}, risk ${short(Number.isFinite(arrays.risk.values[at]) ? arrays.risk.values[at] : null)}`;
  context.clearRect(0, 0, canvas.width, canvas.height);
  let most = 1e-12;
  const entries = [];
  for (let i = 0; i < p; i++) for (let j = 0; j < n; j++) {
    const value = j < p ? arrays.student.values[(at * p + i) * p + j] : arrays.cross.values[(at * p + i) * q + j - p];
    entries.push([i, j, value]);
    if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  }
  const high = canvas.height / p;
  for (const [i, j, value] of entries) {
    const share = Number.isFinite(value) ? value / most : 0;
    context.fillStyle = share >= 0 ? `hsl(212 70% ${95 - 55 * share}%)` : `hsl(352 70% ${95 + 55 * share}%)`;
    context.fillRect(j * size, i * high, size - 1, high - 1);
    if (n <= 10) {
      context.fillStyle = Math.abs(share) > 0.6 ? "#fff" : "#111";
      context.font = "11px system-ui"; context.textAlign = "center";
      context.fillText(Number.isFinite(value) ? value.toFixed(2) : "–", j * size + size / 2, i * high + high / 2 + 4);
    }
  }
  context.strokeStyle = colour("--ink");
  line(context, p * size - 0.5, 0, p * size - 0.5, canvas.height);
  const texts = Array.from({length: p}, () => []);
  for (const [i, , value] of entries) texts[i].push(Number.isFinite(value) ? value.toFixed(2) : "none");
  $("numbers").tBodies[0].replaceChildren(...texts.map(cells));
  drawLandscape(at);
  $("caption").textContent = `Rows: students. Left: overlaps with students (${p}), right: with teachers (${q}). Blue positive, red negative, up to ${short(most)}.`;
}

// ---- taking away

const TEXTS = ["link", "python", "toml", "command"];

async function copyAs(kind) {
  const text = kind === "link" ? location.href : await (await post(kind)).text();
  try {
    await navigator.clipboard.writeText(text);
    $("status").textContent = `copied as ${kind}`;
  } catch {  // no clipboard without a secure page: a file instead
    save(new Blob([text]), `solvable-${kind}.txt`);
  }
}

async function post(kind) {
  const answer = await fetch(`/api/export/${kind}`, {method: "POST", body: JSON.stringify(tables())});
  if (!answer.ok) { problems((await answer.json()).problems); throw new Error("refused"); }
  return answer;
}

async function download(kind) { save(await (await post(kind)).blob(), `solvable.${kind}`); }

function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function begin() {
  build();
  const presets = await (await fetch("/api/presets")).json();
  for (const one of presets) $("preset").append(new Option(`${one.name}: ${one.title}`, one.name));
  if (!readAddress()) { adopt(presets[0].state); writeAddress(); $("preset").value = presets[0].name; }
  fillAll();
  $("preset").addEventListener("change", () => {
    const one = presets.find(each => each.name === $("preset").value);
    if (one) { adopt(one.state); fillAll(); moved(); }
  });
  $("kind").addEventListener("change", () => { $("take").textContent = TEXTS.includes($("kind").value) ? "Copy" : "Download"; });
  $("take").addEventListener("click", () => (TEXTS.includes($("kind").value) ? copyAs : download)($("kind").value).catch(() => {}));
  $("simulate").addEventListener("click", simulate);
  $("cancel").addEventListener("click", () => { cancel(); $("status").textContent = "SGD was cancelled"; });
  $("controls").addEventListener("submit", event => event.preventDefault());
  for (const id of ["logx", "logy"]) $(id).addEventListener("change", drawRisk);
  $("cursor").addEventListener("input", drawMatrix);
  addEventListener("resize", () => { if (shown) draw(); });
  addEventListener("hashchange", () => { if (readAddress()) { fillAll(); cancel(); sgd = null; ask(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (shown) { plots = {}; $("risk").replaceChildren(); $("overlaps").replaceChildren(); draw(); } });
  await ask();
}

begin();
