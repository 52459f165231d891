"use strict";
// The page holds no mathematics: it asks, draws, and remembers the state in its address.

const TEXTS = ["link", "python", "toml", "command"];
let shown = null, sgd = null, running = null, latest = 0, asking = null, addressed = [], saying = null, busy = 0;

// ---- asking: the latest request wins

function changed() {
  $("preset").value = "";
  idle();
  moved();
}

function moved() {
  forget();
  addressed = [];
  writeAddress();
  ask();
}

function ask() {
  // one request at a time, then the newest: what is old by then is never asked; a busy server is asked again, for the newest
  latest++;
  asking ??= (async () => {
    try {
      for (let done = 0; done !== latest;) {
        done = latest;
        await askOnce(done);
        if (busy) { await pause(busy); done = 0; }
      }
    } finally { asking = null; }
  })();
  return asking;
}

const WAITING = {  // after so many milliseconds
  300: "computing",
  4000: "computing; a kind of problem that is new to this machine is first compiled for it, which takes 10 to 30 seconds",
};

async function askOnce(mine) {
  const asked = tables(), slow = Object.entries(WAITING).map(([after, words]) => setTimeout(() => say(words), after));
  const found = await answered("/api/curve", asked, async answer => unpack(await answer.arrayBuffer()));
  slow.forEach(one => clearTimeout(one));
  document.body.classList.toggle("stale", !found);
  if (!found) { say(busy ? "the server is busy; it is asked again in a moment" : "not computed", true); return; }
  shown = found;
  shown.tables = asked;
  shown.count = Math.max(1, Array.from(found.arrays.risk.values).findLastIndex(Number.isFinite) + 1);  // outputs that were reached
  problems([]);
  draw();
  const {message, half_time, hash, success, compiling, cut_off} = found.facts;
  if (compiling) {
    say("curves are being compiled for this machine, which takes 10 to 30 seconds: until then they are drawn more slowly", true);
    if (cut_off) busy = 2;  // ask again: soon it will not be
    else setTimeout(() => { asking ?? ask(); }, 3000);
    document.documentElement.dataset.drawn = mine;
    return;
  }
  say(`${message}${half_time === null ? "" : ` · half the first risk at ${short(half_time)}`} · problem ${hash}`, !success);
  document.documentElement.dataset.drawn = mine;
}

const pause = seconds => new Promise(resolve => { setTimeout(resolve, 1000 * seconds); });

async function answered(address, body, read) {
  // what the server answers; nothing, with a line that says why, where it refuses or is gone; `busy`: in how many seconds to ask again
  busy = 0;
  try {
    const answer = await fetch(address, {method: "POST", body: JSON.stringify(body)});
    if (answer.ok) return await read(answer);
    if (answer.status === 429) busy = Number(answer.headers.get("Retry-After")) || 2;
    problems((await answer.json()).problems);
  } catch {
    problems(["the server does not answer; is `solvable explore` still running?"]);
  }
  return null;
}

function unpack(buffer) {
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

function problems(lines) {
  for (const name of Object.keys(SPECS)) $(name).toggleAttribute("aria-invalid", false);
  for (const line of lines) {
    const field = $(line.split(":")[0]);
    if (field && line.includes(":")) field.setAttribute("aria-invalid", "true");
  }
  $("problems").replaceChildren(...[...addressed, ...lines].map(line => Object.assign(document.createElement("li"), {textContent: line})));
}

function say(text, warning = false) {
  // seen at once, read aloud when it has settled
  $("status").textContent = text;
  $("status").classList.toggle("warning", warning);
  clearTimeout(saying);
  saying = setTimeout(() => { $("said").textContent = text; }, 700);
}

// ---- simulation, streaming in

async function simulate(seed) {
  forget();
  problems([]);
  running = new AbortController();
  const mine = running, runs = Number($("runs").value);
  $("simulate").disabled = true; $("cancel").disabled = false;
  say("SGD is being prepared");
  try {
    await asking;  // it begins where the curve begins
    if (mine !== running || document.body.classList.contains("stale")) return;
    sgd = {time: [0], risk: [], cross: [], seed};
    const body = JSON.stringify({state: shown.tables, runs, seed});
    const answer = await fetch("/api/simulate", {method: "POST", body, signal: mine.signal});
    if (!answer.ok) { problems((await answer.json()).problems); say("SGD was refused", true); return; }
    Object.assign(state, {"sgd.seed": seed, "sgd.runs": runs});
    writeAddress();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done || mine !== running) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) take(JSON.parse(line));
      drawRisk();
      drawOverlaps();
    }
    if (mine === running && $("progress").value > 0.999) say("SGD has finished. It began as the curve did; its noise, the larger the smaller the dimension, moves the time at which plateaus are left");
  } catch (error) {
    if (error.name !== "AbortError") problems(["the simulation was cut off"]);
  } finally {
    if (mine === running) { running = null; $("simulate").disabled = false; $("cancel").disabled = true; }
  }
}

