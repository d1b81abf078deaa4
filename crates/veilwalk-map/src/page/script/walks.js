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

