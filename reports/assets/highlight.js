// Choose two algorithms: the marks, rows and columns of all others turn gray.
// The address keeps the choice behind the anchor: #section~first~second.
const chooser = document.querySelector(".choose");

function highlight(selects) {
  const known = [...selects[0].options].map((option) => option.value).filter(Boolean);
  const nameOf = (text) => known.findLast((name) => text === name || text.startsWith(name + " "));
  const pieces = []; // [elements, the algorithms that they belong to]
  const add = (elements, names) => { if (names.length) pieces.push([elements, names]); };
  const namesIn = (cells) => cells.map((cell) => nameOf(cell.querySelector("code")?.textContent ?? raw(cell))).filter(Boolean);

  for (const mark of document.querySelectorAll("[data-a]")) add([mark], [nameOf(mark.dataset.a)].filter(Boolean));
  for (const key of document.querySelectorAll(".keys > span")) add([key], [nameOf(key.lastChild.textContent.trim())].filter(Boolean));
  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) add([row], namesIn([...row.cells].filter((cell) => !cell.classList.contains("n"))));
    [...table.tHead.rows[0].cells].forEach((heading, index) => {
      if (index) add([heading, ...rows.map((row) => row.cells[index])], [nameOf(text(heading))].filter(Boolean));
    });
  }

  function show() {
    const chosen = selects.map((select) => select.value).filter(Boolean);
    for (const [elements, names] of pieces)
      for (const element of elements)
        element.classList.toggle("off", chosen.length > 0 && !names.some((name) => chosen.includes(name)));
  }

  function remember() {
    const [anchor] = location.hash.slice(1).split("~");
    const values = selects.map((select) => encodeURIComponent(select.value).replaceAll("~", "%7E"));
    const kept = values.some(Boolean) ? "~" + values.join("~") : "";
    if (kept || location.hash.includes("~")) history.replaceState(null, "", "#" + anchor + kept);
  }

  function restore() {
    const values = location.hash.split("~").slice(1).map(decodeURIComponent);
    selects.forEach((select, index) => { if (known.includes(values[index])) select.value = values[index]; });
  }

  restore();
  show();
  addEventListener("hashchange", () => { restore(); show(); remember(); });
  for (const select of selects) select.addEventListener("change", () => { show(); remember(); });
}

if (chooser) {
  chooser.hidden = false;
  highlight([...chooser.querySelectorAll("select")]);
}
