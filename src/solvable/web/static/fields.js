// What can be moved: groups of [name, label, kind of field, hint], and what everything is at first.
import {LOSSES, UNITS} from "./units.js";

const READOUTS = ["mean", "sqrt", "unit"];
export const FIELDS = [
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
  ["Training", [
    ["training.learning_rate", "learning rate", {kind: "log", min: 1e-3, max: 10}, "η: each step moves weights by η/√dim times the gradient"],
    ["training.label_noise", "label noise Δ", {kind: "float", min: 0, max: 2, step: 0.01}, "variance of the noise on labels"],
    ["training.batch", "batch", {kind: "int", min: 1, max: 64}, "fresh samples in a step"],
    ["training.weight_decay", "weight decay", {kind: "float", min: 0, max: 1, step: 0.01}, "students shrink by this times η/dim in a step"],
    ["training.train_readout", "train readout", {kind: "truth"}, "whether the second layer learns too"]]],
  ["Rule", [
    ["training.loss", "loss", {kind: "choice", of: LOSSES}, "of the residual label - output, or of the margin label × output"],
    ["training.loss_factor", "loss factor", {kind: "choice", of: [1, 0.5]}, "c, which multiplies the loss"],
    ["training.momentum.beta", "momentum β", {kind: "float", min: 0, max: 0.95, step: 0.05}, "share of its velocity that a step keeps; 0: none. Gradients add up to the rate η/(1 - β)"],
    ["training.momentum.kappa", "friction κ", {kind: "float", min: 0, max: 10, step: 0.1}, "of velocities so slow that they last for α = 1/κ; 0: none. The learning rate is then the effective one"],
    ["training.rate_rule.kind", "rate follows", {kind: "choice", of: ["nothing", "adagrad", "line-search", "polyak", "clip-batches"]}, "a rule by which the rate follows the state"],
    ["training.rate_rule.number", "its number", {kind: "float", min: 0.1, max: 10, step: 0.1}, "AdaGrad's offset b, the largest rate of line search, or the length that gradients are clipped to"],
    ["training.repeats", "repeats", {kind: "int", min: 1, max: 8}, "how often in a row each fresh sample is used"],
    ["training.lookahead", "look-ahead", {kind: "float", min: 0, max: 2, step: 0.05}, "the gradient is taken where a step of this rate on the same sample would lead, which is not kept; 0: none"],
    ["training.rule", "gradients", {kind: "choice", of: ["as they are", "normalised"]}, "what becomes of a sample's gradient"]]],
  ["Inputs", [
    ["inputs.dim", "dimension", {kind: "log", min: 16, max: 1e6, whole: true}, "of the Gaussian inputs; the equations hold for large ones, simulations run at this one"],
    ["inputs.spectrum.distinct", "eigenvalues L", {kind: "int", min: 1, max: 64}, "distinct eigenvalues of the inputs' covariance; 1: isotropic"],
    ["inputs.spectrum.beta", "power β", {kind: "float", min: 0.1, max: 2, step: 0.05}, "eigenvalues fall as k^-(1+β)"]]],
  ["Start", [
    ["start.seed", "seed", {kind: "int", min: 0, max: 99}, "of the first overlaps"],
    ["start.students", "law", {kind: "choice", of: ["gaussian", "orthogonal"]}, "students with Gaussian weights, or orthogonal ones with first overlaps of a chosen size"],
    ["start.scale", "scale", {kind: "log", min: 1e-6, max: 3}, "standard deviation of the first weights"],
    ["start.cross", "first overlaps", {kind: "log", min: 1e-6, max: 0.3}, "size of the first overlaps with the teachers, for orthogonal students"]]],
  ["Time", [["run.until", "until α =", {kind: "log", min: 1, max: 1e6}, "how long to learn"]]],
  ["Data set", [
    ["data.samples", "samples / dim", {kind: "log", min: 0.1, max: 30}, "size of the data set, per input dimension"],
    ["data.step", "step", {kind: "log", min: 0.01, max: 3}, "of one pass over the batch; it goes as far as α = step/rate of single samples"],
    ["data.selection", "selection", {kind: "choice", of: ["all", "subsets", "drawn", "shuffled", "partition"]}, "which samples a step takes: all; other ones each time, without or with replacement; or epochs, shuffled anew or the same"],
    ["data.batch", "batch / dim", {kind: "log", min: 0.05, max: 10}, "samples of one step, per input dimension"],
    ["data.form", "form", {kind: "choice", of: ["auto", "revealed", "gram", "full"]}, "how the data matrix is held: revealed as it is asked about, by its Gram matrix, or all rows"]]],
];
export const ROWS = FIELDS.flatMap(([group, rows]) => rows.map(([name, label, spec, hint]) => ({group, name, label, spec, hint})));
export const SPECS = Object.fromEntries(ROWS.map(row => [row.name, row.spec]));
export const OVERLAPS = ["teachers", "students", "readout"];
export const TABS = ["overlaps", "landscape", "theory", "spectrum", "schedule", "diagram", "numbers", "words"];
export const LEVELS = {micro: "SGD", meso: "diffusion", empirical: "finite data"};
export const VIEW = {  // how one looks at it
  "view.log_time": false, "view.log_risk": true, "view.overlaps": "teachers", "view.at": null, "view.tab": "overlaps",
  "sgd.runs": 4, "sgd.seed": null, "sgd.level": "micro", "story.name": "", "story.step": 0,
};
export const DATA = {"data.samples": 4, "data.step": 0.1, "data.selection": "all", "data.batch": 0.5, "data.form": "auto"};
export const DEFAULTS = {
  "teacher.width": 3, "teacher.activation": "quadratic", "teacher.readout": "mean", "teacher.overlap": "orthonormal", "student.width": 6,
  "student.activation": "quadratic", "student.readout": "mean", "student.norm": "free", "inputs.dim": 10000,
  "inputs.spectrum.distinct": 1, "inputs.spectrum.beta": 1, "training.learning_rate": 0.1, "training.label_noise": 0,
  "training.batch": 1, "training.weight_decay": 0, "training.loss": "squared", "training.loss_factor": 1, "training.train_readout": false,
  "training.momentum.beta": 0, "training.momentum.kappa": 0, "training.rate_rule.kind": "nothing", "training.rate_rule.number": 1,
  "training.repeats": 1, "training.lookahead": 0, "training.rule": "as they are", "start.seed": 0, "start.students": "gaussian", "start.scale": 1, "start.cross": 0.01, "run.until": 200,
  ...DATA, ...VIEW,
};
// of a field, in a sentence: "student width", "learning rate"
const AMBIGUOUS = ["width", "activation", "readout", "weights", "norm", "seed", "law", "scale"];
const LONG = {"run.until": "duration", "training.rate_rule.number": "number of the rate's rule", "inputs.spectrum.beta": "power β", "data.step": "step on the data"};
export const called = name => {
  const row = ROWS.find(one => one.name === name);
  if (!row) return name;
  return LONG[name] ?? (AMBIGUOUS.includes(row.label) ? `${row.group.toLowerCase()} ${row.label}` : row.label);
};
