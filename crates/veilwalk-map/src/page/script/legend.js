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

