// Stories: paths of a few steps through the problems, with a sentence for each.
import {remember, writeAddress} from "./address.js";
import {ask} from "./asking.js";
import {fillAll, problems} from "./controls.js";
import {drawPanel, openTab} from "./drawing.js";
import {findBest} from "./schedule.js";
import {keepThese} from "./kept.js";
import {forget, simulate} from "./simulation.js";
import {$, page, settingsOf, state, withTables} from "./store.js";
import {stop} from "./time.js";

export const storyOf = name => page.stories.find(one => one.name === name);

export function showStory() {
  // the sentence of the present step
  const story = storyOf(state["story.name"]);
  $("story").hidden = !story;
  $("preset").value = story ? story.name : "";
  if (!story) return;
  const step = state["story.step"] = Math.min(Math.max(Math.trunc(state["story.step"]), 0), story.steps.length - 1);  // a link may say anything
  $("where").textContent = `${step + 1} of ${story.steps.length}${isChanged(story, step) ? ", changed" : ""}`;
  $("told").textContent = story.steps[step].say;
  $("before").disabled = step === 0;
  $("after").disabled = step === story.steps.length - 1;
}

function settingsAt(story, step) {
  // of a step: the problem of the story with all changes so far; and the curves that are kept on the way
  const settings = settingsOf(withTables(story.state)), kept = [];
  for (const one of story.steps.slice(0, step + 1)) {
    if (one.alone) kept.length = 0;
    if (one.keep) kept.push({...settings});
    Object.assign(settings, one.change ?? {});
  }
  return {settings, kept};
}

function isChanged(story, step) {
  const {settings} = settingsAt(story, step);
  return Object.entries(settings).some(([name, value]) => state[name] !== value);
}

export async function tell(name, step, isFirst = false) {
  // the state of a step
  const story = storyOf(name);
  if (!story) return;
  stop();
  forget();
  page.addressed = [];
  const {settings, kept} = settingsAt(story, step);
  Object.assign(state, settings, {"view.at": null});
  const {view = {}, simulate: wanted, best} = story.steps[step];
  Object.assign(state, {"view.log_time": false, "view.log_risk": true, "view.tab": "overlaps", "sgd.level": wanted?.level ?? "micro", "sgd.runs": wanted?.runs ?? 4, ...story.view, ...view, "story.name": name, "story.step": step});
  fillAll();
  showStory();
  openTab(state["view.tab"]);
  if (isFirst) writeAddress(); else remember(`story ${name} ${step}`);
  problems([]);
  const computed = ask(), mine = page.latest;
  await keepThese(kept);
  await computed;
  drawPanel();
  if (mine !== page.latest) return;
  if (wanted) await simulate(wanted.seed, false);
  if (best) await findBest();
}
