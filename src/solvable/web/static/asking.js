// Requests to the server: the newest one wins.
import {problems} from "./controls.js";
import {$, page, settingsOf, tables} from "./store.js";
import {ending} from "./words.js";
import {draw} from "./drawing.js";

let busy = 0, saying = null;
const SOON = 300, LONG = 2000;  // milliseconds after which it is said that something is computed, and how far the compiler is

export function ask() {
  // one request at a time, then the newest: what is old by then is never asked; a busy server is asked again, for the newest
  page.latest++;
  page.asking ??= (async () => {
    try {
      for (let done = 0; done !== page.latest;) {
        done = page.latest;
        await askOnce(done);
        if (busy) { await pause(busy); done = 0; }
      }
    } finally { page.asking = null; }
  })();
  return page.asking;
}

async function askOnce(mine) {
  const asked = tables(), settings = settingsOf(), soon = setTimeout(() => say("Computing…"), SOON);
  const long = setInterval(async () => {
    const words = await compiling();
    if (words && waited) say(`Computing… A kind of problem that is new to this machine is compiled for it first: ${words}.`);
  }, LONG);
  let waited = true;
  busy = 0;
  const found = await answered("/api/curve", asked, async answer => unpack(await answer.arrayBuffer()), seconds => { busy = seconds; });
  waited = false;
  clearTimeout(soon);
  clearInterval(long);
  document.body.classList.toggle("stale", !found);
  if (!found) { say(busy ? "The server is busy; it is asked again in a moment." : "Not computed.", true); return; }
  page.shown = found;
  Object.assign(found, {tables: asked, settings});
  found.count = reached(found);
  problems([]);
  draw();
  const {success, compiling: far, cut_off} = found.facts;
  if (far) {
    say(`Curves are being compiled for this machine (${far}): until then they are drawn more slowly.`, true);
    if (cut_off) busy = 2;  // ask again: soon it will not be
    else setTimeout(() => { page.asking ?? ask(); }, 3000);
  } else say(ending(found.facts), !success);
  document.documentElement.dataset.drawn = mine;
}

async function compiling() {
  // how far the compiler is with what the server computes; "" where nothing is compiled
  const answer = await fetch("/api/compiling").catch(() => null);
  return answer?.ok ? (await answer.json()).compiling : "";
}

export const reached = found => Math.max(1, Array.from(found.arrays.risk.values).findLastIndex(Number.isFinite) + 1);

export const pause = seconds => new Promise(resolve => { setTimeout(resolve, 1000 * seconds); });

export async function answered(address, body, read, later = () => {}) {
  // what the server answers; nothing, with a line that says why, where it refuses or is gone; `later` hears in how many seconds to ask
  // again, where it is busy
  try {
    const answer = await fetch(address, {method: "POST", body: JSON.stringify(body)});
    if (answer.ok) return await read(answer);
    if (answer.status === 429) later(Number(answer.headers.get("Retry-After")) || 2);
    problems((await answer.json()).problems);
  } catch {
    problems(["the server does not answer; is `solvable explore` still running?"]);
  }
  return null;
}

export async function* lines(address, body, signal) {
  // lines of JSON as they come; a refusal is a line too
  const answer = await fetch(address, {method: "POST", body: JSON.stringify(body), signal});
  if (!answer.ok) { yield {...await answer.json(), refused: true}; return; }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop();
    for (const line of whole) yield JSON.parse(line);
  }
}

export function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size;
  const arrays = {};
  for (const [name, shape] of head.arrays) {
    const count = shape.reduce((a, b) => a * b, 1);
    arrays[name] = {shape, values: new Float32Array(buffer, at, count)};
    at += 4 * count;
  }
  return {facts: head.facts, arrays};
}

export function say(text, warning = false) {
  // seen at once, read aloud when it has settled
  $("status").textContent = text;
  $("status").classList.toggle("warning", warning);
  clearTimeout(saying);
  saying = setTimeout(() => { $("said").textContent = text; }, 700);
}
