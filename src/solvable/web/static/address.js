// The state of the page as its address: a link reproduces it, Back and Forward undo and redo.
import {DEFAULTS, LEVELS, OVERLAPS, TABS} from "./fields.js";
import {$, isSetting, page, state} from "./store.js";

const CHOICES = {"view.overlaps": OVERLAPS, "view.tab": TABS, "sgd.level": Object.keys(LEVELS)};
const PAUSE = 1200;  // milliseconds after which another move of the same field is a step of its own
let unwritten = null, pending = "", written = -1e9, last = {name: null, time: -1e9}, depth = 0, furthest = 0;

export function readAddress() {
  // how many settings it has, what is wrong with the others, and the settings of kept curves
  const wrong = [], kept = [];
  let count = 0;
  Object.assign(state, DEFAULTS);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (name === "kept") { kept.push(read(text, wrong, settingsOnly)); continue; }
    count += take(state, name, text, wrong, () => true);
  }
  return {count, wrong, kept};
}

const settingsOnly = name => isSetting(name);

function read(text, wrong, allowed) {
  const made = Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => allowed(name)));
  for (const [name, part] of new URLSearchParams(text)) take(made, name, part, wrong, allowed);
  return made;
}

function take(into, name, text, wrong, allowed) {
  if (!Object.hasOwn(DEFAULTS, name) || !allowed(name)) { wrong.push(`${name}: in the address, but not a setting of this page`); return 0; }
  const value = meaning(name, text);
  if (value === undefined) { wrong.push(`${name}: ${text.slice(0, 40)} in the address, which it cannot be; ${into[name] ?? "nothing"} is taken`); return 0; }
  into[name] = value;
  return 1;
}

function meaning(name, text) {
  const usual = DEFAULTS[name];
  if (typeof usual === "boolean") return {true: true, false: false}[text];
  if (typeof usual === "string") return !(name in CHOICES) || CHOICES[name].includes(text) ? text : undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

const differences = made => Object.entries(made).filter(([name, value]) => value !== DEFAULTS[name]);

function addressOf() {
  const changed = [...differences(state), ...page.kept.map(one => ["kept", String(new URLSearchParams(differences(one.settings)))])];
  // never empty: an empty address means the first story
  return `#${new URLSearchParams(changed.length ? changed : [["run.until", state["run.until"]]])}`;
}

export function remember(name) {
  // a step that can be undone; further moves of the same field belong to it until one pauses
  const now = performance.now(), isStep = name !== last.name || now - last.time > PAUSE;
  last = {name, time: now};
  if (!isStep) { writeAddress(); return; }
  if (unwritten !== null) replace(pending);  // the step before, as it was left
  forgetUnwritten();
  last = {name, time: now};
  const address = addressOf();
  if (address === location.hash) return;
  furthest = ++depth;
  written = now;
  history.pushState({depth}, "", address);
  buttons();
}

export function writeAddress() {
  // at once if the last one is a while ago: a browser takes only so many a second
  pending = addressOf();
  clearTimeout(unwritten);
  unwritten = setTimeout(writeNow, Math.max(0, written + 150 - performance.now()));
}

export function writeNow() {
  forgetUnwritten();
  replace(addressOf());
}

function replace(address) {
  written = performance.now();
  history.replaceState({depth}, "", address);
  buttons();
}

export function forgetUnwritten() {
  clearTimeout(unwritten);
  unwritten = null;
}

export function settle() {
  // when the page is opened: a reloaded one may still go back
  depth = furthest = history.state?.depth ?? 0;
  history.replaceState({depth}, "", location.href);
}

export function arrived() {
  // by Back, Forward, or a link that was followed in this tab
  last.name = null;
  if (typeof history.state?.depth === "number") depth = history.state.depth;
  else { depth++; furthest = depth; history.replaceState({depth}, "", location.href); }
  furthest = Math.max(furthest, depth);
  buttons();
}

function buttons() {
  $("undo").disabled = depth <= 0;
  $("redo").disabled = depth >= furthest;
}

export function undo() { flush(); if (depth > 0) history.back(); }
export function redo() { flush(); if (depth < furthest) history.forward(); }

function flush() { if (unwritten !== null) writeNow(); }