function take(piece) {
  if ("compiling" in piece) {
    say(`SGD is being compiled for this machine, which takes 10 to 30 seconds: ${piece.compiling} s so far`);
    return;
  }
  if (piece.problems) {
    problems(piece.problems);
    say("SGD has ended early", true);
    if (!sgd.risk.length) { state["sgd.seed"] = null; writeAddress(); }
    return;
  }
  if (!sgd.risk.length) {
    sgd.risk = piece.risk.map(() => [shown.facts.start_risk]);
    sgd.cross = [Array.from(shown.arrays.cross.values.slice(0, piece.cross[0].length))];
    say("SGD is running");
  }
  sgd.time.push(...piece.time);
  sgd.cross.push(...piece.cross);
  piece.risk.forEach((row, i) => sgd.risk[i].push(...row));
  $("progress").value = sgd.time.at(-1) / state["run.until"];
}

function forget() {
  // the simulation of another problem
  cancel();
  sgd = null;
  state["sgd.seed"] = null;
  $("progress").value = 0;
}

function cancel() {
  running?.abort();
  running = null;
  $("simulate").disabled = false; $("cancel").disabled = true;
}

// ---- taking away

async function copyAs(kind) {
  writeNow();
  const text = kind === "link" ? location.href : await taken(kind, answer => answer.text());
  if (text === null) return;
  try {
    await navigator.clipboard.writeText(text);
    say(`copied as ${kind}`);
  } catch {  // no clipboard without a secure page: a file instead
    save(new Blob([text]), `solvable-${kind}.txt`);
  }
}

function taken(kind, read) {
  const view = {log_time: state["view.log_time"], log_risk: state["view.log_risk"], overlaps: state["view.overlaps"]};
  const runs = sgd?.risk.length ? {time: sgd.time, risk: sgd.risk, seed: sgd.seed} : null;
  return answered(`/api/export/${kind}`, {state: tables(), view, sgd: runs}, read);
}

async function download(kind) {
  if (kind !== "sgd.csv") {
    const content = await taken(kind, answer => answer.blob());
    if (content !== null) save(content, `solvable.${kind}`);
    return;
  }
  if (!sgd?.risk.length) { problems(["CSV of the SGD runs: there are none yet; press Run SGD"]); return; }
  const rows = sgd.time.map((time, t) => [time, ...sgd.risk.map(row => row[t] ?? "nan")].join(","));
  save(new Blob([[["time", ...sgd.risk.map((_, i) => `risk_${i + 1}`)].join(","), ...rows, ""].join("\n")]), "solvable-sgd.csv");
}

function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- beginning

async function show(fallback) {
  // the view of the address: its problem, and its simulation if it has one
  clearTimeout(unwritten);
  const {count, wrong} = readAddress(), seed = state["sgd.seed"];
  $("preset").value = count ? "" : fallback.name;
  if (!count) { adopt(fallback.state); writeAddress(); }
  fillAll();
  forget();
  addressed = wrong;
  const before = latest;
  await ask();
  if (seed !== null && latest === before + 1) await simulate(seed);
}

async function begin() {
  build();
  const presets = await (await fetch("/api/presets")).json();
  for (const one of presets) $("preset").append(new Option(`${one.name}: ${one.title}`, one.name));
  $("preset").addEventListener("change", () => {
    const one = presets.find(each => each.name === $("preset").value);
    if (one) { adopt(one.state); fillAll(); moved(); }
  });
  $("kind").addEventListener("change", () => { $("take").textContent = TEXTS.includes($("kind").value) ? "Copy" : "Download"; });
  $("take").addEventListener("click", () => { problems([]); (TEXTS.includes($("kind").value) ? copyAs : download)($("kind").value); });
  $("simulate").addEventListener("click", () => simulate(Math.floor(Math.random() * 1e9)));
  $("cancel").addEventListener("click", () => {
    cancel();
    state["sgd.seed"] = null;  // a link would show all of it
    writeAddress();
    say("SGD was cancelled");
  });
  $("controls").addEventListener("submit", event => event.preventDefault());
  const look = (id, name, read) => $(id).addEventListener("change", () => {
    state[name] = read($(id));
    writeAddress();
    drawRisk();
    drawOverlaps();
  });
  look("logx", "view.log_time", box => box.checked);
  look("logy", "view.log_risk", box => box.checked);
  look("which", "view.overlaps", select => select.value);
  $("values").addEventListener("toggle", () => { if (shown) drawNumbers(); });
  $("cursor").addEventListener("input", () => { if (shown) scrub(shown.arrays.time.values[Number($("cursor").value)]); });
  const anew = () => {
    for (const one of Object.values(plots)) one.made.destroy();
    plots = {};
    colours = {};
    if (shown) draw();
  };
  addEventListener("resize", () => { if (shown) draw(); });
  dark.addEventListener("change", anew);
  addEventListener("hashchange", () => show(presets[0]));
  await show(presets[0]);
}

begin();
