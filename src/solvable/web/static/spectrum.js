// The spectrum of the inputs, and the local exponent of the curve.
import {chips, colour, inside, line, plot} from "./curves.js";
import {fit} from "./overlaps.js";
import {$, page, state} from "./store.js";
import {short} from "./words.js";

export function drawSpectrum() {
  const {shown} = page;
  if (!shown || state["view.tab"] !== "spectrum") return;
  const {eigenvalues} = shown.facts, beta = state["inputs.spectrum.beta"];
  $("spectrum-words").textContent = eigenvalues.length === 1
    ? "All inputs have the same variance: the spectrum is a single eigenvalue. Raise L under Inputs for a power law."
    : `${eigenvalues.length} eigenvalues fall as k^-${short(1 + beta)}: on two logarithmic axes a line of slope ${short(-1 - beta)}. Directions with small eigenvalues are learned last, so the curve falls as a power of time.`;
  drawEigenvalues(eigenvalues);
  drawExponent();
}

function drawEigenvalues(values) {
  const high = innerWidth > 760 ? Math.max(150, $("spectrum").clientHeight - 60) : 190;
  const [context, width] = fit($("eigenvalues"), high), left = 70, right = 16, top = 12, bottom = 34;
  const lows = Math.log10(Math.min(...values)), tops = Math.log10(Math.max(...values)), span = Math.max(tops - lows, 1), most = Math.log10(Math.max(values.length, 2));
  const x = k => left + Math.log10(k) / most * (width - left - right), y = value => top + (tops - Math.log10(value)) / span * (high - top - bottom);
  context.strokeStyle = colour("--line");
  context.fillStyle = colour("--quiet");
  context.font = "12px system-ui";
  line(context, left, top, left, high - bottom);
  line(context, left, high - bottom, width - right, high - bottom);
  for (const k of [1, values.length].filter((one, i, all) => all.indexOf(one) === i)) context.fillText(String(k), x(k), high - bottom + 16);
  context.fillText("rank of the eigenvalue", (left + width) / 2, high - 4);
  context.textAlign = "right";
  for (const value of new Set([values[0], values.at(-1)])) context.fillText(short(value), left - 6, y(value) + 4);
  context.fillStyle = colour("--one");
  values.forEach((value, i) => { context.beginPath(); context.arc(x(i + 1), y(value), 3.5, 0, 2 * Math.PI); context.fill(); });
}

function drawExponent() {
  const {shown} = page, {time, exponent} = shown.arrays;
  const data = [Array.from(time.values.subarray(1, shown.count)), Array.from(exponent.values.subarray(1, shown.count), value => Number.isFinite(value) ? value : null)];
  const expected = shown.facts.exponent;
  const mark = u => {
    if (expected === null) return;
    inside(u, (context, {left, width}) => {
      const y = u.valToPos(expected, "y", true);
      context.strokeStyle = colour("--three");
      context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      line(context, left, y, left + width, y);
    });
  };
  plot("exponent", [{label: "time"}, {label: "exponent", stroke: colour("--one"), width: 2, spanGaps: true}], data, "local exponent", false, {draw: [mark]}, true, (u, low, high) => [Math.max(-4, low - 0.1), Math.max(high, 0) + 0.1]);
  chips("exponent-legend", [{stroke: colour("--one"), text: "local exponent of the risk"}, ...expected === null ? [] : [{stroke: colour("--three"), dash: "6,4", text: `-β/(1+β) = ${short(expected)}, the power law of linear students`}]]);
}
