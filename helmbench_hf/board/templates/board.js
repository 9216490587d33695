// Sorts, filters and compares what the page already holds. It only moves elements and sets text: no markup is ever made from text.
"use strict";

const $ = (id) => document.getElementById(id);
const state = new URLSearchParams(location.hash.slice(1));
const RUN = /^[0-9a-f]{16}$/;

function remember(name, value) {
  if (value) state.set(name, value); else state.delete(name);
  history.replaceState(null, "", "#" + state.toString());
}

function sortBy(table, column, down) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => head.setAttribute("aria-sort", at === column ? (down ? "descending" : "ascending") : "none"));
  const value = (row) => row.cells[column].dataset.value || "";
  const order = (one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === "" || b === "") return (a === "") - (b === ""); // what has no value stands last, whichever way
    const numbers = [Number(a), Number(b)];
    const found = numbers.some(Number.isNaN) ? a.localeCompare(b) : numbers[0] - numbers[1];
    return down ? -found : found;
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.classList.contains("number") ? "ascending" : "descending";
      const down = head.getAttribute("aria-sort") === (up === "ascending" ? "descending" : "ascending") ? up === "descending" : up === "ascending";
      document.querySelectorAll("table.sortable").forEach((each) => column < each.tHead.rows[0].cells.length && sortBy(each, column, down));
      remember("sort", column + (down ? "d" : "u"));
    });
  });
}

const FILTERS = ["find", "floors", "ranked", "outcome"];

function filter() {
  const wanted = Object.fromEntries(FILTERS.filter($).map((name) => [name, $(name).value]));
  document.querySelectorAll("table.sortable tbody tr").forEach((row) => {
    row.hidden = Object.entries(wanted).some(([name, value]) => value && (name === "find"
      ? !row.dataset.name.toLowerCase().includes(value.toLowerCase())
      : !row.dataset[name].split(" ").includes(value)));
  });
}

function compare() {
  const [one, other] = ["a", "b"].map((name) => RUN.test($(name).value) && $("run-" + $(name).value));
  $("pair").hidden = !one || !other || one === other;
  if ($("pair").hidden) return;
  const heads = [...one.closest("table").tHead.rows[0].cells];
  const same = one.closest("table") === other.closest("table");
  const rows = heads.map((head, at) => {
    const row = document.createElement("tr");
    const cells = [head.textContent, one.cells[at], same ? other.cells[at] : other.cells[at] || null];
    row.append(...cells.map((cell) => {
      const made = document.createElement("td");
      if (cell instanceof Node) made.append(...[...cell.cloneNode(true).childNodes]); else made.textContent = cell || "–";
      return made;
    }));
    return row;
  });
  $("beside").tBodies[0].replaceChildren(...rows);
  const names = [one.dataset.name, other.dataset.name];
  const test = [...document.querySelectorAll("[data-first]")].find((each) => names.includes(each.dataset.first) && names.includes(each.dataset.second));
  $("verdict").textContent = !same ? "These two runs stand in different tables: other cases, versions or judges. They are not comparable."
    : test ? test.textContent : "These two runs were not tested against each other.";
  $("read").setAttribute("href", "compare.html#a=" + $("a").value + "&b=" + $("b").value);
}

function frames() {
  const page = /^[A-Z0-9-]+\.html$/.test(state.get("page") || "") ? state.get("page") : "transcripts.html";
  const place = /^[A-Z0-9-]+-d\d+$/.test(state.get("case") || "") ? "#" + state.get("case") : "";
  for (const [name, frame] of [["a", "left"], ["b", "right"]]) {
    if (RUN.test($(name).value)) $(frame).src = "runs/" + $(name).value + "/" + page + place;
  }
}

function openCase() {
  const found = $(decodeURIComponent(location.hash.slice(1)));
  if (found && found.matches("details.case")) {
    found.open = true;
    found.scrollIntoView();
  }
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
for (const name of [...FILTERS, "a", "b"].filter($)) {
  const act = FILTERS.includes(name) ? filter : $("frames") ? frames : compare;
  if (state.get(name)) $(name).value = state.get(name);
  $(name).addEventListener("input", () => { remember(name, $(name).value); act(); });
}
const sorted = /^(\d+)([du])$/.exec(state.get("sort") || "");
if (sorted) {
  document.querySelectorAll("table.sortable").forEach((table) => {
    if (sorted[1] < table.tHead.rows[0].cells.length) sortBy(table, Number(sorted[1]), sorted[2] === "d");
  });
}
if (FILTERS.some($)) filter();
if ($("frames")) frames(); else if ($("pair")) compare();
if (RUN.test(state.get("run") || "") && $("run-" + state.get("run"))) {
  $("run-" + state.get("run")).classList.add("chosen");
  $("run-" + state.get("run")).scrollIntoView();
}
openCase();
window.addEventListener("hashchange", () => { if (document.querySelector("details.case")) openCase(); else location.reload(); });
