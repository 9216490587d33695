"use strict";
(() => {
  const { sheet } = JSON.parse(document.getElementById("sheet-data").textContent);
  const key = `helmbench-sheet/${sheet}`;
  const form = document.getElementById("sheet"), say = text => { document.getElementById("status").textContent = text; };
  const EVERY = 20, sections = [...form.querySelectorAll("section")], total = sections.length;
  let now = 0;

  const answers = () => {
    const found = {};
    for (const [name, value] of new FormData(form)) {
      if (value === "") continue;
      const [item, field] = name.split(".");
      found[item] ??= {};
      found[item][field] = field === "person" ? value === "yes" : /^\d+$/.test(value) && field !== "note" && field !== "answer" ? Number(value) : value;
    }
    return found;
  };
  const asked = Object.fromEntries([...form.elements].filter(each => each.name && !/\.(note|answer)$/.test(each.name)).map(each => [each.name, each.name.split(".")]));
  const complete = (found, item) => Object.values(asked).every(([each, field]) => each !== item || field in (found[item] || {}));
  const place = () => {
    const found = answers();
    document.getElementById("place").textContent = `${Object.keys(found).filter(item => complete(found, item)).length} of ${total} done`;
  };

  const show = (number, moved) => {
    now = Math.min(Math.max(number, 0), total - 1);
    sections.forEach((section, each) => { section.hidden = each !== now; });
    document.getElementById("back").disabled = now === 0;
    document.getElementById("next").disabled = now === total - 1;
    document.getElementById("break").hidden = !moved || now === 0 || now % EVERY !== 0;
    document.getElementById("looked").textContent = now;
    if (moved) {
      const title = sections[now].querySelector("h2");
      title.tabIndex = -1;
      title.focus();
    }
  };
  document.getElementById("back").addEventListener("click", () => show(now - 1, true));
  document.getElementById("clear").addEventListener("click", () => {
    for (const field of sections[now].querySelectorAll("input, select")) {
      if (field.type === "radio") field.checked = false; else field.value = "";
    }
    form.dispatchEvent(new Event("input"));
  });
  document.getElementById("next").addEventListener("click", () => show(now + 1, true));

  form.addEventListener("input", () => {
    try { localStorage.setItem(key, JSON.stringify([...new FormData(form)])); say("Kept in this browser."); } catch { say("This browser keeps nothing: save your answers before you close the page."); }
    place();
  });
  form.addEventListener("submit", event => event.preventDefault());
  document.getElementById("save").addEventListener("click", () => {
    const found = answers(), open = Object.keys(found).filter(item => !complete(found, item));
    if (open.length) {
      say(`Message ${open[0]} is not answered in full. Finish it, or clear it.`);
      show(sections.findIndex(section => section.querySelector(`#item-${open[0]}`)), true);
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify({ sheet, answers: found }, null, 1)], { type: "application/json" }));
    link.download = `answers-${sheet}.json`;
    link.click();
    URL.revokeObjectURL(link.href);
    say(`Saved ${Object.keys(found).length} answers as answers-${sheet}.json.`);
  });
  try {
    for (const [name, value] of JSON.parse(localStorage.getItem(key)) || []) {
      const fields = form.elements[name];
      if (fields instanceof RadioNodeList || fields) fields.value = value;
    }
  } catch { /* nothing was kept */ }
  place();
  const found = answers(), first = sections.findIndex(section => !complete(found, section.querySelector("h2").id.slice(5)));
  show(first < 0 ? total - 1 : first, false);
})();
