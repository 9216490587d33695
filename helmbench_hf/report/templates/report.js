// Browses the transcripts. Every text goes in through textContent; the policy of the page refuses anything else.
(() => {
  "use strict";
  const PAGE = 20;
  const FOLD = 4000;
  const store = document.getElementById("transcript-data");
  const gate = document.getElementById("transcript-gate");
  const browser = document.getElementById("transcript-browser");
  if (!store || !gate || !browser) return;
  const data = JSON.parse(store.textContent);
  const cases = data.cases;
  const byCode = new Map(cases.map((entry, index) => [entry.case, index]).reverse());
  const field = (name) => document.getElementById("filter-" + name);
  const list = document.getElementById("transcript-list");
  const count = document.getElementById("transcript-count");
  const more = document.getElementById("transcript-more");
  const open = document.getElementById("transcript-open");
  const haystacks = new Map();
  let shown = [];
  let drawn = 0;

  const el = (name, className, ...children) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    for (const child of children) if (child !== null && child !== undefined) node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    return node;
  };

  const words = (text, raw) => {
    const block = el("p", raw ? "words raw" : "words");
    block.dir = "auto";
    if (raw) block.tabIndex = 0;
    if (text.length <= FOLD) {
      block.textContent = text;
      return block;
    }
    block.textContent = text.slice(0, FOLD) + "…";
    const rest = el("button", "quiet", "Show all " + text.length.toLocaleString("en") + " characters");
    rest.type = "button";
    rest.addEventListener("click", () => { block.textContent = text; rest.remove(); });
    return el("div", "", block, rest);
  };

  const fold = (title, ...children) => el("details", "table", el("summary", "", title), ...children);

  const said = (who, kind, ...children) => el("div", "said " + kind, el("h4", "who", who), ...children);

  const conversation = (entry) => {
    const box = el("div", "");
    if (entry.system !== null) box.append(fold("Instructions and notes that the model was given", words(data.systems[entry.system], true)));
    const many = entry.turns.length > 1;
    entry.turns.forEach((turn, index) => {
      const number = many ? ", turn " + (index + 1) : "";
      box.append(said("The person" + number, "person", words(turn)));
      const reply = entry.replies[index];
      if (!reply) return;
      const parts = [];
      if (reply.note) parts.push(el("p", "small muted", reply.note));
      if (reply.shown) parts.push(words(reply.shown));
      if (reply.raw) parts.push(fold("The whole answer as it came", words(reply.raw, true)));
      box.append(said("The model" + number, "model", ...parts));
    });
    return box;
  };

  const verdict = (entry) => {
    const head = el("p", "head", el("span", "", entry.title), el("span", "chip " + entry.tone, entry.verdict));
    const box = el("div", "verdict", head, el("p", "evidence", entry.by));
    for (const line of entry.evidence) box.append(el("p", "evidence", line));
    return box;
  };

  const grades = (entry) => {
    const facts = el("dl", "facts");
    for (const [name, value] of entry.facts) facts.append(el("dt", "", name), el("dd", "", value));
    const box = el("div", "", el("h4", "who", "What was expected"), facts);
    if (entry.tags.length) {
      const chips = el("p", "chips set");
      for (const [name, tone] of entry.tags) chips.append(el("span", "chip " + tone, name));
      box.append(el("h4", "who", "Hidden tags that the model set"), chips);
    }
    box.append(el("h4", "who", "Verdicts"));
    if (!entry.verdicts.length) box.append(el("p", "evidence", "No verdict on this case."));
    for (const one of entry.verdicts) box.append(verdict(one));
    const link = el("a", "", "Link to this transcript");
    link.href = "#" + encodeURIComponent(entry.case);
    box.append(el("p", "small", link));
    return box;
  };

  const card = (entry) => {
    const chips = el("span", "chips");
    for (const [name, tone] of entry.chips) chips.append(el("span", "chip " + tone, name));
    const summary = el("summary", "", el("span", "case-title", entry.title), el("span", "case-code", entry.case), chips);
    const box = el("details", "case", summary);
    box.addEventListener("toggle", () => {
      if (box.open && box.children.length === 1) box.append(el("div", "case-body", conversation(entry), grades(entry)));
    });
    return box;
  };

  const haystack = (index) => {
    if (!haystacks.has(index)) {
      const entry = cases[index];
      const replies = entry.replies.map((reply) => reply.shown + "\n" + reply.raw);
      haystacks.set(index, [entry.case, entry.title, ...entry.turns, ...replies].join("\n").toLowerCase());
    }
    return haystacks.get(index);
  };

  const matches = (index, wanted) => {
    const entry = cases[index];
    if (wanted.behavior && entry.behavior !== wanted.behavior) return false;
    if (wanted.condition && entry.condition !== wanted.condition) return false;
    if (wanted.outcome && !entry.outcomes.includes(wanted.outcome)) return false;
    return !wanted.text || haystack(index).includes(wanted.text);
  };

  const draw = () => {
    const until = Math.min(drawn + PAGE, shown.length);
    for (; drawn < until; drawn += 1) list.append(card(cases[shown[drawn]]));
    more.hidden = drawn >= shown.length;
    more.textContent = "Show " + Math.min(PAGE, shown.length - drawn) + " more";
    count.textContent = shown.length + " of " + cases.length + " transcripts" + (shown.length > drawn ? ", " + drawn + " shown" : "");
  };

  const filter = () => {
    const wanted = { behavior: field("behavior").value, condition: field("condition").value, outcome: field("outcome").value,
      text: field("text").value.trim().toLowerCase() };
    shown = cases.map((_, index) => index).filter((index) => matches(index, wanted));
    drawn = 0;
    list.replaceChildren();
    draw();
  };

  const linked = () => {
    try {
      return byCode.get(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return undefined;
    }
  };

  const follow = () => {
    const index = linked();
    if (index === undefined) return;
    if (browser.hidden) {
      open.textContent = "Show transcript " + cases[index].case;
      open.scrollIntoView({ block: "center" });
      open.focus({ preventScroll: true });
      return;
    }
    shown = [index, ...shown.filter((other) => other !== index)];
    drawn = 0;
    list.replaceChildren();
    draw();
    const first = list.firstElementChild;
    first.open = true;
    first.scrollIntoView();
    first.firstElementChild.focus({ preventScroll: true });
  };

  let timer = 0;
  for (const name of ["behavior", "condition", "outcome"]) field(name).addEventListener("change", filter);
  field("text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 150); });
  more.addEventListener("click", () => {
    const last = list.lastElementChild;
    draw();
    last.nextElementSibling?.firstElementChild.focus();
  });
  open.addEventListener("click", () => {
    gate.hidden = true;
    browser.hidden = false;
    filter();
    if (linked() === undefined) field("behavior").focus();
    else follow();
  });
  addEventListener("hashchange", follow);
  open.hidden = false;
  follow();
})();
