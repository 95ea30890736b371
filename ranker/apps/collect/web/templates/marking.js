"use strict";
// Errors marked in a translation and its source. Places are counted in code points on the form, and here in the units of
// UTF-16.
(() => {
  const task = document.getElementById("task");
  const list = document.getElementById("marks");
  const field = document.getElementById("marked");
  const said = document.getElementById("said");
  const score = document.getElementById("number");
  const severities = [...task.querySelectorAll("button[data-severity]")];
  const names = severities.map(button => button.lastChild.textContent.trim().toLowerCase());
  // the name of the stored marks; the key in it belongs to this judge and campaign
  const draft = ["marks", task.elements.key.value, task.elements.assignment.value].join(" ");
  const boxes = [...task.querySelectorAll("[data-side]")].map(element => ({
    element, side: Number(element.dataset.side), text: element.textContent, edges: edgesOf(element.textContent, element.lang),
  }));
  let marks = [];
  let selected = null;

  // the places between characters as a reader sees them, since only whole characters are marked
  function edgesOf(text, language) {
    const segmenter = Intl.Segmenter && new Intl.Segmenter(language || undefined);
    const edges = [0];
    for (const piece of segmenter ? [...segmenter.segment(text)].map(one => one.segment) : text)
      edges.push(edges[edges.length - 1] + piece.length);
    return edges;
  }

  const boxOf = side => boxes.find(box => box.side === side);
  const toPoints = (box, units) => [...box.text.slice(0, units)].length;
  const toUnits = (box, points) => [...box.text].slice(0, points).join("").length;
  const words = mark => mark.box.text.slice(mark.start, mark.end);
  const quoted = mark => mark.box ? `“${words(mark)}”${mark.box.side ? " in the source" : ""}` : "missing content";
  const say = message => { said.textContent = message; };

  function place(box, units) {
    const walker = document.createTreeWalker(box.element, NodeFilter.SHOW_TEXT);
    let left = units, node = null;
    while (walker.nextNode()) {
      node = walker.currentNode;
      if (left <= node.length) return [node, left];
      left -= node.length;
    }
    return [node, node.length];
  }

  // the box that contains the selection and the selection's ends in it, or null
  function selection() {
    const now = getSelection();
    const within = node => boxes.find(one => one.element.contains(node));
    const box = now.rangeCount ? within(now.anchorNode) || within(now.focusNode) : null;
    if (!box) return null;
    const offset = (node, at) => {
      if (!box.element.contains(node)) return box.element.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING ? 0 : box.text.length;
      const range = document.createRange();
      range.setStart(box.element, 0);
      range.setEnd(node, at);
      return range.toString().length;
    };
    const ends = [offset(now.anchorNode, now.anchorOffset), offset(now.focusNode, now.focusOffset)];
    return { box, ends, low: Math.min(...ends), high: Math.max(...ends) };
  }

  function select(box, [anchor, focus]) {
    box.element.focus({ preventScroll: true });
    getSelection().setBaseAndExtent(...place(box, anchor), ...place(box, focus));
  }

  function draw() {
    for (const mark of marks) mark.row.querySelector("mark")?.setAttribute("class", names[mark.severity]);
    for (const box of boxes) {
      const kept = document.activeElement === box.element ? selection() : null;
      const placed = marks.filter(mark => mark.box === box);
      const cuts = [...new Set([0, box.text.length, ...placed.flatMap(mark => [mark.start, mark.end])])].sort((a, b) => a - b);
      box.element.replaceChildren(...cuts.slice(1).map((end, index) => {
        const part = document.createTextNode(box.text.slice(cuts[index], end));
        const over = placed.filter(mark => mark.start < end && mark.end > cuts[index]);
        if (!over.length) return part;
        const mark = document.createElement("mark");
        mark.className = names[Math.max(...over.map(one => one.severity))] + (over.length > 1 ? " several" : "");
        mark.append(part);
        return mark;
      }));
      if (kept) select(box, kept.ends);
    }
  }

  function written() {
    const placeOf = ({ box, start, end }) => box ? [toPoints(box, start), toPoints(box, end), ...(box.side ? [box.side] : [])] : [];
    return marks.map(mark => [mark.severity, mark.category, ...placeOf(mark)]);
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

  // move the focus to the text of a mark
  function back(mark) {
    const box = mark.box || boxOf(0) || boxes[0];
    (box ? box.element : document.getElementById("missing")).focus({ preventScroll: true });
  }

  function remove(mark) {
    marks = marks.filter(one => one !== mark);
    mark.row.remove();
    changed();
    say(`Removed: ${quoted(mark)}.`);
    back(mark);
  }

  function add(severity, category, box = null, start = null, end = null) {
    const mark = { severity, category, box, start, end };
    mark.row = document.getElementById("row").content.firstElementChild.cloneNode(true);
    const [level, kind] = ["severity", "category"].map(name => mark.row.querySelector("." + name));
    const quote = mark.row.querySelector("q");
    if (box) {
      quote.firstChild.textContent = words(mark);
      [quote.lang, quote.dir] = [box.element.lang, box.element.dir];
      quote.previousElementSibling.hidden = !box.side;
    } else quote.replaceWith("Missing content");
    level.value = severity;
    level.setAttribute("aria-label", "Severity of " + quoted(mark));
    level.addEventListener("change", () => { mark.severity = Number(level.value); changed(); });
    if (kind) {
      kind.value = category ?? "";
      kind.setAttribute("aria-label", "Category of " + quoted(mark));
      kind.addEventListener("change", () => { mark.category = kind.value === "" ? null : Number(kind.value); keep(); say(""); });
      // a mark of a category that the list does not have gets none
      if (kind.selectedIndex < 1) { kind.value = ""; mark.category = null; }
    } else mark.category = 0;
    const button = mark.row.querySelector("button");
    button.setAttribute("aria-label", "Remove " + quoted(mark));
    button.addEventListener("click", () => remove(mark));
    const at = one => one.box ? one.box.side * 1e9 + one.start : Infinity;
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

  // note the selection; while the focus is elsewhere, the last one is kept
  function look() {
    const now = selection();
    if (!now) return;
    const { box, low, high } = now;
    selected = low === high ? null : { box, start: box.edges.findLast(edge => edge <= low), end: box.edges.find(edge => edge >= high) };
    const ready = selected || atCaret();
    for (const button of severities) button.setAttribute("aria-disabled", String(!ready));
  }

  function markAs(severity) {
    // browsers may report a change of the selection only later
    look();
    const same = one => ["box", "start", "end"].every(name => one[name] === selected[name]);
    let mark = selected ? marks.find(same) : atCaret();
    const added = !mark;
    if (!mark && !selected) { say("Select the words in error first."); return; }
    if (mark) {
      mark.severity = severity;
      mark.row.querySelector(".severity").value = severity;
    } else mark = add(severity, selected.box.side ? omission() : null, selected.box, selected.start, selected.end);
    // a caret after the mark shows it, and lets its severity be changed
    select(mark.box, [mark.end, mark.end]);
    selected = null;
    asked(mark, `Marked as ${names[severity]}: ${quoted(mark)}.`);
    if (added && mark.box.side) mark.row.querySelector(".category")?.focus();
  }

  // the usual category of missing content, and of marks in the source
  function omission() {
    const kinds = [...document.getElementById("row").content.querySelectorAll(".category option")];
    const found = kinds.find(one => one.textContent.toLowerCase().endsWith("omission"));
    return found ? Number(found.value) : null;
  }

  function missing() {
    const mark = add(Math.max(0, names.indexOf("minor")), omission());
    asked(mark, "Added: missing content.");
    if (mark.category !== null) mark.row.querySelector(".severity").focus();
  }

  function atCaret() {
    const now = selection();
    return now ? marks.find(mark => mark.box === now.box && mark.start <= now.high && mark.end >= now.low) : undefined;
  }

  severities.forEach((button, severity) => button.addEventListener("click", () => markAs(severity)));
  document.getElementById("missing").addEventListener("click", missing);
  // keep the selection while a button is pressed
  task.querySelectorAll("[data-severity], #missing").forEach(button => button.addEventListener("mousedown", event => event.preventDefault()));

  for (const { element } of boxes) {
    const set = {
      contenteditable: "true", role: "textbox", "aria-multiline": "true", "aria-readonly": "true",
      "aria-labelledby": element.closest("section").getAttribute("aria-labelledby"), "aria-describedby": "how", inputmode: "none", spellcheck: "false", autocorrect: "off", autocapitalize: "off", translate: "no",
    };
    for (const [name, value] of Object.entries(set)) element.setAttribute(name, value);
    // editable only to have a caret: changes are prevented or undone
    for (const name of ["beforeinput", "dragstart", "drop"]) element.addEventListener(name, event => event.preventDefault());
    for (const name of ["input", "compositionend"]) element.addEventListener(name, draw);
    element.addEventListener("keydown", event => {
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
  }
  document.addEventListener("selectionchange", look);
  list.addEventListener("keydown", event => {
    if (!event.target.matches("select") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      back(marks.find(mark => mark.row.contains(event.target)));
    }
  });

  document.getElementById("scriptless").remove();
  let start = { marks: JSON.parse(list.dataset.marks || "[]") };
  try {
    const stored = JSON.parse(sessionStorage.getItem(draft));
    if (stored && stored.changed === list.dataset.changed) start = stored;
  } catch { /* none, or no storage */ }
  for (const [severity, category, from, to, side = 0] of start.marks) {
    const box = from === undefined ? undefined : boxOf(side);
    add(severity, category, ...(box ? [box, toUnits(box, from), toUnits(box, to)] : []));
  }
  if (score && start.score) {
    score.value = start.score;
    score.dispatchEvent(new Event("input"));
  }
  changed();
  task.addEventListener("input", keep);
  task.addEventListener("submit", keep);
})();
