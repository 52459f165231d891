// The page holds no mathematics: it asks, draws, and remembers the state in its address.
import {arrived, forgetUnwritten, readAddress, redo, remember, settle, undo, writeAddress} from "./address.js";
import {ask} from "./asking.js";
import {build, fillAll, idle, problems} from "./controls.js";
import {dark, forgetPlots} from "./curves.js";
import {cancelDiagram, prepareDiagram} from "./diagram.js";
import {draw, openTab} from "./drawing.js";
import {DEFAULTS, TABS} from "./fields.js";
import {keep, keepThese} from "./kept.js";
import {drawOverlaps} from "./overlaps.js";
import {drawRisk} from "./risk.js";
import {findBest} from "./schedule.js";
import {cancelled, forget, simulate} from "./simulation.js";
import {$, page, settingsOf, state} from "./store.js";
import {showStory, tell} from "./stories.js";
import {writeWords} from "./tables.js";
import {takeAs, TEXTS} from "./taking.js";
import {play, scrub, stop} from "./time.js";

page.changed = name => {
  // a setting was moved: of the data set, which the curve does not see, or of the problem
  stop();
  idle();
  page.addressed = [];
  forget();
  showStory();
  remember(name);
  if (name.startsWith("data.")) { problems([]); drawRisk(); drawOverlaps(); return; }
  if (!name.startsWith("diagram ")) cancelDiagram();
  ask();
};

async function show() {
  // the view of the address: its problem, kept curves, and its simulation if it has one
  forgetUnwritten();
  stop();
  const {count, wrong, kept} = readAddress(), seed = state["sgd.seed"];
  page.addressed = wrong.map(line => `${line}.`);
  if (!count) { await tell(page.stories[0].name, 0, true); return; }
  forget();
  fillAll();
  showStory();
  openTab(state["view.tab"]);
  const computed = ask(), mine = page.latest;
  await keepThese(kept);
  await computed;
  if (seed !== null && page.latest === mine) await simulate(seed, false);
}

function look(id, name, read) {
  $(id).addEventListener("change", () => {
    state[name] = read($(id));
    remember(name);
    drawRisk();
    drawOverlaps();
  });
}

function listen() {
  $("preset").addEventListener("change", () => {
    if ($("preset").value) tell($("preset").value, 0);
    else { state["story.name"] = ""; state["story.step"] = 0; showStory(); remember("story"); }
  });
  $("before").addEventListener("click", () => tell(state["story.name"], state["story.step"] - 1));
  $("after").addEventListener("click", () => tell(state["story.name"], state["story.step"] + 1));
  $("undo").addEventListener("click", undo);
  $("redo").addEventListener("click", redo);
  $("reset").addEventListener("click", reset);
  $("keep").addEventListener("click", keep);
  $("play").addEventListener("click", play);
  $("best").addEventListener("click", findBest);
  $("kind").addEventListener("change", () => { $("take").textContent = TEXTS.includes($("kind").value) ? "Copy" : "Download"; });
  $("take").addEventListener("click", () => takeAs($("kind").value));
  $("simulate").addEventListener("click", () => simulate(Math.floor(Math.random() * 1e9)));
  $("cancel").addEventListener("click", cancelled);
  $("level").addEventListener("change", () => {
    state["sgd.level"] = $("level").value;
    forget();
    idle();
    if (innerWidth > 760) $("group:Data set").scrollIntoView({block: "nearest"});
    remember("sgd.level");
    drawRisk();
    drawOverlaps();
  });
  $("controls").addEventListener("submit", event => event.preventDefault());
  look("logx", "view.log_time", box => box.checked);
  look("logy", "view.log_risk", box => box.checked);
  look("which", "view.overlaps", select => select.value);
  $("cursor").addEventListener("input", () => { stop(); if (page.shown) scrub(page.shown.arrays.time.values[Number($("cursor").value)]); });
  document.addEventListener("keydown", keys);
  addEventListener("hashchange", () => { arrived(); show(); });
  const anew = () => { forgetPlots(); draw(); };
  new ResizeObserver(() => { draw(); }).observe($("stage"));
  addEventListener("resize", () => draw());
  dark.addEventListener("change", anew);
}

function keys(event) {
  const typing = /^(INPUT|TEXTAREA)$/.test(event.target.tagName) && !["range", "checkbox"].includes(event.target.type);
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  event.shiftKey ? redo() : undo();
}

function reset() {
  // the beginning of the story, or the first curve
  page.kept = [];
  if (state["story.name"]) { tell(state["story.name"], 0); return; }
  Object.assign(state, settingsOf(DEFAULTS), {"view.at": null});
  fillAll();
  page.changed("reset");
}

function tabs() {
  const all = Array.from(document.querySelectorAll("[role=tab]"));
  all.forEach((tab, i) => {
    tab.addEventListener("click", () => { openTab(tab.dataset.tab); writeAddress(); });
    tab.addEventListener("keydown", event => {
      const way = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!way) return;
      const next = all[(i + way + TABS.length) % TABS.length];
      next.focus();
      next.click();
    });
  });
}

async function begin() {
  build();
  prepareDiagram();
  writeWords();
  tabs();
  page.stories = await (await fetch("/api/presets")).json();
  for (const one of page.stories) $("preset").append(new Option(one.title, one.name));
  listen();
  settle();
  await show();
}

begin();
