// The best schedule of the learning rate, found by the library, and what it gains.
import {chips, colour, plot} from "./curves.js";
import {$, page, state} from "./store.js";
import {refusal, short} from "./words.js";

let found = null, searching = null;

export function drawSchedule() {
  if (state["view.tab"] !== "schedule") return;
  const fresh = found && page.shown && found.of === JSON.stringify(page.shown.tables);
  $("best-curves").hidden = !fresh;
  if (!fresh) {
    if (!searching) $("best-words").textContent = "Which learning rate is best at every time, if the risk at the end is to be as small as possible? The library follows gradients through the equations and checks its answer by Pontryagin's condition.";
    return;
  }
  const rate = found.schedule["training.learning_rate"], {best, constant} = found.curves;
  const steps = rate.times.flatMap((time, i) => [[time, rate.rates[i]], [rate.times[i + 1] ?? page.shown.tables.run.until, rate.rates[i]]]);
  plot("best-rate", [{label: "time"}, {label: "rate", stroke: colour("--one"), width: 2}], [steps.map(([time], i) => time + 1e-9 * i), steps.map(([, value]) => value)], "learning rate", false, {}, false);
  const seen = value => value > 0 ? value : null;
  plot("best-risk", [{label: "time"}, {label: "best", stroke: colour("--one"), width: 2}, {label: "constant", stroke: colour("--two"), width: 2, dash: [6, 4]}],
    globalThis.uPlot.join([[best.time, best.risk.map(seen)], [constant.time, constant.risk.map(seen)]]), "risk", true, {}, false);
  chips("best-legend", [{stroke: colour("--one"), text: "best schedule"}, {stroke: colour("--two"), dash: "6,4", text: `best constant rate, ${short(found.constant.numbers["training.learning_rate"])}`}]);
}

const left = gap => gap < 0.01 ? "Pontryagin's condition certifies it: less than a percent is left to gain." : `A longer search could gain about ${short(Number((100 * gap).toPrecision(2)))} % more, by Pontryagin's condition.`;

export async function findBest() {
  const tables = page.shown?.tables;
  if (!tables) return;
  const mine = searching = {};
  $("best").disabled = true;
  $("best-words").textContent = "Searching…";
  try {
    for (;;) {
      const answer = await fetch("/api/optimal", {method: "POST", body: JSON.stringify({state: tables, control: {training: {learning_rate: 20}}})}).catch(() => null);
      if (mine !== searching) return;
      const content = answer ? await answer.json() : {problems: ["the server does not answer"]};
      if ("compiling" in content) {
        $("best-words").textContent = `Best schedules are being compiled for this machine: ${content.compiling}.`;
        await new Promise(resolve => { setTimeout(resolve, 1000); });
        continue;
      }
      if (content.problems) { $("best-words").textContent = refusal(content.problems[0]); return; }
      found = {...content, of: JSON.stringify(tables)};
      const times = content.constant.risk / content.risk;
      $("best-words").textContent = `The best schedule ends at risk ${short(content.risk)}, the best constant rate at ${short(content.constant.risk)}${times > 1.05 ? `: ${short(Number(times.toPrecision(2)))} times as much` : ", which is nearly as good"}. ${left(content.gap)}`;
      return;
    }
  } finally {
    if (mine === searching) { searching = null; $("best").disabled = false; drawSchedule(); }
  }
}
