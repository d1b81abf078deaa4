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

