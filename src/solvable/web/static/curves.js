// Plots over time: axes, lines, legends, the time under the cursor. uPlot draws.
import {$, page, state} from "./store.js";
import {short} from "./words.js";
import {scrub, stop} from "./time.js";

const {uPlot} = globalThis;
export const dark = matchMedia("(prefers-color-scheme: dark)");
let colours = {};
export const colour = name => colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const finite = value => Number.isFinite(value) ? value : null;
export const hue = (j, of) => `hsl(${(212 + j * 360 / of) % 360} 65% ${dark.matches ? 68 : 34}%)`;
export const join = parts => uPlot.join(parts);

export function forgetPlots() {
  for (const one of Object.values(page.plots)) one.made.destroy();
  page.plots = {};
  colours = {};
}

function axes(label, logx, logy) {
  const values = (u, ticks) => ticks.map(short), quiet = {stroke: colour("--line"), width: 1};
  const axis = (log, along) => ({
    stroke: colour("--quiet"), font: "12px system-ui", labelFont: "12px system-ui", grid: quiet, ticks: quiet, values,
    ...log ? {splits: (u, i, low, high) => decades(low, high, u.bbox[along] / devicePixelRatio / (along === "height" ? 24 : 70))} : {},
  });
  return [{...axis(logx, "width"), label: "α = steps / dim", labelSize: 16, size: 30, space: 60}, {...axis(logy, "height"), label, labelSize: 18, size: 58}];
}

export function decades(low, high, room) {
  // ticks of a logarithmic axis: powers of ten, some of them where there are many; 2 and 5 times these where there are few; within a
  // decade equally spaced ones
  const from = Math.log10(low), to = Math.log10(high), span = to - from;
  if (!Number.isFinite(span) || span <= 0) return [low];
  const powers = Array.from({length: Math.floor(to) - Math.ceil(from) + 1}, (_, i) => Math.ceil(from) + i);
  if (powers.length > 1 || span > 0.9) {
    const each = Math.max(1, Math.ceil(powers.length / Math.max(room, 2))), leads = 3 * (span + 1) <= room ? [1, 2, 5] : [1];
    const all = Array.from({length: Math.floor(to) - Math.floor(from) + 1}, (_, i) => Math.floor(from) + i);
    return all.filter(power => power % each === 0).flatMap(power => leads.map(lead => Number(`${lead}e${power}`))).filter(value => value >= low && value <= high);
  }
  const step = [1, 2, 5, 10].map(lead => lead * 10 ** Math.floor(Math.log10((high - low) / 5))).find(one => (high - low) / one <= Math.min(room, 6));
  return Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(6)));
}
page.decades = decades;

const wider = (u, low, high) => low === null || !(low > 0) ? [0.1, 1] : low === high ? [low / 2, 2 * high] : [low / (high / low) ** 0.05, high * (high / low) ** 0.06];

function follow(u) {
  // a click or a drag chooses the time; a mouse that only crosses the plot does not
  const choose = event => { stop(); scrub(u.data[0][u.posToIdx(event.clientX - u.over.getBoundingClientRect().left)]); };
  u.over.addEventListener("mousedown", choose);
  u.over.addEventListener("mousemove", event => { if (event.buttons & 1) choose(event); });
}

export function plot(id, series, data, label, logy, hooks = {}, logx = state["view.log_time"], range = undefined) {
  // the same lines: new data; other lines: a new plot
  const width = $(id).clientWidth, height = $(id).clientHeight;
  if (!width || !height) return;
  const shape = JSON.stringify([series.map(one => [one.label, one.stroke, one.dash]), label, logx, logy, width, height]);
  if (page.plots[id]?.shape === shape) { page.plots[id].made.setData(data); return; }
  page.plots[id]?.made.destroy();
  const options = {
    width, height, series: series.map(one => ({...one, pxAlign: 0, points: {show: false}})), axes: axes(label, logx, logy), legend: {show: false},
    cursor: {drag: {x: false, y: false}, y: false, points: {show: false}}, padding: [10, 12, 0, 0],
    scales: {x: {time: false, distr: logx ? 3 : 1}, y: logy ? {distr: 3, range: range ?? wider} : range ? {range} : {}},
    hooks: {...hooks, draw: [now, ...(hooks.draw ?? [])], ready: [follow]},
  };
  page.plots[id] = {shape, made: new uPlot(options, data, $(id))};
}

