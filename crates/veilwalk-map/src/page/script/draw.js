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

