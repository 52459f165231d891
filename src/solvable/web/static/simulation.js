// A simulation over the curve, streaming in: SGD, its diffusion, or training on a finite data set.
import {remember, writeAddress} from "./address.js";
import {lines, say} from "./asking.js";
import {problems} from "./controls.js";
import {drawOverlaps} from "./overlaps.js";
import {drawRisk} from "./risk.js";
import {$, dataTable, page, state} from "./store.js";

let running = null;
const NAMES = {micro: "SGD", meso: "The diffusion", empirical: "Training on the data set"};
const DONE = {
  micro: "SGD has finished. Its noise, the larger the smaller the dimension, moves the time at which plateaus are left.",
  meso: "The diffusion has finished. It has the noise of this dimension without a step for every sample.",
  empirical: "Training on the data set has finished. A step on it goes as far as single samples in α = step/rate.",
};

export async function simulate(seed, isStep = true) {
  // where it belongs to a story or a link, it is no step of its own
  forget();
  problems([]);
  const mine = running = new AbortController(), runs = Number($("runs").value), level = state["sgd.level"];
  buttons();
  say(`${NAMES[level]} is being prepared.`);
  try {
    await page.asking;  // it begins where the curve begins
    if (mine !== running || document.body.classList.contains("stale")) return;
    const data = level === "empirical" ? dataTable() : null;
    page.samples = {time: [0], risk: [], cross: [], training: [], seed, level, data};
    let ended = false;
    for await (const piece of lines("/api/simulate", {state: page.shown.tables, runs, seed, level, data}, mine.signal)) {
      if (mine !== running) return;
      if (piece.refused) { problems(piece.problems); say(`${NAMES[level]} was refused.`, true); ended = true; break; }
      if (state["sgd.seed"] === null) {
        Object.assign(state, {"sgd.seed": seed, "sgd.runs": runs});
        if (isStep) remember(`simulated ${seed}`); else writeAddress();
      }
      take(piece, level);
      ended ||= "problems" in piece;
    }
    if (ended || mine !== running) return;
    $("progress").value = 1;  // whole steps on a data set may end a little before the curve
    say(done(level));
  } catch (error) {
    if (error.name !== "AbortError") problems(["the simulation was cut off"]);
  } finally {
    if (mine === running) { running = null; buttons(); }
  }
}

function done(level) {
  const {samples} = page;
  if (level !== "empirical" || !samples.training.length) return DONE[level];
  const mean = rows => rows.reduce((sum, row) => sum + row.at(-1), 0) / rows.length, loss = mean(samples.training), risk = mean(samples.risk);
  if (risk < 0.1 * page.shown.facts.start_risk) return "The students have understood: the risk falls with the training loss.";
  return loss < 0.1 * risk ? `The students have memorised the samples: the training loss is ${loss.toPrecision(1)}, the risk ${risk.toPrecision(2)}.` : DONE[level];
}

function take(piece, level) {
  const {samples, shown} = page;
  if ("compiling" in piece) { say(`${NAMES[level]} is being compiled for this machine: ${piece.compiling}.`); return; }
  if ("working" in piece) { say(`${NAMES[level]} is running: ${Math.round(piece.working)} s so far.`); return; }
  if (piece.problems) {
    problems(piece.problems);
    say(`${NAMES[level]} has ended early.`, true);
    if (!samples.risk.length) { state["sgd.seed"] = null; writeAddress(); }
    return;
  }
  if (!samples.risk.length) {
    samples.risk = piece.risk.map(() => [shown.facts.start_risk]);
    samples.training = (piece.training ?? []).map(() => [null]);
    samples.cross = [Array.from(shown.arrays.cross.values.slice(0, piece.cross[0].length))];
    say(`${NAMES[level]} is running.`);
  }
  samples.time.push(...piece.time);
  samples.cross.push(...piece.cross);
  piece.risk.forEach((row, i) => samples.risk[i].push(...row));
  (piece.training ?? []).forEach((row, i) => samples.training[i].push(...row));
  $("progress").value = samples.time.at(-1) / state["run.until"];
  drawRisk();
  drawOverlaps();
}

function buttons() {
  $("simulate").disabled = running !== null;
  $("cancel").disabled = running === null;
}

export function forget() {
  // the simulation of another problem
  cancel();
  page.samples = null;
  state["sgd.seed"] = null;
  $("progress").value = 0;
}

export function cancel() {
  running?.abort();
  running = null;
  buttons();
}

export function cancelled() {
  cancel();
  state["sgd.seed"] = null;  // a link would show all of it
  writeAddress();
  say("The simulation was cancelled.");
}
