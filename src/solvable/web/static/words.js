// Numbers, differences, phases and the library's messages, in words for people.
import {called, LEVELS, ROWS} from "./fields.js";
import {idleFields} from "./store.js";

export const short = value => !Number.isFinite(value) ? "–" : Math.abs(value) >= 1e4 || (Math.abs(value) < 1e-3 && value !== 0) ? Number(value.toPrecision(3)).toExponential().replace("e+", "e") : String(Number(value.toPrecision(4)));
export const rough = value => short(Number(value.toPrecision(2)));  // as the outputs allow
export const brief = value => Number.isFinite(value) && value !== 0 && Math.abs(value) < 0.0095 ? value.toExponential(0) : Number.isFinite(value) ? value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0) : "–";
const COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
export const count = number => COUNTS[number] ?? String(number);
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
const upper = text => text.charAt(0).toUpperCase() + text.slice(1);
const told = value => typeof value === "number" ? short(value) : value === true ? "yes" : value === false ? "no" : String(value);

export const PHASES = {
  "norm learning": "The students first learn how long to be: their lengths settle, while none of them turns to a teacher.",
  approach: "The risk falls towards its first plateau: what all students can learn alike, they learn at once.",
  plateau: "The risk hardly falls: near a saddle the students pull on each other so evenly that none turns to a further teacher yet.",
  escape: "An overlap that grew unseen, by a fixed share of itself at a time, is now large: the risk falls to half of the plateau's height.",
  descent: "The students have turned to the teachers; what is left of the error shrinks, with nothing in its way.",
};

export function phaseWords(phases, i, last) {
  // an escape or a descent that the run does not see the end of is none
  const {name} = phases[i], before = phases.slice(0, i).findLast(one => one.name === "plateau");
  if (name === "escape" && i === phases.length - 1 && before && last > 0.5 * before.height) {
    return "The plateau has been left, but the risk does not fall to half of its height in this time.";
  }
  return PHASES[name] ?? "";
}

export const WORDS = {
  teacher: "The fixed network that labels the examples. Like the student it has one hidden layer of a few units.",
  student: "The network that learns from these examples, each of which it sees once.",
  risk: "How wrong the student is on inputs that it has not seen: the mean squared error, times the loss factor, without the noise on labels. It stays the squared error where another loss is trained on.",
  "α (alpha)": "Time: the number of samples seen so far, divided by the number of inputs (steps / dim).",
  overlap: "The scalar product of the weights of two units, divided by the input dimension. All overlaps together determine the risk, which is why a few numbers can stand for millions of weights.",
  "deterministic limit": "With many inputs the noise of single samples averages out, and the overlaps follow equations without chance. The blue curve solves them.",
  plateau: "A stretch of time in which the risk hardly falls. The students are near a saddle and have not turned to the teachers yet.",
  escape: "The end of a plateau: an overlap that grew unseen has become large, and the risk falls to half of the plateau's height.",
  saddle: "A point where the slope of the risk vanishes, but from which it falls in some directions and rises in others. Learning slows down near it. 'Two teachers learned' says that the students represent two of the teachers there; students that point elsewhere add error.",
  "critical point": "Any point where the slope of the risk vanishes: a minimum, a maximum or a saddle.",
  Hessian: "How the risk bends at a point: one eigenvalue for each direction, negative where the risk bends downwards, which are the ways out of a saddle.",
  SGD: "Stochastic gradient descent: one step for each fresh sample. The simulation has the exact law of training all weights in this dimension.",
  diffusion: "The equations with the noise that finitely many dimensions leave, in leaps over many samples: it costs the same for a thousand inputs and for a billion.",
  "finite data": "A data set that is seen again and again. The training loss may vanish while the risk stays: then the student has memorised and not understood.",
  "local exponent": "The slope of the curve on two logarithmic axes: -1 where the risk halves whenever the time doubles.",
};

export function between(before, after) {
  // what differs, as "learning rate 0.1 → 0.5"
  const idle = [idleFields(before), idleFields(after)];
  const changed = ROWS.map(row => row.name).filter(name => !name.startsWith("data.") && before[name] !== after[name] && !(idle[0].has(name) && idle[1].has(name)));
  const parts = changed.map(name => `${called(name)} ${told(before[name])} → ${told(after[name])}`);
  if (parts.length > 3) return `${parts.slice(0, 2).join(", ")} and ${count(parts.length - 2)} more`;
  return parts.join(", ");
}

export function pace({half_time, phases}) {
  // when half of the first risk is gone; and when the plateau is left, if that is lost before it begins
  const plateau = phases.findLast(one => one.name === "plateau");
  return {half: half_time, left: plateau && half_time !== null && half_time < plateau.from ? plateau.to : null};
}

export function faster({half: before, left: first}, {half: after, left: second}) {
  // by what one sees: the end of the plateau, or when half of the first risk is gone
  if (before === null && after === null) return "";
  if (first !== null && second !== null) return compared("the plateau left", first, second);
  if (after === null) return "half of the risk is not lost in this time any more";
  if (before === null) return `now half of the risk is gone at α = ${short(after)}`;
  return compared("half of the risk gone", before, after);
}

