// Curves that are kept beside the present one.
import {remember} from "./address.js";
import {answered, reached, unpack} from "./asking.js";
import {drawRisk} from "./risk.js";
import {page, tables} from "./store.js";
import {pace} from "./words.js";

const MOST = 5;
const known = new Map();  // by settings: what was computed before

export function keep() {
  const {shown} = page;
  if (!shown) return;
  const {settings} = shown, one = {settings, ...summary(shown)};  // those of the curve: a newer one may be refused or under way
  known.set(JSON.stringify(shown.tables), summary(shown));
  page.kept = [...page.kept.filter(other => JSON.stringify(other.settings) !== JSON.stringify(settings)), one].slice(-MOST);
  drawRisk();
  remember(`kept ${page.kept.length}`);
}

const summary = found => ({
  curve: {time: found.arrays.time.values.slice(0, reached(found)), risk: found.arrays.risk.values.slice(0, reached(found))},
  ...pace(found.facts),
});

export function drop(one) {
  page.kept = page.kept.filter(other => other !== one);
  drawRisk();
  remember("dropped");
}

export async function keepThese(list) {
  // settings of curves; those that are not known are computed
  const mine = page.kept = list.slice(-MOST).map(settings => ({settings, curve: null, half: null, left: null}));
  for (const one of mine) {
    const asked = tables(one.settings), name = JSON.stringify(asked);
    if (!known.has(name)) {
      const found = await answered("/api/curve", asked, async answer => unpack(await answer.arrayBuffer()));
      if (found) known.set(name, summary(found));
    }
    Object.assign(one, known.get(name));
  }
  if (page.kept === mine) drawRisk();
}
