// The time under the cursor: an output of the curve; and playing through all of them.
import {writeAddress} from "./address.js";
import {drawLandscape} from "./landscape.js";
import {drawMatrix} from "./overlaps.js";
import {markPhase} from "./risk.js";
import {$, page, state} from "./store.js";
import {short} from "./words.js";

const SECONDS = 12, STILL = 1.6;  // of a film; between its pictures, for those who want no motion
const still = matchMedia("(prefers-reduced-motion: reduce)");
let film = null;

export function place() {
  const {shown} = page, times = shown.arrays.time.values, wanted = state["view.at"];
  shown.at = shown.count - 1;
  if (wanted !== null) for (let i = shown.count - 1; i >= 0; i--) if (Math.abs(times[i] - wanted) <= Math.abs(times[shown.at] - wanted)) shown.at = i;
  $("cursor").max = shown.count - 1;
  $("cursor").value = shown.at;
  const time = `α = ${short(times[shown.at])}`;
  $("cursor").setAttribute("aria-valuetext", time);
  $("now").textContent = `${time}, risk ${short(shown.arrays.risk.values[shown.at])}`;
  markPhase();
}

export function scrub(time, remembered = true) {
  state["view.at"] = Number(time.toPrecision(6));
  place();
  drawMatrix();
  drawLandscape();
  for (const one of Object.values(page.plots)) one.made.redraw(false, false);
  if (remembered) writeAddress();
}
page.scrub = scrub;

export function stop() {
  if (film === null) return;
  clearTimeout(film);
  cancelAnimationFrame(film);
  film = null;
  $("play").textContent = "▶ Play";
  $("play").setAttribute("aria-pressed", "false");
  writeAddress();
}

export function play() {
  // from the chosen time, or from the beginning where that is the end
  if (film !== null) { stop(); return; }
  const {shown} = page;
  if (!shown) return;
  $("play").textContent = "❚❚ Pause";
  $("play").setAttribute("aria-pressed", "true");
  const last = shown.count - 1, first = state["view.at"] === null || shown.at >= last ? 0 : shown.at;
  if (still.matches) { stills(shown, stops(shown).filter(i => i >= first)); return; }
  const way = along(shown), from = way(first), began = performance.now();
  const next = at => {
    if (page.shown !== shown) { stop(); return; }
    const share = from + (at - began) / 1000 / SECONDS;
    let i = shown.at < last && way(shown.at) <= share ? shown.at : 0;
    while (i < last && way(i + 1) <= share) i++;
    if (i !== shown.at || state["view.at"] === null) scrub(shown.arrays.time.values[i], false);
    if (share >= 1) { scrub(shown.arrays.time.values[last], false); stop(); return; }
    film = requestAnimationFrame(next);
  };
  film = requestAnimationFrame(next);
}

function along(shown) {
  // how far an output is along the axis, from 0 to 1
  const times = shown.arrays.time.values, last = times[shown.count - 1];
  if (!state["view.log_time"]) return i => times[i] / last;
  const span = Math.log(last / times[1]);
  return i => i === 0 ? 0 : Math.log(times[i] / times[1]) / span;
}

function stops(shown) {
  // beginning, middle and end of each phase; or twelfths where there are none
  const {phases} = shown.facts, times = Array.from(shown.arrays.time.values.slice(0, shown.count)), last = times.at(-1);
  const wanted = phases.length ? phases.flatMap(one => [one.from, (one.from + one.to) / 2, one.to]) : Array.from({length: 13}, (_, i) => i * last / 12);
  return [...new Set(wanted.map(time => Math.max(0, times.findLastIndex(one => one <= time))))].sort((a, b) => a - b);
}

function stills(shown, left) {
  if (page.shown !== shown || !left.length) { stop(); return; }
  scrub(shown.arrays.time.values[left[0]], false);
  film = setTimeout(() => stills(shown, left.slice(1)), 1000 * STILL);
}
