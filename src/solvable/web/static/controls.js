// A field for everything in FIELDS. Each calls page.changed(name) when it has set the state; mistakes stand beside their field.
import {FIELDS, SPECS, ROWS, called} from "./fields.js";
import {$, idleFields, page, state} from "./store.js";
import {mistake} from "./words.js";

const CLOSED = ["Rule", "Start"];

export function build() {
  for (const [title, rows] of FIELDS) {
    const group = document.createElement("details"), name = document.createElement("summary"), set = document.createElement("fieldset");
    group.open = !CLOSED.includes(title);
    group.id = `group:${title}`;
    name.textContent = title;
    set.setAttribute("aria-label", title);
    set.append(...rows.map(row => control(...row)));
    group.append(name, set);
    $("controls").append(group);
  }
}

function control(name, label, spec, hint) {
  const box = document.createElement("div"), text = document.createElement("label"), wrong = document.createElement("p");
  box.className = "field";
  box.title = hint;
  text.textContent = label;
  text.htmlFor = name;
  Object.assign(wrong, {className: "wrong", id: `${name}:wrong`, role: "alert"});
  const change = value => { state[name] = value; fill(name); page.changed(name); };
  const [field, slide] = {choice, truth}[spec.kind]?.(spec, change) ?? numeric(name, label, spec, change);
  field.id = name;
  field.setAttribute("aria-description", hint);
  field.setAttribute("aria-errormessage", wrong.id);
  box.append(text, field, ...slide ? [slide] : [], wrong);
  return box;
}

function choice(spec, change) {
  const select = document.createElement("select");
  select.append(...spec.of.map(value => new Option(value, value)));
  select.addEventListener("change", () => change(typeof spec.of[0] === "number" ? Number(select.value) : select.value));
  return [select];
}

function truth(spec, change) {
  const tick = document.createElement("input");
  tick.type = "checkbox";
  tick.addEventListener("change", () => change(tick.checked));
  return [tick];
}

function numeric(name, label, spec, change) {
  const number = document.createElement("input"), slide = document.createElement("input"), log = spec.kind === "log";
  number.type = "number"; number.step = "any";
  slide.type = "range"; slide.id = `${name}:slide`;
  slide.setAttribute("aria-label", `${called(name)}, slider`);
  slide.min = log ? Math.log10(spec.min) : spec.min;
  slide.max = log ? Math.log10(spec.max) : spec.max;
  slide.step = log ? 0.01 : spec.kind === "int" ? 1 : spec.step;
  const tidy = value => spec.whole || spec.kind === "int" ? Math.round(value) : Number(value.toPrecision(4));
  const slid = () => change(tidy(log ? 10 ** slide.value : Number(slide.value)));
  slide.addEventListener("input", slid);
  number.addEventListener("keydown", event => {  // as large a step as the slider's
    if (event.key === "Escape") { number.value = state[name]; told(name, ""); return; }
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    event.key === "ArrowUp" ? slide.stepUp() : slide.stepDown();
    slid();
    number.value = state[name];
  });
  number.addEventListener("change", () => {
    if (number.value !== "") { change(Number(number.value)); return; }
    told(name, `This field is empty. The curve still has ${called(name)} ${state[name]}.`);
  });
  return [number, slide];
}

export function fill(name) {
  const spec = SPECS[name], value = state[name], input = $(name);
  if (spec.kind === "truth") { input.checked = value; return; }
  if (document.activeElement !== input || spec.kind === "choice") input.value = value;
  const slide = $(`${name}:slide`);
  slide?.setAttribute("aria-valuetext", String(value));
  if (slide && document.activeElement !== slide) slide.value = spec.kind === "log" ? Math.log10(Math.max(value, spec.min)) : value;
}

export function fillAll() {
  Object.keys(SPECS).forEach(fill);
  for (const {name} of ROWS) if (state[name] !== "" && $(name).value === "") $(name).value = state[name];
  $("logx").checked = state["view.log_time"];
  $("logy").checked = state["view.log_risk"];
  $("which").value = state["view.overlaps"];
  $("runs").value = state["sgd.runs"];
  $("level").value = state["sgd.level"];
  idle();
}

const MAY_REST = ["inputs.spectrum.beta", "start.cross", "start.scale", "training.rate_rule.number", "data.batch"];

export function idle() {
  // what the problem does not use cannot be moved; what switches something on always can
  const unused = idleFields();
  for (const name of MAY_REST) for (const id of [name, `${name}:slide`]) $(id).disabled = unused.has(name);
  for (const id of ["training.momentum.beta", "training.momentum.beta:slide"]) $(id).disabled = state["training.momentum.kappa"] > 0;
  const onData = state["sgd.level"] === "empirical";
  $("group:Data set").hidden = !onData;
}

// ---- mistakes

function told(name, text) {
  const wrong = $(`${name}:wrong`);
  if (wrong.textContent !== text) wrong.textContent = text;
  $(name).toggleAttribute("aria-invalid", false);
  if (text) {
    $(name).setAttribute("aria-invalid", "true");
    $(name).closest("details").open = true;
  }
}

export function problems(lines) {
  // of the library or of the page: beside their field where they have one
  const beside = new Map(), rest = [];
  for (const line of lines.filter(one => !/\.(times|rates): is missing$/.test(one))) {
    const [name, text] = mistake(line, state["sgd.level"]);
    if (name === null || beside.has(name)) rest.push(text); else beside.set(name, text);
  }
  for (const {name} of ROWS) told(name, beside.get(name) ?? "");
  const first = [...beside.keys()][0];
  if (first) rest.unshift(`${called(first).replace(/^./, letter => letter.toUpperCase())}: ${beside.get(first)}`);  // seen from anywhere
  $("problems").replaceChildren(...[...page.addressed ?? [], ...rest].map(line => Object.assign(document.createElement("li"), {textContent: line})));
}
