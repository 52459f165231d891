// Taking away: links, texts, data, and the picture as it is on the screen.
import {answered, say} from "./asking.js";
import {writeNow} from "./address.js";
import {problems} from "./controls.js";
import {colour} from "./curves.js";
import {$, page, settingsOf, state, tables} from "./store.js";
import {between} from "./words.js";

export const TEXTS = ["link", "python", "toml", "command"];

export async function takeAs(kind) {
  problems([]);
  if (TEXTS.includes(kind)) await copyAs(kind);
  else if (kind === "png") save(await picture(), "solvable.png");
  else await download(kind);
}

async function copyAs(kind) {
  writeNow();
  const text = kind === "link" ? location.href : await taken(kind, answer => answer.text());
  if (text === null) return;
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied as ${kind}.`);
  } catch {  // no clipboard without a secure page: a file instead
    save(new Blob([text]), `solvable-${kind}.txt`);
  }
}

function taken(kind, read) {
  const view = {log_time: state["view.log_time"], log_risk: state["view.log_risk"], overlaps: state["view.overlaps"]};
  const {samples} = page;
  const runs = samples?.risk.length ? {time: samples.time, risk: samples.risk, seed: samples.seed, level: samples.level, data: samples.data} : null;
  const kept = page.kept.map(one => ({state: tables(one.settings), words: between(one.settings, settingsOf()) || "the same as now"}));
  return answered(`/api/export/${kind}`, {state: tables(), view, sgd: runs, kept}, read);
}

async function download(kind) {
  if (kind !== "sgd.csv") {
    const content = await taken(kind, answer => answer.blob());
    if (content !== null) save(content, `solvable.${kind}`);
    return;
  }
  const {samples} = page;
  if (!samples?.risk.length) { problems(["there are no simulated runs yet; press Run"]); return; }
  const names = ["time", ...samples.risk.map((_, i) => `risk_${i + 1}`), ...samples.training.map((_, i) => `training_loss_${i + 1}`)];
  const rows = samples.time.map((time, t) => [time, ...[...samples.risk, ...samples.training].map(row => row[t] ?? "nan")].join(","));
  save(new Blob([[names.join(","), ...rows, ""].join("\n")]), "solvable-runs.csv");
}

export function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// ---- the picture that is seen: plots with their legends, as on the screen

function picture() {
  const px = devicePixelRatio, edge = 12, shots = [["risk", "risk-legend"], ...state["view.tab"] === "overlaps" ? [["overlaps", "overlaps-legend"]] : []];
  const parts = shots.map(([plot, legend]) => [$(plot).querySelector("canvas"), $(legend)]).filter(([canvas]) => canvas);
  const width = Math.max(...parts.map(([canvas]) => canvas.width)) + 2 * edge * px;
  const sheet = document.createElement("canvas"), context = sheet.getContext("2d");
  const layout = parts.map(([canvas, legend]) => [canvas, rows(context, legend, width / px - 2 * edge)]);
  sheet.width = width;
  sheet.height = layout.reduce((sum, [canvas, lines]) => sum + canvas.height + (lines.length * 20 + 2 * edge) * px, 0);
  context.fillStyle = colour("--paper");
  context.fillRect(0, 0, sheet.width, sheet.height);
  let top = edge * px;
  for (const [canvas, lines] of layout) {
    context.drawImage(canvas, edge * px, top);
    top += canvas.height;
    context.save();
    context.scale(px, px);
    context.font = "13px system-ui";
    lines.forEach((line, i) => line.forEach(([text, stroke, dash, x]) => {
      const y = top / px + 14 + 20 * i;
      Object.assign(context, {strokeStyle: stroke, fillStyle: colour("--ink"), lineWidth: 3});
      context.setLineDash(dash);
      context.beginPath(); context.moveTo(edge + x, y - 4); context.lineTo(edge + x + 20, y - 4); context.stroke();
      context.fillText(text, edge + x + 26, y);
    }));
    context.restore();
    top += (lines.length * 20 + 2 * edge) * px;
  }
  return new Promise(resolve => { sheet.toBlob(resolve, "image/png"); });
}

function rows(context, legend, width) {
  // entries of a legend, broken into lines as wide as the picture
  context.font = "13px system-ui";
  const lines = [[]];
  let x = 0;
  for (const item of legend.children) {
    const text = item.querySelector("span").textContent, {stroke, dash} = item.dataset, wide = 26 + context.measureText(text).width + 18;
    if (x > 0 && x + wide > width) { lines.push([]); x = 0; }
    lines.at(-1).push([text, stroke, dash ? dash.split(",").map(Number) : [], x]);
    x += wide;
  }
  return lines;
}
