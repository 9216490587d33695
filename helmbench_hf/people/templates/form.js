"use strict";
// Every text reaches the page as text: there is no markup from strings in here, and the page's policy would refuse it.
(() => {
  const form = JSON.parse(document.getElementById("form-data").textContent);
  const key = `helmbench-people/${form.study_id}/${form.person}`;
  const byId = name => document.getElementById(name);
  const empty = () => ({ consent: false, country: "", answers: {}, skipped: [], draft: null, rested: 0 });
  let state = empty(), before = "notice", field = null;

  const make = (name, properties = {}, ...children) => {
    const node = document.createElement(name);
    for (const [property, value] of Object.entries(properties)) {
      if (property.includes("-") || property === "for") node.setAttribute(property, value); else node[property] = value;
    }
    node.append(...children);
    return node;
  };

  const keep = () => {
    try {
      localStorage.setItem(key, JSON.stringify(state));
      byId("status").textContent = "Kept in this browser.";
    } catch {
      byId("status").textContent = "This browser keeps nothing: save your answers to a file before you close the page.";
    }
  };
  const recall = () => {
    try {
      const found = JSON.parse(localStorage.getItem(key));
      if (found && typeof found === "object") state = { ...empty(), ...found };
    } catch { /* nothing was kept, or it cannot be read */ }
  };

  const item = () => form.items.find(each => !state.skipped.includes(each.id) && (state.answers[each.id] || []).length < each.turns.length);
  const done = () => form.items.filter(each => state.skipped.includes(each.id) || (state.answers[each.id] || []).length >= each.turns.length).length;

  // Fields: each gives its node and a way to read what stands in it.
  let count = 0;
  const hint = schema => schema.type === "array" ? `at most ${schema.maxItems}` : schema.maxLength ? `at most ${schema.maxLength} characters` : "";
  const labeled = (name, schema, control) => {
    control.id = `field-${++count}`;
    const label = make("label", { for: control.id }, name, " ", make("span", { className: "hint" }, hint(schema)));
    return make("div", { className: "field" }, label, control);
  };
  const choices = (name, type, options, labels, chosen, required) => {
    const group = `choice-${++count}`;
    const inputs = options.map(value => make("input", { type, name: group, value, required, checked: chosen.includes(value) }));
    const rows = inputs.map(input => make("label", {}, input, make("span", {}, make("strong", {}, input.value), labels[input.value] ? `: ${labels[input.value]}` : "")));
    const node = make("fieldset", { className: "choice" }, make("legend", {}, name), ...rows);
    return { node, read: () => inputs.filter(input => input.checked).map(input => input.value) };
  };
  const build = (name, schema, value, labels) => {
    if (schema.enum) {
      const found = choices(name, "radio", schema.enum, labels, [value], true);
      return { node: found.node, read: () => found.read()[0] || "" };
    }
    if (schema.type === "array" && schema.items.enum) {
      return choices(name, "checkbox", schema.items.enum, labels, value || [], false);
    }
    if (schema.type === "array") return list(name, schema, value || [], labels);
    if (schema.type === "object") {
      const parts = Object.entries(schema.properties).map(([each, inner]) => [each, build(each, inner, (value || {})[each], labels)]);
      const body = make("div", { className: name ? "row" : "" }, ...parts.map(([, part]) => part.node));
      const node = name ? make("fieldset", {}, make("legend", {}, name), body) : body;
      return { node, read: () => Object.fromEntries(parts.map(([each, part]) => [each, part.read()])) };
    }
    if (schema.type === "string") {
      const long = schema.maxLength > 120;
      const control = make(long ? "textarea" : "input", { maxLength: schema.maxLength, value: value || "", required: name === "reply" || name === "answer" });
      if (!long) control.type = "text";
      if (control.required) {
        const check = () => control.setCustomValidity(control.value.trim() ? "" : "Write something, or skip this item.");
        control.addEventListener("input", check);
        check();
      }
      return { node: labeled(name, schema, control), read: () => control.value };
    }
    const control = make("input", { type: "number", step: schema.type === "integer" ? "1" : "any", required: true });
    if ("minimum" in schema) control.min = schema.minimum;
    if ("maximum" in schema) control.max = schema.maximum;
    if (typeof value === "number") control.value = String(value);
    return { node: labeled(name, schema, control), read: () => control.value === "" ? null : Number(control.value) };
  };
  const list = (name, schema, values, labels) => {
    const rows = [], body = make("div", {});
    const more = make("button", { type: "button" }, `Add to ${name}`);
    const number = () => {
      rows.forEach((row, at) => { row.node.firstChild.textContent = `${name} ${at + 1}`; });
      more.disabled = rows.length >= schema.maxItems;
    };
    const add = (value, focus) => {
      const inner = build(schema.items.type === "object" ? "row" : "entry", schema.items, value, labels);
      const remove = make("button", { type: "button" }, "Remove");
      const row = { read: inner.read, node: make("fieldset", {}, make("legend", {}), ...inner.node.matches("fieldset") ? [inner.node.lastChild] : [inner.node], remove) };
      remove.addEventListener("click", () => { rows.splice(rows.indexOf(row), 1); row.node.remove(); number(); more.focus(); draft(); });
      rows.push(row);
      body.append(row.node);
      number();
      if (focus) row.node.querySelector("input, textarea, select").focus();
    };
    more.addEventListener("click", () => { add(undefined, true); draft(); });
    values.forEach(value => add(value, false));
    number();
    const node = make("fieldset", {}, make("legend", {}, name, " ", make("span", { className: "hint" }, hint(schema))), body, more);
    return { node, read: () => rows.map(row => row.read()) };
  };

  const draft = () => {
    const now = item();
    if (!now || !field) return;
    state.draft = { id: now.id, turn: (state.answers[now.id] || []).length, value: field.read() };
    keep();
  };

  const screens = ["notice", "item", "break", "stop", "end"];
  const show = name => {
    for (const each of screens) byId(`screen-${each}`).hidden = each !== name;
    byId("rest").hidden = name !== "item";
    byId("stop").hidden = name === "stop";
    byId("progress").hidden = name === "notice";
    byId("progress").value = done();
    byId("place").textContent = name === "notice" ? "" : `${done()} of ${form.items.length} done`;
    const title = byId(`screen-${name}`).querySelector("h1");
    scrollTo(0, 0);
    title.focus();
  };
  const seen = text => {
    try { const found = JSON.parse(text); if (typeof found.reply === "string") return found.reply; } catch { /* free text */ }
    return text;
  };
  const next = () => {
    const now = item();
    if (!now) {
      byId("tally").textContent = `You answered ${form.items.length - state.skipped.length} items and skipped ${state.skipped.length}.`;
      return show("end");
    }
    const given = state.answers[now.id] || [], at = form.items.indexOf(now) + 1;
    if (!given.length && done() && done() % form.break_after === 0 && state.rested < done()) {
      state.rested = done();
      keep();
      return show("break");
    }
    const step = now.turns.length > 1 ? `, message ${given.length + 1} of ${now.turns.length}` : "";
    byId("item-title").textContent = `Item ${at} of ${form.items.length}${step}`;
    byId("job").textContent = now.job || "Nothing.";
    byId("job-box").open = !given.length;
    const talk = [];
    for (let turn = 0; turn <= given.length; turn++) {
      talk.push(make("p", { className: "who" }, "The person wrote"), make("div", { className: "text" }, now.turns[turn]));
      if (turn < given.length) talk.push(make("p", { className: "who" }, "You answered"), make("div", { className: "text own" }, seen(given[turn])));
    }
    byId("talk").replaceChildren(...talk);
    const open = state.draft && state.draft.id === now.id && state.draft.turn === given.length ? state.draft.value : undefined;
    field = build(now.schema ? "" : "answer", now.schema || { type: "string", maxLength: now.cap }, open, now.labels);
    byId("fields").replaceChildren(field.node);
    show("item");
  };

  const lines = () => {
    const country = form.countries.find(each => each.code === state.country);
    const nodes = (country ? country.lines : []).map(line => make("div", { className: "line" },
      make("p", {}, make("strong", {}, line.name), line.audience ? ` (for ${line.audience})` : ""), make("p", {}, line.reach), make("p", {}, line.hours),
      make("p", { className: "source" }, `Source: ${line.source}. Compared with it on ${line.checked}.`)));
    if (state.country === "other") nodes.push(make("p", {}, "This form has no list for your country."));
    byId("lines").replaceChildren(...nodes, make("p", {}, form.directory));
  };
  for (const select of [byId("country"), byId("country-stop")]) {
    select.addEventListener("change", () => {
      state.country = select.value;
      for (const each of [byId("country"), byId("country-stop")]) each.value = select.value;
      keep();
      lines();
    });
  }
  const leave = () => {
    before = screens.find(each => !byId(`screen-${each}`).hidden);
    lines();
    show("stop");
  };
  const save = () => {
    const answers = form.items.filter(each => (state.answers[each.id] || []).length).map(each => ({ id: each.id, turns: state.answers[each.id] }));
    const whole = { format: form.format, study: form.study, person: form.person, consent: state.consent, items: answers, skipped: state.skipped };
    const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(whole, null, 1)], { type: "application/json" })), download: `answers-${form.person}.json` });
    document.body.append(link);
    link.click();
    link.remove();
    byId("status").textContent = `Saved as answers-${form.person}.json where your browser puts downloads.`;
  };

  byId("consent-form").addEventListener("submit", event => { event.preventDefault(); state.consent = true; keep(); next(); });
  byId("answer-form").addEventListener("input", draft);
  byId("answer-form").addEventListener("change", draft);
  byId("answer-form").addEventListener("submit", event => {
    event.preventDefault();
    const now = item(), value = field.read();
    state.answers[now.id] = [...(state.answers[now.id] || []), now.schema ? JSON.stringify(value) : value];
    state.draft = null;
    keep();
    next();
  });
  byId("skip-item").addEventListener("click", () => {
    const now = item();
    state.skipped.push(now.id);
    delete state.answers[now.id];
    state.draft = null;
    keep();
    next();
  });
  byId("rest").addEventListener("click", () => show("break"));
  byId("break-on").addEventListener("click", next);
  byId("stop").addEventListener("click", leave);
  byId("back").addEventListener("click", () => before === "notice" || !state.consent ? show("notice") : before === "break" ? show("break") : next());
  for (const each of document.querySelectorAll(".save")) each.addEventListener("click", save);
  for (const each of document.querySelectorAll(".remove")) {
    each.addEventListener("click", () => {
      try { localStorage.removeItem(key); } catch { /* nothing was kept */ }
      state = empty();
      byId("consent").checked = false;
      show("notice");
      byId("status").textContent = "Your answers were removed from this browser.";
    });
  }

  const start = () => {
    recall();
    for (const each of [byId("country"), byId("country-stop")]) each.value = state.country;
    document.body.inert = false;
    if (state.consent) next();
  };
  // Chromium runs a page from the disk before it has noted that the page is open. Until then it gives an empty localStorage, and
  // drops what is written there as long as the page is open. It answers questions only once it has noted, so one is asked first.
  // Whoever clicks before would write over what was kept, so nothing can be clicked.
  document.body.inert = true;
  const asked = navigator.storage && navigator.storage.persisted ? navigator.storage.persisted() : Promise.resolve();
  asked.then(start, start);
})();
