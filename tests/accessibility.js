// What a page has wrong of what axe would complain of: names of controls, contrast of texts, landmarks, ids, headings,
// sizes of what is touched; and what goes beyond the window.
() => {
  const wrong = [];
  const shown = one => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".hidden, .skip");
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const parse = text => text.match(/[\d.]+/g).map(Number);
  const background = one => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      layers.unshift(parse(getComputedStyle(at).backgroundColor));
      if (layers[0].length < 4 || layers[0][3] === 1) break;
    }
    const below = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    return layers.reduce((under, [r, g, b, alpha = 1]) => [r, g, b].map((v, i) => alpha * v + (1 - alpha) * under[i]), below);
  };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), one = walker.currentNode.parentElement;
    if (!text || !shown(one)) continue;
    const style = getComputedStyle(one);
    const ink = one.closest("svg") ? parse(style.fill) : parse(style.color);
    const found = contrast(ink, background(one));
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (found < (large ? 3 : 4.5)) wrong.push(`contrast ${found.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  const name = one => one.getAttribute("aria-label") || one.textContent.trim() || [...(one.labels || [])].map(l => l.textContent.trim()).join("")
    || (one.getAttribute("aria-labelledby") || "").split(" ").map(id => document.getElementById(id)?.textContent || "").join("");
  for (const one of document.querySelectorAll("input:not([type=hidden]), button, a[href], select, progress, [role=img], [role=region], fieldset"))
    if (!(one.tagName === "FIELDSET" ? one.querySelector("legend")?.textContent.trim() : name(one))) wrong.push("no name: " + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll("section[aria-labelledby]"))
    if (!document.getElementById(one.getAttribute("aria-labelledby"))) wrong.push("no title: " + one.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("id twice: " + id);
  for (const [what, count] of [["main", 1], ["h1", 1]])
    if (document.querySelectorAll(what).length !== count) wrong.push(`expected ${count} ${what}`);
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  let level = 0;
  for (const one of document.querySelectorAll("h1, h2, h3")) {
    const now = Number(one.tagName[1]);
    if (now > level + 1) wrong.push("heading left out before " + one.textContent);
    level = now;
  }
  for (const one of document.querySelectorAll("#task label, button, summary, input[type=number]")) {
    const box = one.getBoundingClientRect();
    if (shown(one) && !one.matches(".small, [hidden] *") && (box.height < 24 || box.width < 24)) wrong.push("small: " + one.outerHTML.slice(0, 80));
  }
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push("scrolls sideways");
  for (const one of document.querySelectorAll("body *"))
    if (shown(one) && !one.closest(".scroll, .skip, svg") && one.getBoundingClientRect().right > width + 1) wrong.push("outside: " + one.outerHTML.slice(0, 80));
  return wrong;
}
