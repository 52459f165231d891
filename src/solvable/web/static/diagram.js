// A phase diagram: one number of the curve over two settings, computed cell by cell; each cell opens its curve.
import {lines, say} from "./asking.js";
import {fill} from "./controls.js";
import {colour} from "./curves.js";
import {called, ROWS} from "./fields.js";
import {fit} from "./overlaps.js";
import {$, page, state, tables} from "./store.js";
import {refusal, short} from "./words.js";

const CELLS = 25, EDGE = {left: 62, right: 90, top: 8, bottom: 40};
const RAMP = [[46, 36, 107], [38, 138, 141], [250, 226, 90]], ACCURACY = 1e-5;  // of the first risk
const QUANTITIES = {risk: "risk at the end", half: "time to half of the risk", plateau: "height of the first plateau"};
const AXES = ROWS.filter(({name, spec}) => ["int", "log", "float"].includes(spec.kind) && !name.startsWith("data.") && !/rate_rule|spectrum|repeats|momentum|lookahead/.test(name));
let made = null, running = null, cell = null;

export function prepareDiagram() {
  for (const id of ["diagram-x", "diagram-y"]) $(id).append(...AXES.map(({name}) => new Option(called(name), name)));
  $("diagram-x").value = "training.learning_rate";
  $("diagram-y").value = "student.width";
  $("diagram-what").append(...Object.entries(QUANTITIES).map(([name, text]) => new Option(text, name)));
  $("diagram-run").addEventListener("click", compute);
  $("diagram-stop").addEventListener("click", cancelDiagram);
  const canvas = $("diagram-canvas");
  canvas.addEventListener("mousemove", event => { const place = under(event); if (place) choose(place); });
  canvas.addEventListener("click", event => { const place = under(event); if (place) { choose(place); open(); } });
  canvas.addEventListener("keydown", event => {
    const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (way && made) {
      event.preventDefault();
      const [i, j] = cell ?? [0, 0];
      choose([clamp(i + way[0], made.x.values.length), clamp(j + way[1], made.y.values.length)]);
    } else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); }
  });
}

const clamp = (i, count) => Math.min(Math.max(i, 0), count - 1);

function values(name) {
  // of a slider: all whole numbers, or equally spaced ones, on its own scale
  const {spec} = ROWS.find(one => one.name === name);
  if (spec.kind === "int") {
    const most = Math.min(spec.max, spec.min + CELLS - 1);
    return Array.from({length: most - spec.min + 1}, (_, i) => spec.min + i);
  }
  const at = spec.kind === "log" ? share => spec.min * (spec.max / spec.min) ** share : share => spec.min + share * (spec.max - spec.min);
  const tidy = value => spec.whole ? Math.round(value) : Number(value.toPrecision(3));
  return Array.from({length: CELLS}, (_, i) => tidy(at(i / (CELLS - 1))));
}

async function compute() {
  cancelDiagram();
  const x = {name: $("diagram-x").value}, y = {name: $("diagram-y").value}, quantity = $("diagram-what").value;
  Object.assign(x, {values: values(x.name)});
  Object.assign(y, {values: values(y.name)});
  const mine = running = new AbortController(), all = x.values.length * y.values.length;
  made = {x, y, quantity, found: new Map(), of: others(x.name, y.name)};
  cell = null;
  buttons();
  try {
    for await (const part of lines("/api/diagram", {state: tables(), x, y, quantity}, mine.signal)) {
      if (mine !== running) return;
      if (part.problems) { made.wrong = refusal(part.problems[0]); break; }
      for (const [i, j, value, why] of part.cells ?? []) made.found.set(`${i} ${j}`, [value, why]);
      $("diagram-progress").value = made.found.size / all;
      drawDiagram();
    }
    if (made.found.size === all) say("The phase diagram is complete. Every cell opens its curve.");
  } catch (error) {
    if (error.name !== "AbortError" && mine === running) made.wrong = "The diagram was cut off.";
  } finally {
    if (mine === running) { running = null; buttons(); drawDiagram(); }
  }
}

export function cancelDiagram() {
  running?.abort();
  running = null;
  buttons();
}

function buttons() {
  $("diagram-run").disabled = running !== null;
  $("diagram-stop").disabled = running === null;
}

const others = (x, y) => JSON.stringify(Object.entries(state).filter(([name]) => !/^(view|sgd|story|data)\./.test(name) && name !== x && name !== y));

const isOld = () => made.of !== others(made.x.name, made.y.name);

