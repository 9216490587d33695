"use strict";
(() => {
  const { sheet } = JSON.parse(document.getElementById("sheet-data").textContent);
  const key = `helmbench-sheet/${sheet}`;
  const form = document.getElementById("sheet"), say = text => { document.getElementById("status").textContent = text; };
  const total = form.querySelectorAll("section").length;

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

  form.addEventListener("input", () => {
    try { localStorage.setItem(key, JSON.stringify([...new FormData(form)])); say("Kept in this browser."); } catch { say("This browser keeps nothing: save your answers before you close the page."); }
    place();
  });
  form.addEventListener("submit", event => {
    event.preventDefault();
    const found = answers(), open = Object.keys(found).filter(item => !complete(found, item));
    if (open.length) {
      say(`Message ${open[0]} is not answered in full. Finish it, or empty it.`);
      document.getElementById(`item-${open[0]}`).scrollIntoView();
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
})();