export function chips(id, entries) {
  // a legend: {stroke, text, dash, remove}; the same one is not made again
  const made = JSON.stringify(entries);
  if ($(id).dataset.made === made && !entries.some(one => one.remove)) return;
  $(id).dataset.made = made;
  $(id).replaceChildren(...entries.map(({stroke, text, dash, remove}) => {
    const item = document.createElement("li");
    Object.assign(item.dataset, {stroke, dash: dash ?? ""});
    item.append(swatch(stroke, dash), Object.assign(document.createElement("span"), {textContent: text}));
    if (remove) {
      const button = Object.assign(document.createElement("button"), {type: "button", textContent: "×", className: "close"});
      button.setAttribute("aria-label", `remove the kept curve: ${text}`);
      button.addEventListener("click", remove);
      item.append(button);
    }
    return item;
  }));
}

function swatch(stroke, dash) {
  const [box, path] = ["svg", "line"].map(name => document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [name, value] of Object.entries({width: 26, height: 8, "aria-hidden": "true"})) box.setAttribute(name, value);
  for (const [name, value] of Object.entries({x1: 0, x2: 26, y1: 4, y2: 4, stroke, "stroke-width": 3, "stroke-dasharray": dash ?? ""})) path.setAttribute(name, value);
  box.append(path);
  return box;
}

export function inside(u, what) {
  const context = u.ctx, {left, top, width, height} = u.bbox;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  context.font = `${12 * devicePixelRatio}px system-ui`;
  context.textAlign = "left"; context.textBaseline = "alphabetic"; context.lineWidth = devicePixelRatio; context.setLineDash([]);
  what(context, {left, top, width, height});
  context.restore();
}

export function line(context, a, b, c, d) { context.beginPath(); context.moveTo(a, b); context.lineTo(c, d); context.stroke(); }

function now(u) {
  // the chosen time, and a point of the curve there
  const {shown} = page;
  if (state["view.at"] === null || !shown) return;
  inside(u, (context, {top, height}) => {
    const x = u.valToPos(shown.arrays.time.values[shown.at], "x", true);
    context.strokeStyle = colour("--quiet");
    line(context, x, top, x, top + height);
    if (u.root.parentElement?.id !== "risk") return;
    const risk = shown.arrays.risk.values[shown.at];
    if (!(risk > 0) && state["view.log_risk"]) return;
    context.fillStyle = colour("--one");
    context.beginPath();
    context.arc(x, u.valToPos(risk, "y", true), 5 * devicePixelRatio, 0, 2 * Math.PI);
    context.fill();
  });
}

// ---- names in a plot, which never collide: with each other, or with the curve

export class Labels {
  constructor(context, box, curve) {
    Object.assign(this, {context, box, curve, taken: []});
  }

  write(text, places) {
    // at the first place [x, y] (left end, baseline) that is free; nowhere if none is: legend and table say it too
    const wide = this.context.measureText(text).width, high = 13 * devicePixelRatio;
    for (const [x, y] of places) {
      const box = [x - 3, y - high, x + wide + 3, y + 4 * devicePixelRatio];
      if (!this.fits(box)) continue;
      this.taken.push(box);
      this.halo(text, x, y);
      this.context.fillText(text, x, y);
      return true;
    }
    return false;
  }

  halo(text, x, y) {
    // so that the line of the chosen time may pass behind a name
    this.context.save();
    Object.assign(this.context, {strokeStyle: colour("--paper"), lineWidth: 4 * devicePixelRatio, lineJoin: "round"});
    this.context.setLineDash([]);
    this.context.strokeText(text, x, y);
    this.context.restore();
  }

  block(box) { this.taken.push(box); }

  fits([a, b, c, d]) {
    const {left, top, width, height} = this.box;
    if (a < left || c > left + width || b < top || d > top + height) return false;
    if (this.taken.some(([e, f, g, h]) => a < g && e < c && b < h && f < d)) return false;
    return !this.curve.some(([x, y, u, v]) => crosses(a, b, c, d, x, y, u, v));
  }
}

function crosses(a, b, c, d, x, y, u, v) {
  // whether a piece of a curve from (x, y) to (u, v) passes through a box, by Liang and Barsky's clipping
  let near = 0, far = 1;
  for (const [way, room] of [[x - u, x - a], [u - x, c - x], [y - v, y - b], [v - y, d - y]]) {
    if (way === 0) { if (room < 0) return false; continue; }
    const at = room / way;
    if (way < 0) near = Math.max(near, at); else far = Math.min(far, at);
  }
  return near <= far;
}

export function pieces(u, data = [1]) {
  // the curves on the screen, as short pieces
  const found = [];
  for (const i of data) {
    let before = null;
    u.data[i].forEach((value, t) => {
      if (value === null || value === undefined) return;
      const at = [u.valToPos(u.data[0][t], "x", true), u.valToPos(value, "y", true)];
      if (before) found.push([...before, ...at]);
      before = at;
    });
  }
  return found;
}
