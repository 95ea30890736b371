"use strict";
// Sorts tables, says where one goes on sideways, and shows all sources. Everything else is there without it.
(() => {
  const $ = id => document.getElementById(id);

  // Tables: a click on a head sorts by its column, numbers from the highest, what is missing last.
  const written = cell => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".interval, .muted").forEach(one => one.remove());
    return copy.textContent.trim();
  };
  const number = text => /^\[?[-+−]?[\d.]/.test(text) ? parseFloat(text.replace("−", "-").replace(/[[,]/g, "")) : NaN;

  function sort(table, column) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], head = heads[column];
    const rows = [...body.rows].map(row => ({ row, text: written(row.cells[column]) }));
    const there = rows.filter(one => one.text && one.text !== "–");
    const numeric = there.every(one => !Number.isNaN(number(one.text)));
    const first = numeric ? "descending" : "ascending";
    const now = head.getAttribute("aria-sort") === first ? (numeric ? "ascending" : "descending") : first;
    const sign = now === "ascending" ? 1 : -1;
    const compare = numeric ? (a, b) => number(a.text) - number(b.text) : (a, b) => a.text.localeCompare(b.text);
    there.sort((a, b) => sign * compare(a, b));
    body.append(...there.map(one => one.row), ...rows.filter(one => !there.includes(one)).map(one => one.row));
    heads.forEach(one => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", now);
  }

  function sortable(table) {
    if (!table.tHead || table.tBodies[0].rows.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = element("button", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column));
      head.append(button);
    });
  }

  const hints = new ResizeObserver(entries => entries.forEach(({ target }) => {
    target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
  }));

  function hinted(scroll) {
    scroll.before(element("p", { className: "hint", hidden: true }, "Scroll right for more columns →"));
    hints.observe(scroll);
  }

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  document.querySelectorAll("table").forEach(sortable);
  document.querySelectorAll(".scroll").forEach(hinted);

  const box = $("browse");
  if (!box) return;
  box.hidden = false;

  // All sources. Texts reach the page as text nodes alone.
  const KEY = 0, GROUP = 1, SEGMENT = 2, TEXT = 3, REFERENCES = 4, RHO = 5, OUTPUTS = 6;
  const SYSTEMS = 0, OUTPUT = 1, RANK = 2, SCORE = 3, PEOPLE = 4, HUMAN = 5, PARTS = 6;
  const PAGE = 25, LONG = 2000, START = 1000;
  const query = $("query"), group = $("group"), order = $("order"), list = $("list");
  let parts = [], title = "", withSign = true, sources = [], haystacks = [], places = new Map(), found = [], page = 0;

  async function unpack() {
    const text = atob($("packed").textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  const bdi = (...children) => element("bdi", {}, ...children);
  const figure = value => value === null ? "–" : (withSign && value >= 0 ? "+" : "") + value.toFixed(3);
  const fixed = value => value === null ? "–" : value.toFixed(2);
  const separated = texts => texts.flatMap((text, place) => place ? [", ", bdi(text)] : [bdi(text)]);

  // Words, single characters of scripts that write no spaces, and punctuation.
  const ALONE = "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]";
  const LETTER = `(?:(?!${ALONE})[\\p{L}\\p{M}\\p{N}])`;
  const WORD = new RegExp(`${ALONE}(?:[\\u1039\\u17d2]\\p{L}|[\\p{M}\\u0e33\\u0eb3])*|${LETTER}+(?:['’.,-]${LETTER}+)*|\\S`, "gu");
  const words = text => [...text.matchAll(WORD)].map(one => ({ text: one[0], key: one[0].toLowerCase(), at: one.index }));

  function counted(tokens) {
    const counts = new Map();
    tokens.forEach(one => counts.set(one.key, (counts.get(one.key) || 0) + 1));
    return counts;
  }

  // Which words are among the counted ones, each no more often than there.
  function present(tokens, counts) {
    const free = new Map(counts);
    return tokens.map(one => {
      const left = free.get(one.key) || 0;
      free.set(one.key, left - 1);
      return left > 0;
    });
  }

  // Characters beyond U+FFFF are two units of a text, which no cut parts.
  const cut = (text, end) => text.slice(0, /[\ud800-\udbff]/.test(text[end - 1]) ? end - 1 : end);
  const shownPart = text => text.length > LONG ? cut(text, START) : text;

  // A text whose words have a class each; neighbours of one class are one mark.
  function marked(text, tokens, classes) {
    const shown = shownPart(text), made = bdi();
    let end = 0, last = null, lastClass = "";
    tokens.forEach((token, place) => {
      const stop = token.at + token.text.length, name = classes[place];
      if (last && lastClass === name) last.append(shown.slice(end, stop));
      else {
        made.append(shown.slice(end, token.at));
        last = name ? element("mark", { className: name }, token.text) : element("span", {}, token.text);
        made.append(last);
        lastClass = name;
      }
      end = stop;
    });
    made.append(shown.slice(end), shown === text ? "" : "…");
    return [made, ...rest(text)];
  }

  function rest(text) {
    if (text.length <= LONG) return [];
    const all = element("details", { className: "rest" }, element("summary", {}, `All ${[...text].length.toLocaleString("en")} characters`));
    all.addEventListener("toggle", () => all.childElementCount > 1 || all.append(bdi(text)));
    return [all];
  }

  // Words of the longest common subsequence.
  function common(first, second) {
    const wide = second.length + 1, best = new Uint16Array((first.length + 1) * wide);
    for (let i = first.length - 1; i >= 0; i--)
      for (let j = second.length - 1; j >= 0; j--)
        best[i * wide + j] = first[i].key === second[j].key ? best[(i + 1) * wide + j + 1] + 1
          : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
    const inFirst = first.map(() => false), inSecond = second.map(() => false);
    for (let i = 0, j = 0; i < first.length && j < second.length;) {
      if (first[i].key === second[j].key) inFirst[i++] = inSecond[j++] = true;
      else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
      else j++;
    }
    return [inFirst, inSecond];
  }

  function differences(one, other) {
    const tokens = [one, other].map(output => words(shownPart(output[OUTPUT])));
    const shared = common(...tokens);
    return [one, other].map((output, side) => element("div", {}, element("b", {}, ...separated(output[SYSTEMS])), " ",
      marked(output[OUTPUT], tokens[side], shared[side].map(same => same ? "" : "only"))[0]));
  }

  function fill(details, source) {
    const references = source[REFERENCES], tokens = references.map(text => words(shownPart(text)));
    const outputs = source[OUTPUTS], outputTokens = outputs.map(one => words(shownPart(one[OUTPUT])));
    const known = new Map();
    tokens.map(counted).forEach(counts => counts.forEach((count, key) => known.set(key, Math.max(count, known.get(key) || 0))));
    const facts = element("dl", { className: "facts" });
    const fact = (name, ...values) => facts.append(element("dt", {}, name), element("dd", {}, ...values));
    fact("Source", bdi(shownPart(source[TEXT]), source[TEXT].length > LONG ? "…" : ""), ...rest(source[TEXT]));
    const boxes = references.map((_, place) => {
      fact("Reference" + (references.length > 1 ? ` ${place + 1}` : ""));
      return facts.lastElementChild;
    });
    const difference = element("div", { className: "difference", hidden: true });
    difference.setAttribute("aria-live", "polite");
    const buttons = outputs.map((one, place) => {
      const button = element("button", { type: "button" }, `${one[RANK]}. `, ...separated(one[SYSTEMS]));
      button.addEventListener("click", () => choose(place));
      return button;
    });
    const rows = outputs.map((one, place) => {
      const people = one[PEOPLE].length ? [element("span", {}, `people: ${one[PEOPLE].map(rank => rank ?? "–").join(", ")}`)] : [];
      const human = one[PEOPLE].length ? [element("span", { className: "muted" }, `human ${one[HUMAN].map(fixed).join(", ")}`)] : [];
      const head = element("div", { className: "head" }, buttons[place], ...people, element("span", {}, `score ${figure(one[SCORE])}`), ...human);
      const classes = present(outputTokens[place], known).map(here => here ? "same" : "");
      return element("li", {}, head, element("div", {}, ...marked(one[OUTPUT], outputTokens[place], classes)));
    });

    // The references show what the output chosen last lacks; two chosen outputs are compared.
    let chosen = [];
    function choose(place) {
      chosen = chosen.includes(place) ? chosen.filter(one => one !== place) : [...chosen, place].slice(-2);
      buttons.forEach((one, at) => one.setAttribute("aria-pressed", chosen.includes(at)));
      const has = chosen.length ? counted(outputTokens[chosen[chosen.length - 1]]) : null;
      boxes.forEach((one, at) => one.replaceChildren(...marked(references[at], tokens[at],
        has ? present(tokens[at], has).map(here => here ? "same" : "missing") : tokens[at].map(() => ""))));
      difference.hidden = chosen.length < 2;
      difference.replaceChildren(...chosen.length < 2 ? [] : differences(outputs[chosen[0]], outputs[chosen[1]]));
    }
    if (outputs.length) choose(0);
    const help = outputs.length > 1 ? "Select an output to mark what it misses in the references, and a second one to compare the two."
      : "Marked words also occur in a reference; in a reference, words missing from the output are marked.";
    details.append(facts, element("p", { className: "muted" }, help), difference, element("ul", { className: "outputs" }, ...rows),
      ...(parts.length ? [partsOf(source)] : []), element("p", {}, element("a", { href: address(source[KEY]) }, "Link to this source")));
  }

  function partsOf(source) {
    const largest = Math.max(...source[OUTPUTS].flatMap(one => one[PARTS].map(Math.abs)));
    const cell = value => {
      const shade = withSign && largest > 0 ? Math.round(4 * Math.abs(value) / largest) : 0;
      return element("td", { className: shade ? (value > 0 ? "up" : "down") + shade : "" }, figure(value));
    };
    const heading = (text, className = "") => element("th", { scope: "col", className }, text);
    const head = element("tr", {}, heading("system", "text"), heading("score"), ...parts.map(name => heading(bdi(name))));
    const rows = source[OUTPUTS].map(one => element("tr", {}, element("th", { scope: "row" }, ...separated(one[SYSTEMS])),
      element("td", {}, figure(one[SCORE])), ...one[PARTS].map(cell)));
    const made = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
    const scroll = element("div", { className: "scroll", tabIndex: 0 }, made);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", title);
    const folded = element("details", {}, element("summary", {}, title), scroll);
    sortable(made);
    hinted(scroll);
    return folded;
  }

  const address = key => "#s=" + encodeURIComponent(key).replaceAll("%2F", "/");

  function item(source) {
    const text = source[TEXT], start = text.length > 90 ? cut(text, 90) + "…" : text;
    const tag = source[RHO] === null ? [] : [element("span", { className: "tag" }, `ρ ${fixed(source[RHO])}`), " "];
    const made = element("details", { className: "source" },
      element("summary", {}, ...tag, bdi(source[GROUP]), " ", bdi(source[SEGMENT]), ": ", bdi(start)));
    made.dataset.key = source[KEY];
    made.addEventListener("toggle", () => {
      if (made.open && made.childElementCount === 1) fill(made, source);
      if (made.open) history.replaceState(null, "", address(source[KEY]));
      else if (asked() === source[KEY]) history.replaceState(null, "", "#all-sources");
    });
    return made;
  }

  function render() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.max(0, Math.min(page, pages - 1));
    list.replaceChildren(...found.slice(page * PAGE, (page + 1) * PAGE).map(place => item(sources[place])));
    $("found").textContent = `${found.length.toLocaleString("en")} of ${sources.length.toLocaleString("en")} sources`
      + (pages > 1 ? `, page ${page + 1} of ${pages}` : "");
    $("previous").disabled = page === 0;
    $("next").disabled = page === pages - 1;
  }

  const spread = source => Math.abs(source[OUTPUTS][0][SCORE] - source[OUTPUTS][source[OUTPUTS].length - 1][SCORE]);
  const keys = {
    worst: source => source[RHO] ?? Infinity,
    best: source => -(source[RHO] ?? -Infinity),
    apart: source => -spread(source),
    long: source => -source[TEXT].length,
  };

  function search() {
    const terms = [...query.value.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map(one => one[1] || one[0]);
    found = [];
    for (let place = 0; place < sources.length; place++)
      if ((!group.value || sources[place][GROUP] === group.value) && terms.every(term => haystacks[place].includes(term))) found.push(place);
    const key = keys[order.value];
    if (key) found = found.map(place => [key(sources[place]), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(one => one[1]);
    page = 0;
    render();
  }

  function asked() {
    if (!location.hash.startsWith("#s=")) return null;
    try {
      return decodeURIComponent(location.hash.slice(3));
    } catch {
      return location.hash.slice(3);
    }
  }

  // Opens the source that the address names, whatever is searched for.
  function follow() {
    const key = asked();
    if (key === null) return;
    const place = places.get(key);
    if (place === undefined) {
      $("found").textContent = `This report does not contain source ${key}.`;
      return $("found").scrollIntoView({ block: "center" });
    }
    if (!found.includes(place)) {
      query.value = group.value = "";
      search();
    }
    const wanted = Math.floor(found.indexOf(place) / PAGE);
    const shown = () => [...list.children].find(one => one.dataset.key === key);
    if (wanted !== page || !shown()) {
      page = wanted;
      render();
    }
    const details = shown();
    details.open = true;
    details.firstElementChild.focus({ preventScroll: true });
    details.scrollIntoView({ block: "start" });
  }

  function turn(step, end) {
    const before = page;
    page += step;
    render();
    if (page === before) return;
    const items = [...list.children];
    items[end ? items.length - 1 : 0]?.firstElementChild.focus();
  }

  function move(step) {
    const items = [...list.children], now = items.indexOf(document.activeElement.closest("details.source"));
    if (now < 0) return items[0]?.firstElementChild.focus();
    if (items[now + step]) return items[now + step].firstElementChild.focus();
    return turn(step, step < 0);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const key = event.key, here = document.activeElement, details = here.closest("#list > details.source");
    if (here === query) {
      if (key === "Escape") query.value ? (query.value = "", search()) : query.blur();
      else if (key === "Enter" || key === "ArrowDown") move(1);
      else return;
    } else if (here.matches("input, select, textarea")) return;
    else if (key === "/") query.focus(), query.select();
    else if (key === "j" || (key === "ArrowDown" && here.matches("#list > details > summary"))) move(1);
    else if (key === "k" || (key === "ArrowUp" && here.matches("#list > details > summary"))) move(-1);
    else if (key === "n") turn(1, false);
    else if (key === "p") turn(-1, false);
    else if (key === "Escape" && details) {
      details.open = false;
      details.firstElementChild.focus();
    } else if (/^[1-9]$/.test(key) && details?.open) details.querySelectorAll(".outputs .head button")[key - 1]?.click();
    else return;
    event.preventDefault();
  }

  unpack().then(data => {
    ({ parts, title, signed: withSign, sources } = data);
    haystacks = sources.map(one => [one[KEY], one[GROUP], one[TEXT], ...one[REFERENCES],
      ...one[OUTPUTS].flatMap(each => [...each[SYSTEMS], each[OUTPUT]])].join("\n").toLowerCase());
    places = new Map(sources.map((one, place) => [one[KEY], place]));
    const groups = [...new Set(sources.map(one => one[GROUP]))];
    groups.forEach(name => group.append(new Option(name, name)));
    group.parentElement.hidden = groups.length < 2;
    $("loading").remove();
    document.querySelectorAll(".scripted").forEach(one => one.hidden = false);
    query.addEventListener("input", search);
    [group, order].forEach(one => one.addEventListener("change", search));
    query.form.addEventListener("submit", event => event.preventDefault());
    $("previous").addEventListener("click", () => turn(-1, false));
    $("next").addEventListener("click", () => turn(1, false));
    document.addEventListener("keydown", pressed);
    window.addEventListener("hashchange", follow);
    search();
    follow();
    box.dataset.ready = "";
  }, () => $("loading").textContent = "This browser cannot decompress the sources: DecompressionStream is not supported.");
})();
