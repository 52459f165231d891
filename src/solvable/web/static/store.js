// The state of the page, and that state as tables for the library.
import {DATA, DEFAULTS, VIEW} from "./fields.js";

export const $ = id => document.getElementById(id);
export const page = {
  state: {...DEFAULTS},
  shown: null,  // the curve on the screen: facts, arrays, settings, tables, count of outputs that were reached, output under the cursor
  samples: null,  // the simulation over it
  kept: [],  // curves kept beside it: settings, and what the server answered
  plots: {},
  stories: [],
  latest: 0, asking: null,  // number of the newest request, and the promise of its answer
};
globalThis.page = page;  // for the console, and for tests
export const state = page.state;

const NUMBERS = {adagrad: "offset", "line-search": "largest", "clip-batches": "norm"};

export function tables(settings = state) {
  const made = {};
  const put = (name, value) => {
    const words = name.split(".");
    let at = made;
    for (const word of words.slice(0, -1)) at = at[word] ??= {};
    at[words.at(-1)] = value;
  };
  const unused = idleFields(settings);
  for (const [name, value] of Object.entries(settings)) {
    if (name in VIEW || name in DATA || unused.has(name)) continue;
    put(name === "training.rate_rule.number" ? `training.rate_rule.${NUMBERS[settings["training.rate_rule.kind"]]}` : name, value);
  }
  if (made.inputs.spectrum) {  // as many dimensions for each eigenvalue
    const L = made.inputs.spectrum.distinct;
    made.inputs.dim = Math.max(1, Math.round(made.inputs.dim / L)) * L;
  }
  return made;
}

export function dataTable(settings = state) {
  return Object.fromEntries(Object.keys(DATA).map(name => [name.split(".")[1], settings[name]]));
}

export function idleFields(settings = state) {
  // what the problem does not use
  const unused = new Set();
  const unless = (used, ...names) => { if (!used) names.forEach(name => unused.add(name)); };
  unless(settings["inputs.spectrum.distinct"] > 1, "inputs.spectrum.distinct", "inputs.spectrum.beta");
  unless(settings["start.students"] === "orthogonal", "start.cross");
  unless(settings["student.norm"] !== "sphere", "start.scale");
  unless(settings["training.momentum.beta"] > 0 && !settings["training.momentum.kappa"], "training.momentum.beta");
  unless(settings["training.momentum.kappa"] > 0, "training.momentum.kappa");
  unless(settings["training.rate_rule.kind"] !== "nothing", "training.rate_rule.kind", "training.rate_rule.number");
  unless(settings["training.rate_rule.kind"] in NUMBERS, "training.rate_rule.number");
  unless(settings["training.repeats"] > 1, "training.repeats");
  unless(settings["training.lookahead"] > 0, "training.lookahead");
  unless(settings["training.rule"] !== "as they are", "training.rule");
  unless(settings["data.selection"] !== "all", "data.batch");
  return unused;
}

export const isSetting = name => name in DEFAULTS && !(name in VIEW);

export function settingsOf(made = state) {
  return Object.fromEntries(Object.entries(made).filter(([name]) => isSetting(name)));
}

export function withTables(made) {
  // the defaults with the values of such tables
  const settings = {...DEFAULTS};
  const walk = (part, before) => {
    for (const [name, value] of Object.entries(part)) {
      if (value !== null && typeof value === "object") walk(value, `${before}${name}.`);
      else if (`${before}${name}` in DEFAULTS) settings[`${before}${name}`] = value;
    }
  };
  walk(made, "");
  return settings;
}
