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

