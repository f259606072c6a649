// Show two runs of a table whose numeric columns are runs: hide the other columns, add the change.
function pickTwo(block, table) {
  const head = table.tHead.rows[0];
  const rows = [...table.tBodies[0].rows];
  const runs = [...head.cells].map((cell, i) => (cell.classList.contains("n") ? i : 0)).filter(Boolean);
  const command = document.createElement("p");
  command.className = "note";
  block.append(command);

  const added = (kind, row) => {
    const cell = row.appendChild(document.createElement(kind));
    cell.className = "n";
    cell.hidden = true;
    return cell;
  };
  const title = added("th", head);
  title.scope = "col";
  title.textContent = "Change";
  const changes = rows.map((row) => added("td", row));
  for (const cell of changes) cell.dataset.label = "Change";

  const picks = ["Before", "Now"].map((word) => {
    const [label, pick] = [document.createElement("label"), document.createElement("select")];
    pick.append(new Option("every run", 0), ...runs.map((i) => new Option(text(head.cells[i]), i)));
    pick.addEventListener("change", show);
    label.append(word + " ", pick);
    return pick;
  });
  block.querySelector(".tools").prepend(...picks.map((pick) => pick.parentElement));

  const value = (cell) => (cell.dataset.v === undefined && text(cell) === "–" ? NaN : Number(raw(cell)));

  function show() {
    const [old, now] = picks.map((pick) => Number(pick.value));
    const both = old > 0 && now > 0;
    for (const row of [head, ...rows]) for (const i of runs) row.cells[i].hidden = both && i !== old && i !== now;
    for (const cell of [title, ...changes]) cell.hidden = !both;
    command.textContent = both ? `python -m harness compare ${text(head.cells[old])} ${text(head.cells[now])}` : "";
    rows.forEach((row, i) => {
      const [before, after] = both ? [row.cells[old], row.cells[now]] : [];
      [changes[i].textContent, changes[i].dataset.v] = both ? change(before, after) : ["–", ""];
    });
  }

  // The change of numbers is relative, or absolute from 0; the change of words is the new words.
  function change(before, after) {
    const [a, b] = [value(before), value(after)];
    if (Number.isNaN(a) && Number.isNaN(b)) {
      const words = [raw(before), raw(after)];
      return words[0] === words[1] || words.includes("") ? ["–", ""] : [words.join(" → "), words.join()];
    }
    if (Number.isNaN(a) || Number.isNaN(b)) return ["–", ""];
    const sign = b > a ? "+" : "";
    const by = a === 0 ? b - a : (100 * (b - a)) / Math.abs(a);
    const text = a === 0 || by === 0 ? `${sign}${by}` : `${sign}${by.toPrecision(3)} %`;
    return [text.replace("-", "−"), by];
  }
}

for (const block of document.querySelectorAll("[data-compare]")) pickTwo(block, block.querySelector("table"));