function compared(what, before, after) {
  const ratio = before / after;
  if (Math.abs(ratio - 1) < 0.02) return `${what} at the same time`;
  return `${what} ${short(Number((ratio > 1 ? ratio : 1 / ratio).toPrecision(2)))} times ${ratio > 1 ? "sooner" : "later"}`;
}

export function ending(facts, until) {
  // what became of the run
  const {message, half_time, cut_off} = facts;
  const half = half_time === null ? "Half of the first risk is not lost in this time." : `Half of the first risk is gone at α = ${short(half_time)}.`;
  if (message === "reached the end") return half;
  if (message.startsWith("reached the end; ")) return `${half} ${remark(message.slice(17))}`;
  if (message.startsWith("the state stopped moving")) return `${half} Then nothing moves any more, so the curve stays as it is.`;
  if (message.startsWith("the overlaps diverged")) return "The weights grow without bound: the learning rate is too large. Lower it, or raise the batch.";
  if (cut_off) return upper(`${message}.`);
  return upper(`${message}.`);
}

function remark(text) {
  const effective = text.match(/momentum beta = (\S+) is the effective rate (\S+)/), raised = text.match(/rtol \S+ was raised to (\S+),/);
  if (effective) return `With many inputs this momentum is a rate of ${short(Number(effective[2]))}.`;
  if (raised) return `The curve is accurate to a share of about ${short(Number(raised[1]))}: its averages have no closed form.`;
  return upper(`${text}.`);
}

const NAMES = {"training.samples": "data.samples", "training.step": "data.step", "training.selection": "data.selection"};

const UNNAMED = ["simulate", "diagram", "optimal"];  // what was asked for, not a field

function fieldOf(name) {
  // the field of a setting: of the same name, or the first within it
  return ROWS.find(row => row.name === name)?.name ?? ROWS.find(row => row.name.startsWith(`${name}.`))?.name ?? null;
}

export function mistake(line, level) {
  // a line of the library, "field: what was given, what is allowed", as [field or null, sentence]
  const cut = line.match(/^([a-z_.0-9]+): (.*)$/s);
  if (!cut) return [null, sentence(line)];
  let [, name, text] = cut;
  name = name.replace(/\.ratio$/, "");
  text = text.replace(/, or (a Schedule|Extra inputs are not permitted)/g, "").replaceAll("'", "");  // which no field here can hold
  if (level === "empirical") name = NAMES[name] ?? (name === "training.batch" ? "data.batch" : name);
  if (/^training\.rate_rule\.(offset|largest|norm)$/.test(name)) name = "training.rate_rule.number";
  if (UNNAMED.includes(name)) return [null, sentence(text)];
  const field = fieldOf(name), here = called(field ?? name);
  return [field, sentence(reworded(text, name === "runs" ? "number of runs" : here) ?? (field || name.includes(".") ? text : `${name}: ${text}`))];
}

function reworded(text, here) {
  // the library's patterns, as one would say them
  const is = text.match(/^is (.*?)(, as the teachers)?; this (.*?) is for (.*)$/);
  if (is) return `the ${is[3]} is for ${is[4]}; here the ${here} is ${is[1]}`;
  const unknown = text.match(/^is .*; this (.*?) does not know this setting$/);
  if (unknown) return `the ${unknown[1]} does not know the setting "${here}"`;
  const together = text.match(/^(.*?) ?given together with (.*)$/);
  if (together) return `${together[1] || `the ${here}`} cannot go together with ${together[2]}`;
  const both = text.match(/^(\S+) given for both axes/);
  if (both) return `${called(both[1])} is on both axes: choose two settings`;
  const given = text.match(/^(.*?) given, must be (.*)$/);
  if (given) return here === "number of runs" ? `the number of runs cannot be ${given[1]}: it must be ${given[2]}` : `${given[1]} does not work here: it must be ${given[2]}`;
  return null;
}

export const sentence = text => upper(text.endsWith(".") ? text : `${text}.`);
export const refusal = line => mistake(line)[1];

export function critical(one) {
  // a critical point, in few words
  const learned = `${plural(one.inside, "teacher")} learned`;
  return `${one.kind}: ${learned}${one.outside ? `, ${plural(one.outside, "direction")} outside` : ""}`;
}

function described(one) {
  const learned = one.inside === 0 ? "no teacher is learned" : `${plural(one.inside, "teacher")} ${one.inside === 1 ? "is" : "are"} learned`;
  const astray = one.outside === 0 ? "" : `, ${plural(one.outside, "direction")} outside the teachers' span ${one.outside === 1 ? "is" : "are"} left`;
  return `${one.kind}: ${learned}${astray}`;
}

export function nearest(one) {
  const ways = one.index === 0 ? "there is no way down from it" : `${one.index === 1 ? "one direction leads" : `${one.index.toLocaleString("en")} directions lead`} down from it`;
  return `The nearest critical point is a ${described(one)}; ${ways}.`;
}

export const levelName = level => LEVELS[level];
