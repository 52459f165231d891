// The risk over time: the curve, curves that were kept, simulations, phases and predictions.
import {chips, colour, finite, inside, join, Labels, line, pieces, plot} from "./curves.js";
import {drop} from "./kept.js";
import {$, page, settingsOf, state} from "./store.js";
import {scrub} from "./time.js";
import {between, faster, levelName, pace, phaseWords, rough, short} from "./words.js";

const DODGED = 10;  // curves that names in the plot keep clear of

export function drawRisk() {
  const {shown, samples, kept} = page;
  if (!shown) return;
  const {arrays} = shown, log = state["view.log_risk"], from = state["view.log_time"] ? 1 : 0;
  const least = log ? shown.facts.accuracy : -Infinity;  // below it there is only rounding
  const seen = value => value > least ? finite(value) : null;
  const series = [{label: "time"}, {label: "equations", stroke: colour("--one"), width: 2.5, spanGaps: true}];
  const own = Array.from(arrays.risk.values.subarray(from, shown.count), seen);
  const parts = [[Array.from(arrays.time.values.subarray(from, shown.count)), own]];
  const hidden = own.includes(null) ? ` (down to ${short(least)}, its accuracy)` : "";
  const legend = [{stroke: colour("--one"), text: `deterministic limit${hidden}`}];
  const present = settingsOf();
  kept.filter(one => one.curve).forEach((one, i) => {
    const {time, risk} = one.curve, dash = [[8, 5], [2, 4], [12, 4, 2, 4]][i % 3];
    parts.push([Array.from(time.subarray(from)), Array.from(risk.subarray(from), seen)]);
    series.push({label: `kept ${i + 1}`, stroke: colour("--ghost"), width: 2, dash, spanGaps: true});
    const apart = between(one.settings, present), how = apart ? faster(one, pace(shown.facts)) : "";
    legend.push({stroke: colour("--ghost"), dash: String(dash), text: apart ? `kept: ${apart}${how ? ` (${how})` : ""}` : "kept: the same as now", remove: () => drop(one)});
  });
  if (samples?.risk.length) overlay(samples, from, parts, series, legend);
  const told = shown.facts.theory.filter(one => one.at && one.value > 0).map(one => `${one.name}${one.caveats.length ? " (roughly)" : ""}`);
  if (told.length) legend.push({stroke: colour("--three"), dash: "6,4", text: `theory: ${told.join(", ")}`});
  chips("risk-legend", legend);
  $("risk").setAttribute("aria-label", `Risk over time, from ${short(shown.facts.start_risk)} to ${short(arrays.risk.values[shown.count - 1])}; the tab In numbers has its values`);
  const data = parts.length > 1 ? join(parts) : parts[0];
  plot("risk", series, data, "risk", log, {drawClear: [shade], draw: [marks]});
  markPhase();
}

function overlay(samples, from, parts, series, legend) {
  const seen = value => value === null || (value <= 0 && state["view.log_risk"]) ? null : value, runs = samples.risk.length;
  const rows = [...samples.risk, ...samples.training];
  parts.push([samples.time.slice(from), ...rows.map(row => row.slice(from).map(seen))]);
  samples.risk.forEach((row, i) => series.push({label: `run ${i + 1}`, stroke: colour("--two"), width: 1.2, spanGaps: true}));
  samples.training.forEach((row, i) => series.push({label: `loss ${i + 1}`, stroke: colour("--two"), width: 1.2, dash: [2, 3], spanGaps: true}));
  const dim = page.shown.facts.dim.toLocaleString("en"), of = runs === 1 ? "one run" : `${runs} runs`;
  if (samples.level === "empirical") {
    legend.push({stroke: colour("--two"), text: `risk after training on ${samples.data.samples} × ${dim} samples (${of})`});
    legend.push({stroke: colour("--two"), dash: "2,3", text: "its training loss"});
  } else legend.push({stroke: colour("--two"), text: `${levelName(samples.level)} at dimension ${dim} (${of})`});
}

// ---- phases

