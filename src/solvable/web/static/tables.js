// Tables: what theory predicts, the curve in numbers, words and what they mean.
import {$, page} from "./store.js";
import {refusal, sentence, short, WORDS} from "./words.js";

export function cells(parts, tag = "td") {
  const row = document.createElement("tr");
  for (const part of parts) {
    const cell = document.createElement(tag);
    cell.append(part);
    row.append(cell);
  }
  return row;
}

export function drawTheory() {
  const {facts} = page.shown;
  $("theory").hidden = facts.theory.length === 0;
  $("untold").textContent = facts.theory_refusal === null ? "" : `No closed form applies here. ${refusal(facts.theory_refusal)}`;
  $("theory").tBodies[0].replaceChildren(...facts.theory.map(one => cells([one.name, short(one.value), known(one)])));
}

function known(one) {
  const box = document.createElement("details");
  box.append(Object.assign(document.createElement("summary"), {textContent: one.source}), one.about);
  const cell = document.createDocumentFragment();
  cell.append(...one.caveats.map(text => Object.assign(document.createElement("p"), {className: "caveat", textContent: sentence(text)})), box);
  return cell;
}

export function drawNumbers() {
  // the curve for those who do not see it, or want its numbers
  const {time, risk} = page.shown.arrays, last = page.shown.count - 1, rows = Math.min(12, last);
  const chosen = Array.from({length: rows + 1}, (_, i) => Math.round(i * last / Math.max(rows, 1)));
  $("values").tBodies[0].replaceChildren(...chosen.map(i => cells([short(time.values[i]), short(risk.values[i])])));
}

export function writeWords() {
  $("glossary").replaceChildren(...Object.entries(WORDS).map(([word, meaning]) => {
    const entry = document.createElement("div");
    entry.append(Object.assign(document.createElement("dt"), {textContent: word}), Object.assign(document.createElement("dd"), {textContent: meaning}));
    return entry;
  }));
}