export function drawDiagram() {
  if (state["view.tab"] !== "diagram") return;
  $("diagram-canvas").hidden = !made;
  if (!made) { $("diagram-words").textContent = "How does one number of the curve depend on two settings? Choose two axes. The cells come coarse ones first; point at one to read it, click it to open its curve."; return; }
  const {x, y, found} = made, height = Math.max(170, $("diagram").clientHeight - $("diagram-canvas").parentElement.offsetTop + $("diagram").offsetTop - 8);
  const [context, width] = fit($("diagram-canvas"), height), floor = ACCURACY * (page.shown?.facts.start_risk ?? 1), numbers = [...found.values()].map(([value]) => value).filter(value => value > 0).map(value => Math.max(value, floor));
  const low = Math.log10(Math.min(...numbers)), high = Math.log10(Math.max(...numbers)), span = Math.max(high - low, 1e-9);
  const wide = (width - EDGE.left - EDGE.right) / x.values.length, tall = (height - EDGE.top - EDGE.bottom) / y.values.length;
  Object.assign(made, {wide, tall, height});
  for (const [place, [value, why]] of found) {
    const [i, j] = place.split(" ").map(Number);
    context.globalAlpha = why === "diverged" ? 0.45 : 1;
    context.fillStyle = why === "diverged" ? colour("--bad") : why ? colour("--line") : ramp(value > 0 ? (Math.log10(value) - low) / span : 0);
    const [left, right] = [i, i + 1].map(k => Math.round(EDGE.left + k * wide)), [below, above] = [j, j + 1].map(k => Math.round(height - EDGE.bottom - k * tall));
    context.fillRect(left, above, right - left, below - above);
  }
  context.globalAlpha = 1;
  frame(context, width, height);
  if (numbers.length) key(context, width, height, low, high);
  outline(context, nearestCell(), "--ink");
  if (cell) outline(context, cell, "--two");
  if (!cell || isOld()) $("diagram-words").textContent = made.wrong ?? (isOld() ? "This diagram is of the settings before; compute it again." : "Grey cells have no such number, red ones diverge. The frame is where you are.");
}

function ramp(share) {
  // from dark to light, so that it reads without colours: blue, teal, yellow
  const s = 2 * Math.min(Math.max(share, 0), 1), [from, to] = s < 1 ? [RAMP[0], RAMP[1]] : [RAMP[1], RAMP[2]], part = s < 1 ? s : s - 1;
  return `rgb(${from.map((value, i) => Math.round(value + part * (to[i] - value))).join(" ")})`;
}

function frame(context, width, height) {
  const {x, y, wide, tall} = made;
  context.fillStyle = colour("--quiet");
  context.font = "12px system-ui";
  context.textAlign = "center";
  const some = (count, most) => Array.from({length: count}, (_, i) => i).filter(i => i % Math.ceil(count / most) === 0);
  for (const i of some(x.values.length, (width - 150) / 60)) context.fillText(short(x.values[i]), EDGE.left + (i + 0.5) * wide, height - EDGE.bottom + 15);
  context.fillText(called(x.name), (EDGE.left + width - EDGE.right) / 2, height - 6);
  context.textAlign = "right";
  for (const j of some(y.values.length, height / 26)) context.fillText(short(y.values[j]), EDGE.left - 6, height - EDGE.bottom - (j + 0.5) * tall + 4);
  context.save();
  context.translate(12, (height - EDGE.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(called(y.name), 0, 0);
  context.restore();
}

function key(context, width, height, low, high) {
  const left = width - EDGE.right + 14, tall = height - EDGE.top - EDGE.bottom;
  for (let i = 0; i < 60; i++) {
    context.fillStyle = ramp(i / 59);
    context.fillRect(left, height - EDGE.bottom - (i + 1) * tall / 60, 12, tall / 60 + 1);
  }
  context.fillStyle = colour("--quiet");
  context.textAlign = "left";
  for (const [share, y] of [[0, height - EDGE.bottom], [0.5, height - EDGE.bottom - tall / 2 + 4], [1, EDGE.top + 9]]) context.fillText(short(Number((10 ** (low + share * (high - low))).toPrecision(2))), left + 17, y);
}

function nearestCell() {
  const near = axis => axis.values.reduce((best, value, i) => Math.abs(Math.log(value / state[axis.name])) < Math.abs(Math.log(axis.values[best] / state[axis.name])) ? i : best, 0);
  return [near(made.x), near(made.y)];
}

function outline(context, [i, j], name) {
  context.strokeStyle = colour(name);
  context.lineWidth = 2;
  context.strokeRect(EDGE.left + i * made.wide, made.height - EDGE.bottom - (j + 1) * made.tall, made.wide, made.tall);
}

function under(event) {
  if (!made?.wide) return null;
  const i = Math.floor((event.offsetX - EDGE.left) / made.wide), j = Math.floor((made.height - EDGE.bottom - event.offsetY) / made.tall);
  return i >= 0 && j >= 0 && i < made.x.values.length && j < made.y.values.length ? [i, j] : null;
}

function choose(place) {
  if (cell && cell[0] === place[0] && cell[1] === place[1]) return;
  cell = place;
  const {x, y, quantity, found} = made, [value, why] = found.get(place.join(" ")) ?? [null, "not computed yet"];
  drawDiagram();
  $("diagram-words").textContent = `${called(x.name)} ${short(x.values[place[0]])}, ${called(y.name)} ${short(y.values[place[1]])}: ${QUANTITIES[quantity]} ${why || short(value)}${isOld() ? ", with the settings before" : ""}. Click, or press Enter, to open its curve${isOld() ? " with those of now" : ""}.`;
}

function open() {
  if (!cell) return;
  const [i, j] = cell, {x, y} = made;
  state[x.name] = x.values[i];
  state[y.name] = y.values[j];
  fill(x.name);
  fill(y.name);
  page.changed(`diagram ${i} ${j}`);
}