export function drawPhases() {
  // the same ones are not made again, so that one of them may have the focus
  const {phases} = page.shown.facts, made = JSON.stringify(phases);
  if ($("phases").dataset.made === made) return;
  $("phases").dataset.made = made;
  $("phases").replaceChildren(...phases.map(one => {
    const button = Object.assign(document.createElement("button"), {type: "button", className: "phase", textContent: `${one.name} ${rough(one.from)} to ${rough(one.to)}`});
    button.addEventListener("click", () => scrub((one.from + one.to) / 2));
    return button;
  }));
}

export function markPhase() {
  // the phase of the chosen time, with a sentence
  const {shown} = page, {phases} = shown.facts, time = shown.arrays.time.values[shown.at];
  let i = phases.findIndex(one => time < one.to);
  if (i < 0) i = phases.length - 1;
  Array.from($("phases").children).forEach((button, j) => button.setAttribute("aria-pressed", String(i === j)));
  const risk = shown.arrays.risk.values;
  const words = phases.length ? phaseWords(phases, i, risk[shown.count - 1]) : "No plateau has been left in this time, so the curve is not divided into phases.";
  const told = page.samples?.level === "empirical" ? `With fresh samples: ${words.charAt(0).toLowerCase()}${words.slice(1)}` : words;
  if ($("phase-words").textContent !== told) $("phase-words").textContent = told;
}

function spans(u, {left, width}) {
  // phases with their edges on the screen
  const at = time => Math.min(Math.max(u.valToPos(Math.max(time, u.scales.x.min), "x", true), left), left + width);
  return page.shown.facts.phases.map(one => [one.name, at(one.from), at(one.to)]);
}

function shade(u) {
  inside(u, (context, box) => {
    context.fillStyle = colour("--shade");
    context.strokeStyle = colour("--line");
    for (const [name, a, b] of spans(u, box)) {
      if (name === "plateau") context.fillRect(a, box.top, b - a, box.height);
      line(context, b, box.top, b, box.top + box.height);
    }
  });
}

function marks(u) {
  // predictions as dashed lines; names of phases and predictions where there is room for them
  inside(u, (context, box) => {
    const {left, top, width, height} = box, px = devicePixelRatio, step = 15 * px, bottom = top + height;
    const labels = new Labels(context, box, pieces(u, u.series.map((_, i) => i).slice(1, 1 + DODGED))), theory = page.shown.facts.theory.filter(one => one.at && one.value > 0);
    const at = {risk: value => u.valToPos(value, "y", true), time: value => u.valToPos(value, "x", true)};
    context.strokeStyle = colour("--three");
    context.setLineDash([6 * px, 4 * px]);
    context.lineWidth = 1.5 * px;
    for (const one of theory) {
      const where = at[one.at](one.value);
      if (one.at === "risk") { line(context, left, where, left + width, where); labels.block([left, where - 1, left + width, where + 1]); }
      else { line(context, where, top, where, bottom); labels.block([where - 1, top, where + 1, bottom]); }
    }
    context.fillStyle = colour("--quiet");
    for (const [name, a, b] of spans(u, box)) {
      const wide = context.measureText(name).width, middle = (a + b - wide) / 2;
      const across = [middle, a + 6 * px, b - wide - 6 * px].filter(x => x >= a && x + wide <= b);
      labels.write(name, across.flatMap(x => [[x, bottom - 6 * px], [x, bottom - 6 * px - step]]));
    }
    context.fillStyle = colour("--three");
    for (const one of theory) {
      const where = at[one.at](one.value), wide = context.measureText(one.name).width;
      const columns = Array.from({length: 9}, (_, i) => left + width - wide - 6 * px - i * (width - wide) / 9);
      const levels = Array.from({length: Math.floor(height / step)}, (_, i) => bottom - 2 * step - i * step);
      labels.write(one.name, one.at === "risk"
        ? columns.flatMap(x => [[x, where - 5 * px], [x, where + step]])
        : levels.flatMap(y => [[where + 5 * px, y], [where - wide - 5 * px, y]]));
    }
  });
}
