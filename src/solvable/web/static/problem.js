"use strict";
// What can be moved, the state of the page, and that state as tables for the library and as an address.

const READOUTS = ["mean", "sqrt", "unit"];
const FIELDS = [
  ["Teacher", [
    ["teacher.width", "width", {kind: "int", min: 1, max: 8}, "hidden units of the teacher"],
    ["teacher.activation", "activation", {kind: "choice", of: UNITS}, "what a hidden unit of the teacher computes"],
    ["teacher.readout", "readout", {kind: "choice", of: READOUTS}, "weight of each unit: 1/width, 1/√width or 1"],
    ["teacher.overlap", "weights", {kind: "choice", of: ["orthonormal", "sampled"]}, "orthogonal teachers of unit length, or Gaussian weights"]]],
  ["Student", [
    ["student.width", "width", {kind: "int", min: 1, max: 12}, "hidden units of the student"],
    ["student.activation", "activation", {kind: "choice", of: UNITS}, "what a hidden unit of the student computes"],
    ["student.readout", "readout", {kind: "choice", of: READOUTS}, "weight of each unit: 1/width, 1/√width or 1"],
    ["student.norm", "norm", {kind: "choice", of: ["free", "sphere"]}, "whether the students' lengths are learned or held"]]],
  ["Inputs", [
    ["inputs.dim", "dimension", {kind: "log", min: 16, max: 1e6, whole: true}, "of the Gaussian inputs; the equations hold for large ones, SGD runs at this one"],
    ["inputs.spectrum.distinct", "eigenvalues L", {kind: "int", min: 1, max: 64}, "distinct eigenvalues of the inputs' covariance; 1: isotropic"],
    ["inputs.spectrum.beta", "power β", {kind: "float", min: 0.1, max: 2, step: 0.05}, "eigenvalues fall as k^-(1+β)"]]],
  ["Training", [
    ["training.learning_rate", "learning rate", {kind: "log", min: 1e-3, max: 10}, "η: each step moves weights by η/√dim times the gradient"],
    ["training.label_noise", "label noise Δ", {kind: "float", min: 0, max: 2, step: 0.01}, "variance of the noise on labels"],
    ["training.batch", "batch", {kind: "int", min: 1, max: 64}, "fresh samples in a step"],
    ["training.weight_decay", "weight decay", {kind: "float", min: 0, max: 1, step: 0.01}, "students shrink by this times η/dim in a step"],
    ["training.loss", "loss", {kind: "choice", of: LOSSES}, "of the residual label - output, or of the margin label × output"],
    ["training.loss_factor", "loss factor", {kind: "choice", of: [1, 0.5]}, "c, which multiplies the loss"],
    ["training.train_readout", "train readout", {kind: "truth"}, "whether the second layer learns too"]]],
  ["Start", [
    ["start.seed", "seed", {kind: "int", min: 0, max: 99}, "of the first overlaps"],
    ["start.students", "law", {kind: "choice", of: ["gaussian", "orthogonal"]}, "students with Gaussian weights, or orthogonal ones with first overlaps of a chosen size"],
    ["start.scale", "scale", {kind: "log", min: 1e-6, max: 3}, "standard deviation of the first weights"],
    ["start.cross", "first overlaps", {kind: "log", min: 1e-6, max: 0.3}, "size of the first overlaps with the teachers, for orthogonal students"]]],
  ["Time", [["run.until", "until (steps / dim)", {kind: "log", min: 1, max: 1e6}, "how long to learn"]]],
];
const SPECS = Object.fromEntries(FIELDS.flatMap(([, rows]) => rows.map(([name, , spec]) => [name, spec])));
const OVERLAPS = ["teachers", "students", "readout"];
const VIEW = {  // how one looks at it
  "view.log_time": false, "view.log_risk": true, "view.overlaps": "teachers", "view.at": null, "sgd.runs": 4, "sgd.seed": null,
};
const DEFAULTS = {
  "teacher.width": 3, "teacher.activation": "quadratic", "teacher.readout": "mean", "teacher.overlap": "orthonormal", "student.width": 6,
  "student.activation": "quadratic", "student.readout": "mean", "student.norm": "free", "inputs.dim": 10000,
  "inputs.spectrum.distinct": 1, "inputs.spectrum.beta": 1, "training.learning_rate": 0.1, "training.label_noise": 0,
  "training.batch": 1, "training.weight_decay": 0, "training.loss": "squared", "training.loss_factor": 1, "training.train_readout": false,
  "start.seed": 0, "start.students": "gaussian", "start.scale": 1, "start.cross": 0.01, "run.until": 200, ...VIEW,
};
const $ = id => document.getElementById(id);
const state = {...DEFAULTS};

function tables() {
  const made = {};
  const put = (name, value) => {
    const words = name.split(".");
    let at = made;
    for (const word of words.slice(0, -1)) at = at[word] ??= {};
    at[words.at(-1)] = value;
  };
  const unused = idleFields();
  for (const [name, value] of Object.entries(state)) {
    if (!(name in VIEW) && !unused.has(name)) put(name, value);
  }
  if (made.inputs.spectrum) {  // as many dimensions for each eigenvalue
    const L = made.inputs.spectrum.distinct;
    made.inputs.dim = Math.max(1, Math.round(made.inputs.dim / L)) * L;
  }
  return made;
}

function idleFields() {
  // what the problem does not use
  const unused = new Set();
  if (state["inputs.spectrum.distinct"] <= 1) unused.add("inputs.spectrum.distinct").add("inputs.spectrum.beta");
  if (state["start.students"] !== "orthogonal") unused.add("start.cross");
  if (state["student.norm"] === "sphere") unused.add("start.scale");
  return unused;
}

function adopt(made) {
  // another problem, looked at in the same way
  for (const name of Object.keys(DEFAULTS)) if (!(name in VIEW)) state[name] = DEFAULTS[name];
  state["view.at"] = null;
  const walk = (part, before) => {
    for (const [name, value] of Object.entries(part)) {
      if (value !== null && typeof value === "object") walk(value, `${before}${name}.`);
      else if (`${before}${name}` in DEFAULTS) state[`${before}${name}`] = value;
    }
  };
  walk(made, "");
}

function readAddress() {
  // how many settings it has, and what is wrong with the others
  const wrong = [];
  let count = 0;
  Object.assign(state, DEFAULTS);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (!Object.hasOwn(DEFAULTS, name)) { wrong.push(`${name}: in the address, but not a setting of this page`); continue; }
    const value = meaning(name, text);
    if (value === undefined) wrong.push(`${name}: ${text.slice(0, 40)} in the address, which it cannot be; ${state[name] ?? "nothing"} is taken`);
    else { state[name] = value; count++; }
  }
  return {count, wrong};
}

function meaning(name, text) {
  const usual = DEFAULTS[name];
  if (typeof usual === "boolean") return {true: true, false: false}[text];
  if (typeof usual === "string") return name !== "view.overlaps" || OVERLAPS.includes(text) ? text : undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

let unwritten = null, written = -1e9;

function writeAddress() {
  // at once if the last one is a while ago: a browser takes only so many a second
  clearTimeout(unwritten);
  unwritten = setTimeout(writeNow, Math.max(0, written + 150 - performance.now()));
}

function writeNow() {
  clearTimeout(unwritten);
  written = performance.now();
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  // never empty: an empty address means the first preset
  history.replaceState(null, "", `#${new URLSearchParams(changed.length ? changed : [["run.until", state["run.until"]]])}`);
}
