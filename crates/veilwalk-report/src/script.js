"use strict";
// Whatever goes wrong is left where a test, or a curious reader, can see it.
window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = String(event.message);
});
const root = document.documentElement;
const remembered = (() => {
  try { return localStorage.getItem("theme"); } catch { return null; }
})();
if (remembered === "light" || remembered === "dark") root.dataset.theme = remembered;

document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const now = root.dataset.theme || system;
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page from disk may not */ }
  });
  if (matchMedia("(max-width: 74.99rem)").matches) document.querySelector("nav details").open = false;
  for (const table of document.querySelectorAll("table.sorts")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sort(table, heads, column));
    });
  }
  root.dataset.ready = "yes";
});

function sort(table, heads, column) {
  const up = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => {
    const cell = row.cells[column];
    const number = cell.dataset.sort === undefined ? NaN : Number(cell.dataset.sort);
    return { row, number, text: cell.textContent };
  });
  const numeric = rows.some((r) => !Number.isNaN(r.number));
  rows.sort((a, b) => {
    if (!numeric) return (up ? 1 : -1) * a.text.localeCompare(b.text);
    // Fields without a number come last either way.
    if (Number.isNaN(a.number) || Number.isNaN(b.number)) {
      return Number(Number.isNaN(a.number)) - Number(Number.isNaN(b.number));
    }
    return (up ? 1 : -1) * (a.number - b.number);
  });
  body.append(...rows.map((r) => r.row));
}
