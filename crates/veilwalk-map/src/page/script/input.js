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
