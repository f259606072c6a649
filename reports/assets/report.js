// This script is optional: it adds sorting, filtering, CSV files and the theme.
"use strict";

// Theme: that of the system, unless the reader chooses the other one.
const root = document.documentElement;
const toggle = document.getElementById("theme");
const isDark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const nameToggle = () => { toggle.textContent = isDark() ? "Light theme" : "Dark theme"; };
toggle.hidden = false;
toggle.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  nameToggle();
});
nameToggle();

// A link into a folded panel opens it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split("~")[0]));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
if (location.hash) openTarget();

// Tables.
const text = (cell) => cell.querySelector("span, button")?.textContent.trim() ?? cell.textContent.trim();
const raw = (cell) => cell.dataset.v ?? text(cell);
const order = (a, b) => {
  const [x, y] = [Number(a), Number(b)];
  const known = [a !== "" && !Number.isNaN(x), b !== "" && !Number.isNaN(y)];
  if (known[0] && known[1]) return x - y;
  return known[0] === known[1] ? a.localeCompare(b) : known[0] ? -1 : 1;
};

function sortBy(table, heading, index) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => (down ? -1 : 1) * order(raw(a.cells[index]), raw(b.cells[index])));
  table.tBodies[0].append(...rows);
}

// On a narrow screen each row of a table is a card whose values have the titles of the columns.
function labelCells(table) {
  const titles = [...table.tHead.rows[0].cells].map(text);
  for (const row of table.tBodies[0].rows)
    for (const cell of row.querySelectorAll("td")) cell.dataset.label = titles[cell.cellIndex];
  table.classList.add("cards");
}

function csv(table) {
  // A spreadsheet takes text that begins with = + - @ for a formula; a quote keeps it text.
  const field = (value) => {
    const harmless = value.trim() !== "" && !Number.isNaN(Number(value));
    const safe = !harmless && /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return '"' + safe.replaceAll('"', '""') + '"';
  };
  const heads = [...table.tHead.rows[0].cells].map((h) => text(h) + (h.dataset.unit ? ` (${h.dataset.unit})` : ""));
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  return [heads, ...rows.map((row) => [...row.cells].map(raw))].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  link.download = name + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function filterBox(table, label) {
  const [box, output] = [document.createElement("input"), document.createElement("output")];
  const rows = [...table.tBodies[0].rows];
  box.type = "search";
  box.placeholder = "Filter rows";
  box.setAttribute("aria-label", "Filter rows: " + label);
  box.addEventListener("input", () => {
    const query = box.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(query);
    const shown = rows.filter((row) => !row.hidden).length;
    output.textContent = query ? `${shown} of ${rows.length} rows` : "";
  });
  return [box, output];
}

for (const block of document.querySelectorAll("div.table, div.points")) {
  const [table, caption] = [block.querySelector("table"), block.querySelector(".caption")];
  const [tools, save] = [document.createElement("div"), document.createElement("button")];
  tools.className = "tools";
  save.type = "button";
  save.textContent = "Download CSV";
  save.setAttribute("aria-label", "Download CSV: " + caption.textContent);
  const content = () => (table ? csv(table) : block.querySelector("code").textContent);
  save.addEventListener("click", () => download(block.dataset.name, content()));
  if (table && !table.classList.contains("cards")) labelCells(table);
  if (table?.tBodies[0].rows.length >= 8) tools.append(...filterBox(table, caption.textContent));
  tools.append(save);
  caption.parentElement.append(tools);
  [...(table?.tHead.rows[0].cells ?? [])].forEach((heading, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, heading, index));
    heading.append(button);
  });
}
