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

