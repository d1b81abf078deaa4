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

