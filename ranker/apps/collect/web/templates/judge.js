"use strict";
// Keys for everything that the page offers; it works without this file, by mouse and by Tab.
(() => {
  const task = document.getElementById("task");
  const undo = document.getElementById("undo");
  const differences = document.getElementById("differences");
  const kind = task ? task.dataset.kind : "";
  const outputs = task ? [...task.querySelectorAll(".output")] : [];
  let marked = 0;

  function mark(place, focus) {
    marked = Math.max(0, Math.min(outputs.length - 1, place));
    outputs.forEach((one, index) => one.classList.toggle("marked", index === marked));
    if (!focus) return;
    const radios = [...outputs[marked].querySelectorAll("input")];
    (radios.find(one => one.checked) || radios[0]).focus({ preventScroll: true });
    outputs[marked].scrollIntoView({ block: "nearest" });
  }

  function choose(name, value) {
    const radio = [...task.querySelectorAll("input[type=radio]")].find(one => one.name === name && one.value === value);
    if (!radio) return false;
    radio.checked = true;
    radio.focus({ preventScroll: true });
    return true;
  }

  function rank(key) {
    if (/^[1-9]$/.test(key)) {
      if (choose("value" + marked, key) && marked + 1 < outputs.length) mark(marked + 1, true);
      return true;
    }
    if (key === "ArrowUp" || key === "ArrowDown") {
      mark(marked + (key === "ArrowUp" ? -1 : 1), true);
      return true;
    }
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const radios = [...outputs[marked].querySelectorAll("input")];
      const now = radios.findIndex(one => one.checked);
      const next = now < 0 ? 0 : now + (key === "ArrowLeft" ? -1 : 1);
      if (radios[next]) choose(radios[next].name, radios[next].value);
      return true;
    }
    return false;
  }

  const pair = { 1: "first", ArrowLeft: "first", 2: "same", 0: "same", "=": "same", ArrowDown: "same", 3: "second", ArrowRight: "second" };

  function scale(key) {
    if (/^[1-5]$/.test(key)) return choose("value0", key);
    if (key !== "ArrowUp" && key !== "ArrowDown") return false;
    const radios = [...task.querySelectorAll("input[type=radio]")];
    const now = radios.findIndex(one => one.checked);
    const next = radios[now < 0 ? 0 : now + (key === "ArrowUp" ? -1 : 1)];
    if (next) choose(next.name, next.value);
    return true;
  }

  const number = document.getElementById("number");
  const slider = document.getElementById("slider");
  if (slider) {
    slider.parentElement.hidden = false;
    slider.addEventListener("input", () => { number.value = slider.value; });
    number.addEventListener("input", () => { if (number.value !== "" && number.checkValidity()) slider.value = number.value; });
  }

  function score(key, target) {
    if (/^[0-9]$/.test(key)) {
      // the browser then types the digit into the field, which has the focus now
      if (target !== number) { number.focus(); number.select(); }
      return false;
    }
    if ((key === "ArrowLeft" || key === "ArrowRight") && target !== slider) {
      const from = number.value === "" ? 50 : Number(number.value);
      slider.value = number.value === "" ? 50 : from + (key === "ArrowLeft" ? -1 : 1);
      number.value = slider.value;
      slider.focus();
      return true;
    }
    return false;
  }

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const key = event.key, target = event.target;
    const control = target.closest("button, a, summary");
    let used = false;
    if (key === "Enter" && task && !control && !event.repeat) {
      // for mqm, Enter outside the form only goes to the button, so that no page is saved by accident
      if (kind !== "mqm" || task.contains(target)) task.requestSubmit();
      else document.querySelector("button[form=task]").focus();
      used = true;
    }
    else if (key.toLowerCase() === "u" && undo) { undo.requestSubmit(); used = true; }
    else if (key.toLowerCase() === "d" && differences) { differences.checked = !differences.checked; used = true; }
    else if (kind === "ranking") used = rank(key);
    else if (kind === "pairwise") used = key in pair && choose("choice", pair[key]);
    else if (number) used = score(key, target);
    else if (kind && kind !== "mqm") used = scale(key);
    if (used) event.preventDefault();
  });

  // refuse a second click while the first request is on its way, for three seconds, because no event tells of a request
  // that the judge stopped; the server accepts a form once
  let sent = false;
  document.addEventListener("submit", event => {
    if (sent) { event.preventDefault(); return; }
    sent = true;
    setTimeout(() => { sent = false; }, 3000);
  });
  // reload a page from the browser's memory: its form was sent already, or others were sent since
  window.addEventListener("pageshow", event => { sent = false; if (event.persisted) location.reload(); });

  if (kind === "ranking") {
    outputs.forEach((one, index) => one.addEventListener("focusin", () => mark(index, false)));
    outputs.forEach((one, index) => one.addEventListener("click", () => mark(index, false)));
    const open = outputs.findIndex(one => !one.querySelector("input:checked"));
    mark(open < 0 ? 0 : open, false);
  }
})();
