"use strict";
// Errors marked in a translation. Places are counted in code points on the form, and here in the units of UTF-16.
(() => {
  const task = document.getElementById("task");
  const list = document.getElementById("marks");
  const field = document.getElementById("marked");
  const said = document.getElementById("said");
  const score = document.getElementById("number");
  const box = list.dataset.empty ? null : document.getElementById("text0");
  const text = box ? box.textContent : "";
  const severities = [...task.querySelectorAll("button[data-severity]")];
  const names = severities.map(button => button.lastChild.textContent.trim().toLowerCase());
  // the key is of this judge and campaign
  const draft = ["marks", task.elements.key.value, task.elements.assignment.value].join(" ");
  const toPoints = units => [...text.slice(0, units)].length;
  const toUnits = points => [...text].slice(0, points).join("").length;
  // what is seen as one character is marked as a whole
  const pieces = Intl.Segmenter ? [...new Intl.Segmenter(box && box.lang || undefined).segment(text)].map(one => one.segment) : [...text];
  const edges = [0];
  for (const piece of pieces) edges.push(edges[edges.length - 1] + piece.length);
  let marks = [];
  let selected = null;

  const quoted = mark => mark.start === null ? "missing content" : `“${text.slice(mark.start, mark.end)}”`;
  const say = message => { said.textContent = message; };

  function offset(node, at) {
    const range = document.createRange();
    range.setStart(box, 0);
    range.setEnd(node, at);
    return range.toString().length;
  }

  function place(units) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    let left = units, node = null;
    while (walker.nextNode()) {
      node = walker.currentNode;
      if (left <= node.length) return [node, left];
      left -= node.length;
    }
    return [node, node.length];
  }

  // anchor and focus of the selection, or null where it is not in the text
  function selection() {
    const now = getSelection();
    if (!box || !now.rangeCount) return null;
    const inside = [now.anchorNode, now.focusNode].map(node => box.contains(node));
    if (!inside[0] && !inside[1]) return null;
    const outside = node => box.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING ? 0 : text.length;
    return [
      inside[0] ? offset(now.anchorNode, now.anchorOffset) : outside(now.anchorNode),
      inside[1] ? offset(now.focusNode, now.focusOffset) : outside(now.focusNode),
    ];
  }

  function select([anchor, focus]) {
    box.focus({ preventScroll: true });
    getSelection().setBaseAndExtent(...place(anchor), ...place(focus));
  }

  function draw() {
    for (const mark of marks) mark.row.querySelector("mark")?.setAttribute("class", "severity" + mark.severity);
    if (!box) return;
    const kept = document.activeElement === box ? selection() : null;
    const placed = marks.filter(mark => mark.start !== null);
    const cuts = [...new Set([0, text.length, ...placed.flatMap(mark => [mark.start, mark.end])])].sort((a, b) => a - b);
    box.replaceChildren(...cuts.slice(1).map((end, index) => {
      const part = document.createTextNode(text.slice(cuts[index], end));
      const over = placed.filter(mark => mark.start < end && mark.end > cuts[index]);
      if (!over.length) return part;
      const mark = document.createElement("mark");
      mark.className = "severity" + Math.max(...over.map(one => one.severity));
      mark.append(part);
      return mark;
    }));
    if (kept) select(kept);
  }

  function written() {
    return marks.map(mark => [mark.severity, mark.category, ...(mark.start === null ? [] : [toPoints(mark.start), toPoints(mark.end)])]);
  }

  function keep() {
    field.value = JSON.stringify(written());
    try {
      sessionStorage.setItem(draft, JSON.stringify({ changed: list.dataset.changed, marks: written(), score: score && score.value }));
    } catch { /* a browser without storage */ }
  }

  function changed() {
    document.getElementById("count").textContent = marks.length;
    draw();
    keep();
  }

  function remove(mark) {
    marks = marks.filter(one => one !== mark);
    mark.row.remove();
    changed();
    say(`Removed: ${quoted(mark)}.`);
    (box || document.getElementById("missing")).focus();
  }

  function add(severity, start, end, category = null) {
    const mark = { severity, start, end, category };
    mark.row = document.getElementById("row").content.firstElementChild.cloneNode(true);
    const [level, kind] = ["severity", "category"].map(name => mark.row.querySelector("." + name));
    const quote = mark.row.querySelector("q");
    if (start === null) quote.replaceWith("Missing content");
    else quote.firstChild.textContent = text.slice(start, end);
    level.value = severity;
    level.setAttribute("aria-label", "Severity of " + quoted(mark));
    level.addEventListener("change", () => { mark.severity = Number(level.value); changed(); });
    if (kind) {
      kind.value = category ?? "";
      kind.setAttribute("aria-label", "Category of " + quoted(mark));
      kind.addEventListener("change", () => { mark.category = kind.value === "" ? null : Number(kind.value); keep(); say(""); });
      // of a category that the list does not have
      if (kind.selectedIndex < 1) { kind.value = ""; mark.category = null; }
    } else mark.category = 0;
    const button = mark.row.querySelector("button");
    button.setAttribute("aria-label", "Remove " + quoted(mark));
    button.addEventListener("click", () => remove(mark));
    const at = one => one.start === null ? Infinity : one.start;
    const next = marks.findIndex(one => at(one) > at(mark));
    list.insertBefore(mark.row, next < 0 ? null : marks[next].row);
    marks.splice(next < 0 ? marks.length : next, 0, mark);
    return mark;
  }

  function asked(mark, message) {
    changed();
    const kind = mark.row.querySelector(".category");
    say(message + (kind && mark.category === null ? " Choose its category." : ""));
    if (kind && mark.category === null) kind.focus();
  }

  // while the focus is elsewhere, what was selected last is selected
  function look() {
    const now = selection();
    if (!now) return;
    const [low, high] = now[0] < now[1] ? now : [now[1], now[0]];
    selected = low === high ? null : [edges.findLast(edge => edge <= low), edges.find(edge => edge >= high)];
    const ready = selected || atCaret();
    for (const button of severities) button.setAttribute("aria-disabled", String(!ready));
  }

  function markAs(severity) {
    // browsers may tell only later
    look();
    let mark = selected ? marks.find(one => one.start === selected[0] && one.end === selected[1]) : atCaret();
    if (!mark && !selected) { say("Select the words in error first."); return; }
    if (mark) {
      mark.severity = severity;
      mark.row.querySelector(".severity").value = severity;
    } else mark = add(severity, ...selected);
    // the caret after it shows the mark, and lets its severity be changed
    select([mark.end, mark.end]);
    selected = null;
    asked(mark, `Marked as ${names[severity]}: ${quoted(mark)}.`);
  }

  function missing() {
    const kinds = [...document.getElementById("row").content.querySelectorAll(".category option")];
    const omission = kinds.find(one => one.textContent.toLowerCase().endsWith("omission"));
    const mark = add(0, null, null, omission ? Number(omission.value) : null);
    asked(mark, "Added: missing content.");
    if (mark.category !== null) mark.row.querySelector(".severity").focus();
  }

  function atCaret() {
    const now = selection();
    if (!now) return undefined;
    const [low, high] = now[0] < now[1] ? now : [now[1], now[0]];
    return marks.find(mark => mark.start !== null && mark.start <= high && mark.end >= low);
  }

  severities.forEach((button, severity) => button.addEventListener("click", () => markAs(severity)));
  document.getElementById("missing").addEventListener("click", missing);
  // the selection stays while a button is pressed
  task.querySelectorAll("[data-severity], #missing").forEach(button => button.addEventListener("mousedown", event => event.preventDefault()));

  if (box) {
    const set = {
      contenteditable: "true", role: "textbox", "aria-multiline": "true", "aria-readonly": "true", "aria-labelledby": "name0",
      "aria-describedby": "how", inputmode: "none", spellcheck: "false", autocorrect: "off", autocapitalize: "off", translate: "no",
    };
    for (const [name, value] of Object.entries(set)) box.setAttribute(name, value);
    // it is edited so far as to have a caret
    for (const name of ["beforeinput", "dragstart", "drop"]) box.addEventListener(name, event => event.preventDefault());
    for (const name of ["input", "compositionend"]) box.addEventListener(name, draw);
    box.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const number = /^[0-9]$/.test(event.key) ? Number(event.key) : -1;
      const touched = event.key === "Delete" || event.key === "Backspace" ? atCaret() : undefined;
      if (number === 0) missing();
      else if (number > 0 && number <= severities.length) markAs(number - 1);
      else if (touched) remove(touched);
      else if (event.key === "Enter" && (look(), selected)) say("Choose a severity for what is selected, or move the caret.");
      else {
        if (event.key !== "Enter") event.stopPropagation();
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    });
    document.addEventListener("selectionchange", look);
  }
  list.addEventListener("keydown", event => {
    if (!event.target.matches("select") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if ((event.key === "Enter" || event.key === "Escape") && box) {
      event.preventDefault();
      box.focus({ preventScroll: true });
    }
  });

  document.getElementById("scriptless").remove();
  let start = { marks: JSON.parse(list.dataset.marks || "[]") };
  try {
    const stored = JSON.parse(sessionStorage.getItem(draft));
    if (stored && stored.changed === list.dataset.changed) start = stored;
  } catch { /* none, or no storage */ }
  for (const [severity, category, from, to] of start.marks)
    add(severity, from === undefined ? null : toUnits(from), to === undefined ? null : toUnits(to), category);
  if (score && start.score) {
    score.value = start.score;
    score.dispatchEvent(new Event("input"));
  }
  changed();
  task.addEventListener("input", keep);
  task.addEventListener("submit", keep);
})();
