"use strict";
// Whatever goes wrong is left where a test, or a curious reader, can see it.
const root = document.documentElement;
window.addEventListener("error", (event) => { root.dataset.error = String(event.message); });
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

// ---- Light and dark.
try {
  const remembered = localStorage.getItem("theme");
  if (remembered === "light" || remembered === "dark") root.dataset.theme = remembered;
} catch { /* a page from disk may not */ }
$("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* as above */ }
  colours = null;
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = null; redraw(); });
let colours = null;
function colour(name) {
  if (!colours) colours = { all: getComputedStyle(root), known: {} };
  return colours.known[name] ||= colours.all.getPropertyValue("--" + name).trim();
}

// ---- Places in metres east and south of the middle, which is near enough for anything a walk covers.
const METRES = 0.0111195;
const narrow = Math.max(0.01, Math.cos((data.origin[0] / 1e7) * Math.PI / 180));
const flat = (x, y) => [x * METRES * narrow, -y * METRES];
const streets = data.streets.map((steps) => {
  const line = new Float64Array(steps.length);
  let x = 0, y = 0;
  for (let at = 0; at < steps.length; at += 2) {
    x += steps[at]; y += steps[at + 1];
    [line[at], line[at + 1]] = flat(x, y);
  }
  return line;
});
// A state that is off the map has no place.
const states = data.states.map(([x, y, street, label, name]) => {
  const [px, py] = x === null ? [null, null] : flat(x, y);
  return { x: px, y: py, off: x === null, street, label, name };
});
const title = (state) => state.name || state.label;

/** The line of a state in the direction of travel, or null. */
function lineOf(state) {
  if (state.street === 0) return null;
  if (state.line) return state.line;
  const line = streets[Math.abs(state.street) - 1];
  const points = [];
  for (let at = 0; at < line.length; at += 2) points.push([line[at], line[at + 1]]);
  if (state.street < 0) points.reverse();
  return (state.line = points);
}
const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
/** The middle of a state's line, and the number of the first point after it. */
function middleOf(state) {
  if (state.middle) return state.middle;
  const line = lineOf(state);
  if (!line) return (state.middle = { at: [state.x, state.y], next: 0 });
  let total = 0;
  for (let k = 1; k < line.length; k++) total += apart(line[k - 1], line[k]);
  let gone = 0;
  for (let k = 1; k < line.length; k++) {
    const piece = apart(line[k - 1], line[k]);
    if (piece > 0 && gone + piece >= total / 2) {
      const share = (total / 2 - gone) / piece;
      const [a, b] = [line[k - 1], line[k]];
      return (state.middle = { at: [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share], next: k });
    }
    gone += piece;
  }
  return (state.middle = { at: line[0], next: 1 });
}
/**
 * The points that a walk comes through, each with its step, and whether the walk was off the map before it. `over` says
 * which streets lie between one step and the next.
 */
function wayOf(numbers, over) {
  const way = [], between = new Map((over || []).map(([step, ...streets]) => [step, streets]));
  let from = null;
  numbers.forEach((number, step) => {
    const to = states[number];
    if (to.off) { from = null; return; }
    const stop = middleOf(to);
    if (from) {
      const start = middleOf(from), one = lineOf(from), other = lineOf(to);
      let points = [];
      if (from !== to && one && other && (between.has(step) || apart(one[one.length - 1], other[0]) < 0.02)) {
        points = one.slice(start.next);
        for (const street of between.get(step) || []) points = points.concat(lineOf(states[street]).slice(1));
        points = points.concat(other.slice(1, stop.next));
      }
      let total = 0, last = start.at;
      for (const point of [...points, stop.at]) { total += apart(last, point); last = point; }
      let gone = 0;
      last = start.at;
      for (const point of points) {
        gone += apart(last, point);
        last = point;
        way.push([point[0], point[1], step - 1 + (total > 0 ? gone / total : 0.5), false]);
      }
    }
    way.push([stop.at[0], stop.at[1], step, !from]);
    from = to;
  });
  return way;
}

