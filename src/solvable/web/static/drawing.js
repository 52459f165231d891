// All pictures of what the server has computed; of the tabs only the one that is open.
import {drawDiagram} from "./diagram.js";
import {drawLandscape} from "./landscape.js";
import {drawMatrix, drawOverlaps} from "./overlaps.js";
import {drawRisk, drawPhases} from "./risk.js";
import {drawSchedule} from "./schedule.js";
import {drawSpectrum} from "./spectrum.js";
import {$, page, state} from "./store.js";
import {drawNumbers, drawTheory} from "./tables.js";
import {place} from "./time.js";

const PANELS = {
  overlaps: () => { drawOverlaps(); drawMatrix(); }, landscape: drawLandscape, theory: drawTheory, spectrum: drawSpectrum,
  schedule: drawSchedule, diagram: drawDiagram, numbers: drawNumbers, words: () => {},
};

export function draw() {
  if (!page.shown) return;
  drawPhases();
  place();
  drawRisk();
  drawPanel();
}
page.draw = draw;

export function drawPanel() {
  if (page.shown) PANELS[state["view.tab"]]();
}

export function openTab(name) {
  state["view.tab"] = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  drawPanel();
}
