// How the risk bends at the chosen time, and which critical points are near.
import {colour, line} from "./curves.js";
import {fit} from "./overlaps.js";
import {$, page, state} from "./store.js";
import {cells} from "./tables.js";
import {critical, nearest, refusal, short} from "./words.js";

let asked = null, wanted = null;  // the request that is under way, and the one after it

export function drawLandscape() {
  const {shown} = page;
  if (!shown || state["view.tab"] !== "landscape") return;
  const {facts} = shown, decays = shown.tables.training.weight_decay > 0;
  $("unbent").textContent = facts.landscape !== null ? refusal(facts.landscape) : decays ? "This is the risk itself, without weight decay." : "";
  $("bending").hidden = $("listing").hidden = facts.landscape !== null;
  if (facts.landscape !== null) return;
  wanted = [shown, shown.at];
  asked ??= follow().finally(() => { asked = null; });
}

async function follow() {
  // one request at a time, then the newest
  while (wanted) {
    const [mine, at] = wanted;
    wanted = null;
    $("hessian").classList.add("old");  // until the new one is here
    const answer = await fetch("/api/curvature", {method: "POST", body: JSON.stringify({state: mine.tables, at})}).catch(() => null);
    if (mine !== page.shown) continue;
    if (!answer?.ok) { $("bent").textContent = answer ? refusal((await answer.json()).problems[0]) : "The server does not answer."; continue; }
    show(await answer.json(), at);
  }
}

function show({inside, outside, room, near, unlisted}, at) {
  $("hessian").classList.remove("old");
  $("unlisted").textContent = unlisted ? refusal(unlisted) : near.length ? nearest(near[0]) : "";
  $("critical").hidden = near.length === 0;
  $("critical").tBodies[0].replaceChildren(...near.map(one => cells([critical(one), short(one.loss), short(one.risk), one.index.toLocaleString("en")])));
  const [context, width] = fit($("hessian"), 90), all = [...inside, ...outside];
  const low = Math.min(0, ...all), high = Math.max(0, ...all), where = value => 20 + (value - low) / (high - low || 1) * (width - 40);
  context.strokeStyle = context.fillStyle = colour("--quiet");
  line(context, 10, 60, width - 10, 60);
  line(context, where(0), 10, where(0), 66);
  context.font = "12px system-ui";
  for (const value of new Set([low, 0, high])) {
    if (value === 0 || Math.abs(where(value) - where(0)) > 50) context.fillText(short(value), Math.min(Math.max(where(value), 24), width - 24), 84);
  }
  for (const [values, name, top, bottom] of [[inside, "--one", 15, 34], [outside, "--two", 36, 58]]) {
    context.strokeStyle = colour(name);
    for (const value of values) line(context, where(value), top, where(value), bottom);
  }
  const times = room === null ? "infinitely many times" : `${room.toLocaleString("en")} times`, down = inside.filter(value => value < 0).length;
  $("bent").textContent = `Hessian at α = ${short(page.shown.arrays.time.values[at])}: ${inside.length} eigenvalues along the units (upper row, ${down} negative), ${outside.length} outside, each ${times} (lower row). Left of zero the risk bends down.`;
}