// ---- Kinds of walks, from below to above. Each has a colour, a width and a pattern of its own.
const KINDS = [
  { key: "real", word: "real", width: 12, alpha: 0.35, dash: [], mark: "square", size: 8 },
  { key: "released", word: "released", width: 5, alpha: 1, dash: [], mark: "circle", size: 8 },
  { key: "refined", word: "refined", width: 3, alpha: 1, dash: [9, 7], mark: "diamond", size: 5 },
  { key: "observed", word: "observed", width: 1.6, alpha: 1, dash: [], mark: "ring", size: 6 },
].filter((kind) => data.walks.some((walk) => walk[kind.key]));
const shown = Object.fromEntries(KINDS.map((kind) => [kind.key, kind.key !== "observed"]));
const walks = data.walks.map((walk) => ({ ...walk, ways: {} }));
for (const walk of walks) walk.steps = Math.max(1, ...KINDS.map((kind) => (walk[kind.key] || []).length));
function way(walk, key) { return (walk.ways[key] ||= wayOf(walk[key] || [], walk[key + "Over"])); }

// ---- How often places are visited: in classes, each half of the one before.
const CLASSES = 6;
let heat = null;
if (data.heat) {
  const byPlace = new Map();
  for (const [number, share, low, high] of data.heat) {
    const state = states[number];
    Object.assign(state, { share, low, high });
    if (state.off) continue;
    const key = state.street === 0 ? `s${number}` : Math.abs(state.street);
    const place = byPlace.get(key) || { share: 0, state };
    place.share += share;
    byPlace.set(key, place);
  }
  const places = [...byPlace.values()].sort((a, b) => a.share - b.share);
  const most = places[places.length - 1].share;
  const classOf = (share) => Math.max(0, CLASSES - 1 - Math.floor(Math.log2(most / share) + 1e-9));
  heat = { most, classes: Array.from({ length: CLASSES }, () => ({ path: new Path2D(), dots: [] })) };
  for (const place of places) {
    const into = heat.classes[classOf(place.share)];
    if (place.state.street === 0) into.dots.push(place.state);
    else trace(into.path, streets[Math.abs(place.state.street) - 1]);
  }
  shown.heat = true;
}
const network = new Path2D();
for (const line of streets) trace(network, line);
function trace(path, line) {
  path.moveTo(line[0], line[1]);
  for (let at = 2; at < line.length; at += 2) path.lineTo(line[at], line[at + 1]);
}

// ---- What is looked at.
const canvas = $("map"), pen = canvas.getContext("2d");
const view = { x: 0, y: 0, scale: 1 };
let wide = 1, high = 1, dots = 1;
function box(points) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  return left <= right ? { left, top, right, bottom } : null;
}
function* everything() {
  for (const line of streets) for (let at = 0; at < line.length; at += 2) yield [line[at], line[at + 1]];
  for (const state of states) if (!state.off) yield [state.x, state.y];
}
function* walked(some) {
  for (const walk of some) for (const kind of KINDS) if (shown[kind.key]) yield* way(walk, kind.key);
}
function fit(bounds) {
  if (!bounds) return;
  const across = Math.max(bounds.right - bounds.left, 120), along = Math.max(bounds.bottom - bounds.top, 120);
  view.scale = Math.min((wide - 70) / across, (high - 70) / along);
  view.x = (bounds.left + bounds.right) / 2;
  view.y = (bounds.top + bounds.bottom) / 2;
  clampView();
  redraw();
}
const whole = box(everything());
const widest = whole ? Math.max(whole.right - whole.left, whole.bottom - whole.top, 200) : 200;
function clampView() {
  view.scale = Math.min(Math.max(view.scale, 0.2 * Math.min(wide, high) / widest), 20);
  if (whole) {
    view.x = Math.min(Math.max(view.x, whole.left), whole.right);
    view.y = Math.min(Math.max(view.y, whole.top), whole.bottom);
  }
}
function zoom(factor, atX = wide / 2, atY = high / 2) {
  const [x, y] = [view.x + (atX - wide / 2) / view.scale, view.y + (atY - high / 2) / view.scale];
  view.scale *= factor;
  clampView();
  view.x = x - (atX - wide / 2) / view.scale;
  view.y = y - (atY - high / 2) / view.scale;
  clampView();
  redraw();
}
function pan(dx, dy) {
  view.x -= dx / view.scale;
  view.y -= dy / view.scale;
  clampView();
  redraw();
}

