"use strict";
// A field for everything in FIELDS. Each calls changed() when it has set the state.

function build() {
  for (const [title, rows] of FIELDS) {
    const set = document.createElement("fieldset"), legend = document.createElement("legend");
    legend.textContent = title;
    set.append(legend, ...rows.map(row => control(...row)));
    $("controls").append(set);
  }
}

function control(name, label, spec, hint) {
  const box = document.createElement("div"), text = document.createElement("label");
  box.className = "field";
  box.title = hint;
  text.textContent = label;
  text.htmlFor = name;
  box.append(text);
  const change = value => { state[name] = value; fill(name); changed(); };
  if (spec.kind === "choice") {
    const select = document.createElement("select");
    select.append(...spec.of.map(value => new Option(value, value)));
    select.addEventListener("change", () => change(typeof spec.of[0] === "number" ? Number(select.value) : select.value));
    box.append(select);
  } else if (spec.kind === "truth") {
    const tick = document.createElement("input");
    tick.type = "checkbox";
    tick.addEventListener("change", () => change(tick.checked));
    box.append(tick);
  } else {
    const number = document.createElement("input"), slide = document.createElement("input");
    number.type = "number"; number.step = "any";
    slide.type = "range"; slide.id = `${name}:slide`;
    slide.setAttribute("aria-label", `${label}, slider`);
    const log = spec.kind === "log";
    slide.min = log ? Math.log10(spec.min) : spec.min;
    slide.max = log ? Math.log10(spec.max) : spec.max;
    slide.step = log ? 0.01 : spec.kind === "int" ? 1 : spec.step;
    const tidy = value => spec.whole || spec.kind === "int" ? Math.round(value) : Number(value.toPrecision(4));
    const slid = () => change(tidy(log ? 10 ** slide.value : Number(slide.value)));
    slide.addEventListener("input", slid);
    number.addEventListener("keydown", event => {  // as large a step as the slider's
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
      event.preventDefault();
      event.key === "ArrowUp" ? slide.stepUp() : slide.stepDown();
      slid();
      number.value = state[name];
    });
    number.addEventListener("change", () => { if (number.value === "") number.value = state[name]; else change(Number(number.value)); });
    box.append(number, slide);
  }
  const field = box.children[1];
  field.id = name;
  field.setAttribute("aria-description", hint);
  return box;
}

function fill(name) {
  const spec = SPECS[name], value = state[name], input = $(name);
  if (spec.kind === "truth") { input.checked = value; return; }
  if (document.activeElement !== input || spec.kind === "choice") input.value = value;
  const slide = $(`${name}:slide`);
  slide?.setAttribute("aria-valuetext", String(value));
  if (slide && document.activeElement !== slide) slide.value = spec.kind === "log" ? Math.log10(Math.max(value, spec.min)) : value;
}

function fillAll() {
  Object.keys(SPECS).forEach(fill);
  $("logx").checked = state["view.log_time"];
  $("logy").checked = state["view.log_risk"];
  $("which").value = state["view.overlaps"];
  $("runs").value = state["sgd.runs"];
  idle();
}

function idle() {
  // what the problem does not use cannot be moved; the number of eigenvalues always can
  const unused = idleFields();
  for (const name of ["inputs.spectrum.beta", "start.cross", "start.scale"]) {
    for (const id of [name, `${name}:slide`]) $(id).disabled = unused.has(name);
  }
}