// ---- Drawing.
let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}
let chosen = walks.length === 1 ? 0 : -1, now = 0, last = 0;
const some = () => (chosen < 0 ? walks : [walks[chosen]]);
function onMap() {
  const scale = view.scale * dots;
  pen.setTransform(scale, 0, 0, scale, (wide / 2) * dots - view.x * scale, (high / 2) * dots - view.y * scale);
}
function onScreen() { pen.setTransform(dots, 0, 0, dots, 0, 0); }
const screen = (x, y) => [(x - view.x) * view.scale + wide / 2, (y - view.y) * view.scale + high / 2];

function draw() {
  onScreen();
  pen.globalAlpha = 1;
  pen.fillStyle = colour("land");
  pen.fillRect(0, 0, wide, high);
  onMap();
  pen.lineJoin = pen.lineCap = "round";
  pen.setLineDash([]);
  pen.strokeStyle = colour("street");
  pen.lineWidth = Math.min(Math.max(9 * view.scale, 1), 4) / view.scale;
  pen.stroke(network);
  if (heat && shown.heat) drawHeat();
  for (const kind of KINDS) {
    if (!shown[kind.key]) continue;
    for (const walk of some()) drawWalk(walk, kind);
  }
  onScreen();
  for (const kind of KINDS) {
    if (!shown[kind.key]) continue;
    for (const walk of some()) drawMark(walk, kind);
  }
  drawScale();
}
const heatWidth = (k) => 2 + 1.2 * k;
function drawHeat() {
  // Beside one walk it stays in the background.
  pen.globalAlpha = chosen < 0 || walks.length === 0 ? 1 : 0.55;
  heat.classes.forEach(({ path, dots: places }, k) => {
    pen.strokeStyle = pen.fillStyle = colour("heat" + k);
    pen.lineWidth = heatWidth(k) / view.scale;
    pen.stroke(path);
    for (const state of places) {
      pen.beginPath();
      pen.arc(state.x, state.y, (1.5 + 0.8 * heatWidth(k)) / view.scale, 0, 7);
      pen.fill();
    }
  });
  pen.globalAlpha = 1;
}
/** Where a walk is at a time, and how many points of its way it has passed. */
function placeAt(points, time) {
  let low = 0, up = points.length - 1;
  while (low < up) {
    const middle = (low + up + 1) >> 1;
    if (points[middle][2] <= time) low = middle; else up = middle - 1;
  }
  const here = points[low], next = points[low + 1];
  // Off the map: before the first point, after the last, and between two parts.
  const off = time < here[2] || (time > here[2] && (!next || next[3]));
  if (!next || next[3] || next[2] <= here[2]) return { x: here[0], y: here[1], passed: low, off };
  const share = Math.min(Math.max((time - here[2]) / (next[2] - here[2]), 0), 1);
  return { x: here[0] + (next[0] - here[0]) * share, y: here[1] + (next[1] - here[1]) * share, passed: low, off };
}
function drawWalk(walk, kind) {
  const points = way(walk, kind.key);
  if (points.length === 0) return;
  const crowd = chosen < 0 && walks.length > 1;
  pen.strokeStyle = colour(kind.key);
  if (kind.key === "observed") {
    // A ring for each observation up to now: noise has no way between one and the next.
    pen.lineWidth = kind.width / view.scale;
    pen.globalAlpha = crowd ? 0.5 : 1;
    for (const [x, y, step] of points) {
      if (step > now) break;
      pen.beginPath();
      pen.arc(x, y, 5 / view.scale, 0, 7);
      pen.stroke();
    }
    pen.globalAlpha = 1;
    return;
  }
  pen.lineWidth = kind.width * (crowd ? 0.6 : 1) / view.scale;
  pen.setLineDash(kind.dash.map((part) => part / view.scale));
  const here = placeAt(points, now);
  if (now < points[0][2]) here.passed = -1;
  // What is still to come is faint, what is behind is strong.
  if (now < last) {
    pen.globalAlpha = kind.alpha * 0.22;
    stroke(points.slice(Math.max(here.passed, 0)), [here.x, here.y]);
  }
  if (here.passed < 0) {
    pen.globalAlpha = 1;
    pen.setLineDash([]);
    return;
  }
  const behind = points.slice(0, here.passed + 1), end = [here.x, here.y];
  if (kind.alpha === 1 && kind.dash.length === 0) {
    // An edge that sets it off from streets and from what else is below.
    pen.strokeStyle = colour("land");
    pen.lineWidth += (crowd ? 1.5 : 3) / view.scale;
    pen.globalAlpha = crowd ? 0.6 : 0.85;
    stroke(behind, null, end);
    pen.lineWidth -= (crowd ? 1.5 : 3) / view.scale;
    pen.strokeStyle = colour(kind.key);
  }
  pen.globalAlpha = kind.alpha * (crowd ? 0.8 : 1);
  stroke(behind, null, end);
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}
function stroke(points, before, after) {
  pen.beginPath();
  const all = [...(before ? [before] : []), ...(before ? points.slice(1) : points), ...(after ? [after] : [])];
  all.forEach(([x, y, , gap], k) => (k === 0 || gap ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  pen.stroke();
}
function drawMark(walk, kind) {
  const points = way(walk, kind.key);
  if (points.length === 0) return;
  const crowd = chosen < 0 && walks.length > 1;
  const spot = placeAt(points, kind.key === "observed" ? Math.floor(now) : Math.min(now, walk[kind.key].length - 1));
  if (spot.off) return;
  const [x, y] = screen(spot.x, spot.y);
  mark(pen, kind, x, y, kind.size * (crowd ? 0.6 : 1));
}
/** A shape for each kind, so that colour is not all that tells them apart. */
function mark(to, kind, x, y, size) {
  to.beginPath();
  if (kind.mark === "square") to.rect(x - size, y - size, 2 * size, 2 * size);
  else if (kind.mark === "diamond") {
    const far = size * 1.35;
    to.moveTo(x, y - far); to.lineTo(x + far, y); to.lineTo(x, y + far); to.lineTo(x - far, y); to.closePath();
  } else to.arc(x, y, size, 0, 7);
  to.fillStyle = kind.mark === "ring" ? colour("paper") : colour(kind.key);
  to.strokeStyle = kind.mark === "ring" ? colour(kind.key) : colour("paper");
  to.lineWidth = kind.mark === "ring" ? 2.5 : 2;
  to.fill();
  to.stroke();
}
function drawScale() {
  const most = 130 / view.scale, unit = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].map((k) => k * unit).find((metres) => metres <= most) || unit;
  const bar = $("scale").firstElementChild;
  bar.style.width = `${length * view.scale}px`;
  bar.textContent = length >= 1000 ? `${length / 1000} km` : `${length} m`;
}

// ---- Choosing and playing.
const two = (number) => String(number).padStart(2, "0");
let clock = null;
try {
  clock = new Intl.DateTimeFormat("en-GB", {
    timeZone: data.zone || "UTC", year: "numeric", month: "short", day: "numeric",
    hour: "2-digit", minute: "2-digit",
    ...(data.walks.some((walk) => walk.every % 60000 || walk.first % 60000) ? { second: "2-digit" } : {}),
  });
} catch { /* a zone that this browser does not know: UTC below */ }
function timeOf(walk, step) {
  const moment = new Date(walk.first + walk.every * step);
  const text = clock ? clock.format(moment)
    : `${moment.getUTCFullYear()}-${two(moment.getUTCMonth() + 1)}-${two(moment.getUTCDate())} ` +
      `${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}:${two(moment.getUTCSeconds())}`;
  return text + (clock && data.zone ? "" : " UTC");
}
const metres = (length) => (length >= 995 ? `${(length / 1000).toFixed(length < 9950 ? 1 : 0)} km` : `${Math.round(length)} m`);
function tell() {
  const step = Math.floor(now + 1e-9), walk = chosen < 0 ? null : walks[chosen];
  $("step").value = String(step);
  let text = walks.length === 0 ? "No walks are on this page." : `Step ${step + 1} of ${last + 1}`;
  const dated = walk || (walks.length > 0 && walks.every((w) => w.first === walks[0].first) ? walks[0] : null);
  if (dated && dated.first !== undefined) text += `, ${timeOf(dated, step)}`;
  if ($("now").textContent !== text) $("now").textContent = text;
  $("step").setAttribute("aria-valuetext", text);
  const list = [];
  if (walk) {
    const at = (key) => { const path = walk[key]; return path && path.length > 0 ? states[path[Math.min(step, path.length - 1)]] : null; };
    const real = at("real");
    for (const kind of KINDS) {
      const state = at(kind.key);
      if (!state) continue;
      const off = real && kind.key !== "real" && !real.off && !state.off ? `, ${metres(apart([state.x, state.y], [real.x, real.y]))} from the real place` : "";
      list.push([kind.word, title(state) + off]);
    }
  }
  $("places").replaceChildren(...list.flatMap(([word, place]) => {
    const [term, what] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = word;
    what.textContent = place;
    return [term, what];
  }));
}
function goTo(time) {
  now = Math.min(Math.max(time, 0), last);
  tell();
  redraw();
}
function choose(number) {
  stop();
  chosen = number;
  $("walk").value = String(number);
  last = Math.max(0, ...some().map((walk) => walk.steps - 1));
  $("step").max = String(last);
  goTo(last);
}
let playing = 0, before = 0;
function play() {
  if (playing) return stop();
  if (now >= last) now = 0;
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-pressed", "true");
  before = performance.now();
  playing = requestAnimationFrame(frame);
}
function stop() {
  if (playing) cancelAnimationFrame(playing);
  playing = 0;
  $("play").textContent = "Play";
  $("play").setAttribute("aria-pressed", "false");
}
const still = matchMedia("(prefers-reduced-motion: reduce)");
let moved = 0;
function frame(time) {
  moved = Math.min(now + ((time - before) / 1000) * Number($("speed").value), last);
  // Where motion is not wanted, a walk jumps from step to step.
  if (!still.matches || Math.floor(moved) > now || moved >= last) {
    goTo(still.matches ? Math.floor(moved) : moved);
    before = time;
  }
  if (now >= last) return stop();
  playing = requestAnimationFrame(frame);
}
function option(value, text) {
  const one = document.createElement("option");
  one.value = String(value);
  one.textContent = text;
  return one;
}
if (walks.length > 1) $("walk").append(option(-1, `all ${walks.length}`));
walks.forEach((walk, k) => $("walk").append(option(k, walk.name)));
$("choose").hidden = walks.length < 2;
$("player").hidden = walks.length === 0;
const lookAt = (number) => { choose(number); fit(box(walked(some())) || whole); };
const turn = (by) => {
  const least = walks.length > 1 ? -1 : 0, count = walks.length - least;
  if (count > 0) lookAt(((chosen - least + by + count) % count) + least);
};
$("walk").addEventListener("change", () => lookAt(Number($("walk").value)));
$("before").addEventListener("click", () => turn(-1));
$("next").addEventListener("click", () => turn(1));
$("play").addEventListener("click", play);
$("step").addEventListener("input", () => { stop(); goTo(Number($("step").value)); });
$("closer").addEventListener("click", () => zoom(1.6));
$("farther").addEventListener("click", () => zoom(1 / 1.6));
$("fit").addEventListener("click", () => fit(whole));

// ---- What is shown, with what it looks like.
const SVG = "http://www.w3.org/2000/svg";
function sample(kind) {
  const picture = document.createElementNS(SVG, "svg");
  const set = (node, pairs) => { for (const [key, value] of Object.entries(pairs)) node.setAttribute(key, value); return node; };
  set(picture, { width: 46, height: 22, "aria-hidden": "true" });
  const add = (tag, pairs) => picture.append(set(document.createElementNS(SVG, tag), pairs));
  const paint = `var(--${kind.key})`;
  if (kind.key === "heat") {
    [0, 2, 5].forEach((k) => add("path", { d: `M${3 + 14 * [0, 2, 5].indexOf(k)} 11h12`, stroke: `var(--heat${k})`, "stroke-width": heatWidth(k) }));
    return picture;
  }
  if (kind.mark !== "ring") {
    add("path", { d: "M3 11H43", stroke: paint, "stroke-width": kind.width, "stroke-opacity": kind.alpha, "stroke-dasharray": kind.dash.join(" "), fill: "none" });
  }
  const shape = { fill: kind.mark === "ring" ? "var(--paper)" : paint, stroke: kind.mark === "ring" ? paint : "var(--paper)", "stroke-width": 2 };
  if (kind.mark === "square") add("rect", { x: 17, y: 5, width: 12, height: 12, ...shape });
  else if (kind.mark === "diamond") add("path", { d: "M23 2.5l8.5 8.5l-8.5 8.5l-8.5 -8.5z", ...shape });
  else add("circle", { cx: 23, cy: 11, r: 6, ...shape });
  return picture;
}
const percent = (share) => {
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value >= 0.095 ? value.toFixed(2) : value.toPrecision(1)} %`;
};
const layers = [...KINDS.map((kind) => [kind, {
  real: "real walks: not protected", released: "released", refined: "refined: inferred from the release", observed: "observed: the noise it was made of",
}[kind.key]])];
if (heat) layers.push([{ key: "heat", dash: [] }, "estimated visits"]);
for (const [kind, text] of layers) {
  const label = document.createElement("label"), tick = document.createElement("input");
  tick.type = "checkbox";
  tick.checked = shown[kind.key];
  tick.dataset.layer = kind.key;
  tick.addEventListener("change", () => {
    shown[kind.key] = tick.checked;
    if (kind.key === "heat") $("legend").hidden = !tick.checked;
    tell();
    redraw();
  });
  label.append(tick, sample(kind), text);
  $("layers").append(label);
}
$("layers").hidden = layers.length === 0;
if (heat) {
  const head = document.createElement("h2"), list = document.createElement("ul"), note = document.createElement("small");
  head.textContent = "Share of all visits, estimated";
  for (let k = CLASSES - 1; k >= 0; k--) {
    const item = document.createElement("li"), picture = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "path");
    picture.setAttribute("width", "40"); picture.setAttribute("height", "14"); picture.setAttribute("aria-hidden", "true");
    line.setAttribute("d", "M4 7H36"); line.setAttribute("stroke-linecap", "round");
    line.setAttribute("stroke", `var(--heat${k})`); line.setAttribute("stroke-width", String(heatWidth(k)));
    picture.append(line);
    const below = heat.most / 2 ** (CLASSES - k);
    item.append(picture, k === 0 ? `up to ${percent(heat.most / 2 ** (CLASSES - 1))}` : `${percent(below)} to ${percent(below * 2)}`);
    list.append(item);
  }
  note.textContent = (states.some((state) => state.street < 0) ? "Both directions of a street together. " : "") +
    "Places below a five-hundredth of the most visited are left out.";
  $("legend").append(head, list, note);
  $("legend").hidden = false;
}
$("credit").textContent = data.attribution || "";

// ---- Mouse, touch and keys.
const fingers = new Map();
let pinch = null, tapped = { time: 0, x: 0, y: 0 };
const inside = (event) => { const frame = canvas.getBoundingClientRect(); return [event.clientX - frame.left, event.clientY - frame.top]; };
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, inside(event));
  pinch = null;
  $("tip").hidden = true;
  const [x, y] = inside(event);
  const again = event.timeStamp - tapped.time < 350 && Math.hypot(x - tapped.x, y - tapped.y) < 25;
  if (again && fingers.size === 1) { zoom(2, x, y); tapped = { time: 0, x, y }; }
  else tapped = { time: event.timeStamp, x, y };
});
canvas.addEventListener("pointermove", (event) => {
  const spot = inside(event);
  if (!fingers.has(event.pointerId)) return hint(spot);
  const from = fingers.get(event.pointerId);
  fingers.set(event.pointerId, spot);
  if (fingers.size === 1) return pan(spot[0] - from[0], spot[1] - from[1]);
  const [a, b] = [...fingers.values()];
  const next = { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2, far: Math.max(apart(a, b), 10) };
  if (pinch) {
    pan(next.x - pinch.x, next.y - pinch.y);
    zoom(next.far / pinch.far, next.x, next.y);
  }
  pinch = next;
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, (event) => {
    fingers.delete(event.pointerId);
    pinch = null;
    const [x, y] = inside(event);
    // A finger has no way to hover: a tap tells what is there.
    if (end === "pointerup" && event.pointerType !== "mouse" && Math.hypot(x - tapped.x, y - tapped.y) < 8) hint([x, y]);
  });
}
canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 30 : 1;
  zoom(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) / 320), ...inside(event));
}, { passive: false });
const KEYS = {
  ArrowLeft: () => pan(80, 0), ArrowRight: () => pan(-80, 0), ArrowUp: () => pan(0, 80), ArrowDown: () => pan(0, -80),
  "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": () => fit(whole), Home: () => fit(whole),
  " ": play, ".": () => { stop(); goTo(Math.floor(now) + 1); }, ",": () => { stop(); goTo(Math.ceil(now) - 1); },
  n: () => turn(1), p: () => turn(-1),
};
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const act = KEYS[event.key] || KEYS[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
});

/** Says what place is under the mouse. */
function hint([x, y]) {
  const [px, py] = [view.x + (x - wide / 2) / view.scale, view.y + (y - high / 2) / view.scale];
  const near = 10 / view.scale;
  let best = null, least = near;
  for (const state of states) {
    if (state.off) continue;
    const line = lineOf(state) || [[state.x, state.y]];
    for (let k = 0; k < line.length; k++) {
      const far = k === 0 ? apart([px, py], line[0]) : toPiece(px, py, line[k - 1], line[k]);
      // Of the two directions of a street the one that is visited more.
      if (far < least - 1e-6 || (far < least + 1e-6 && best && (state.share || 0) > (best.share || 0))) [best, least] = [state, Math.min(far, least)];
    }
  }
  const tip = $("tip");
  tip.hidden = !best;
  if (!best) return;
  tip.replaceChildren(title(best));
  if (best.share !== undefined) {
    const more = document.createElement("small");
    const between = best.low === undefined ? "" : ` (${percent(best.low)} to ${percent(best.high)})`;
    more.textContent = `${percent(best.share)} of visits${between}, estimated`;
    tip.append(more);
  }
  tip.style.left = `${Math.min(x + 14, Math.max(wide - tip.offsetWidth - 6, 0))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > high ? Math.max(y - tip.offsetHeight - 10, 0) : y + 18}px`;
}
function toPiece(x, y, a, b) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]], length = dx * dx + dy * dy;
  const share = length > 0 ? Math.min(Math.max(((x - a[0]) * dx + (y - a[1]) * dy) / length, 0), 1) : 0;
  return Math.hypot(x - a[0] - dx * share, y - a[1] - dy * share);
}

// ---- Begin.
let begun = false;
new ResizeObserver(() => {
  const frame = canvas.getBoundingClientRect();
  [wide, high, dots] = [Math.max(frame.width, 1), Math.max(frame.height, 1), window.devicePixelRatio || 1];
  canvas.width = Math.round(wide * dots);
  canvas.height = Math.round(high * dots);
  if (!begun) {
    begun = true;
    choose(chosen);
    fit(box(walked(walks)) || whole);
  }
  clampView();
  draw();
  root.dataset.ready = "yes";
}).observe(canvas);
