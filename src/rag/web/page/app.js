"use strict";

const $ = (id) => document.getElementById(id);
const texts = JSON.parse($("texts").textContent);
const [query, results, talk, turns, note, chips] =
  ["query", "results", "talk", "turns", "note", "chips"].map($);
const state = { mode: "search", vault: [], tag: [], days: "", note: "", in: "", line: "", session: "" };
const say = (text) => { $("said").textContent = text; };

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

async function get(address, signal) {
  const answer = await fetch(address, { signal, headers: { Accept: "text/html" } });
  if (!answer.ok) throw await failure(answer);
  return answer.text();
}

async function failure(answer) {
  const content = await answer.json().catch(() => ({}));
  const { message, hint } = content.error ?? { message: answer.statusText, hint: "" };
  return new Error([message, hint].filter(Boolean).join(". "));
}

/* What went wrong, in words: the page's own where the server is gone. */
function reason(error) {
  const isGone = error instanceof TypeError || error.name === "TimeoutError";
  return isGone ? texts.offline : error.message;
}

/* What the program says, in English, with `code` as code. */
function told(text) {
  const parts = text.split(/`([^`]+)`/);
  return make("span", { lang: text === texts.offline ? texts.lang : "en" },
    ...parts.map((part, at) => at % 2 ? make("code", { textContent: part }) : part));
}

function showError(place, error) {
  const text = reason(error);
  place.replaceChildren(make("div", { className: "empty" }, make("p", { textContent: texts.failed }),
    make("p", {}, told(text))));
  say(text);
  if (text === texts.offline) showStatus();
}

// -- search as you type: one request at a time, then the newest words ----------------------------

const PATIENCE = 200;  // milliseconds; then newer words end a search
let isComposing = false, asked = null, running = null, saving = 0;

/* The filters that are chosen, by the names that the API has for them. */
function filters() {
  const day = new Date(Date.now() - state.days * 864e5 - new Date().getTimezoneOffset() * 6e4);
  const chosen = { vaults: state.vault, tags: state.tag, from: state.days ? [day.toISOString().slice(0, 10)] : [] };
  return Object.entries(chosen).filter(([, values]) => values.length);
}

function wanted() {
  const words = new URLSearchParams(filters().flatMap(([name, values]) => values.map((value) => [name, value])));
  if (state.mode === "search" && query.value.trim()) words.set("query", query.value.trim());
  words.set("top_k", query.value.trim() ? "15" : "12");
  if (!query.value.trim()) words.set("order", "modified");
  return words.toString();
}

async function search() {
  const words = wanted();
  if (isComposing || state.mode !== "search" || words === (running?.words ?? asked)) return;
  if (running && !running.isLate) return;  // it comes back here, at its end or when it is late
  running?.abort();
  const own = running = Object.assign(new AbortController(), { words, isLate: false });
  const late = setTimeout(() => { own.isLate = true; search(); }, PATIENCE);
  const show = await get(`/page/results?${words}`, own.signal)
    .then((html) => () => showResults(html), (error) => () => showError(results, error));
  clearTimeout(late);
  if (running !== own) return;  // newer words have ended it
  [running, asked] = [null, words];
  if (words === wanted()) show();
  search();
}

function showResults(html) {
  results.innerHTML = html;
  results.scrollTop = 0;
  const heading = results.querySelector(".count");
  say(heading?.dataset.said ?? texts.none);
  markCurrent();
  clearTimeout(saving);
  saving = setTimeout(() => remember(true), 250);  // browsers allow a hundred in 30 s
  results.dispatchEvent(new CustomEvent("painted"));
}

// -- where we are ------------------------------------------------------------------------------

function address() {
  const words = new URLSearchParams(["vault", "tag"].flatMap((kind) => state[kind].map((value) => [kind, value])));
  if (state.days) words.set("days", state.days);
  if (state.mode === "ask") words.set("mode", "ask");
  else if (query.value.trim()) words.set("q", query.value.trim());
  for (const name of ["note", "in", "line"]) if (state[name]) words.set(name, state[name]);
  const text = words.toString();
  return text ? `/?${text}` : "/";
}

function remember(isSame) {
  if (address() !== location.pathname + location.search)
    history[isSame ? "replaceState" : "pushState"](null, "", address());
}

function restore() {
  const words = new URLSearchParams(location.search);
  for (const kind of ["vault", "tag"]) state[kind] = words.getAll(kind);
  for (const name of ["days", "note", "in", "line"]) state[name] = words.get(name) ?? "";
  setMode(words.get("mode") === "ask" ? "ask" : "search");
  if (state.mode === "search") query.value = words.get("q") ?? "";
  markChips();
  search();
  showNote();
}

function setMode(mode) {
  state.mode = document.body.dataset.mode = mode;
  const isAsk = mode === "ask";
  $("mode-search").setAttribute("aria-pressed", !isAsk);
  $("mode-ask").setAttribute("aria-pressed", isAsk);
  query.placeholder = isAsk ? texts.askPlaceholder : texts.placeholder;
  query.setAttribute("aria-label", query.placeholder);
  results.hidden = isAsk;
  talk.hidden = $("send").hidden = !isAsk;
}

function choose(mode) {
  setMode(mode);
  state.note = "";
  remember(false);
  showNote();
  search();
  query.focus();
  query.select();
}

function markChips() {
  for (const chip of chips.querySelectorAll("button")) {
    const { filter, value } = chip.dataset;
    chip.setAttribute("aria-pressed", filter === "days" ? state.days === value : state[filter].includes(value));
  }
  for (const tag of state.tag)  // one that a note has led to, and that is not among the chips
    if (![...chips.querySelectorAll("[data-filter=tag]")].some((chip) => chip.dataset.value === tag)) {
      const chip = make("button", { type: "button", textContent: `#${tag}` });
      Object.assign(chip.dataset, { filter: "tag", value: tag });
      chip.setAttribute("aria-pressed", true);
      chips.append(chip);
    }
}

// -- a note ------------------------------------------------------------------------------------

let noteRequest = null;

async function showNote() {
  noteRequest?.abort();
  document.body.classList.toggle("open", Boolean(state.note));
  note.hidden = !state.note;
  markCurrent();
  if (!state.note) { note.replaceChildren(); document.title = "rag"; return; }
  noteRequest = new AbortController();
  const words = new URLSearchParams({ note: state.note, in: state.in, line: state.line });
  try {
    note.innerHTML = await get(`/page/note?${words}`, noteRequest.signal);
  } catch (error) {
    if (error.name !== "AbortError") showError(note, error);
    return;
  }
  const article = note.querySelector("article");
  document.title = `${article.dataset.title} · rag`;
  say(article.dataset.title);
  toLine(Number(article.dataset.line));
  showContents([...article.querySelectorAll(":is(h1, h2, h3, h4, h5, h6)[data-line]")]);
  const place = note.querySelector(".related");
  get(`/page/related?${new URLSearchParams({ note: place.dataset.note })}`, noteRequest.signal)
    .then((html) => { place.innerHTML = html; }).catch(() => {});
}

/* List the headings of the note, which lead to their lines. */
function showContents(headings) {
  const contents = note.querySelector(".contents");
  contents.hidden = headings.length < 2;
  for (const heading of headings.slice(0, 100)) {
    const link = make("a", { href: "#", textContent: heading.textContent });
    link.dataset.to = heading.dataset.line;
    contents.querySelector("ul").append(make("li", { className: `level-${heading.tagName[1]}` }, link));
  }
}

function toLine(line) {
  note.querySelector(".here")?.classList.remove("here");
  const scroller = getComputedStyle(note).overflowY === "auto" ? note : document.scrollingElement;
  let at = null;
  for (const block of line > 1 ? note.querySelectorAll("article [data-line]") : [])
    if (Number(block.dataset.line) <= line) at = block;
  if (!at) { scroller.scrollTop = 0; return; }
  at.classList.add("here");
  at.scrollIntoView({ block: "center" });
}

function openNote(words, isSame = false) {
  for (const name of ["note", "in", "line"]) state[name] = words.get(name) ?? "";
  remember(isSame);
  return showNote();
}

function closeNote() {
  const current = results.querySelector("[aria-current]");
  state.note = state.in = state.line = "";
  remember(false);
  showNote();
  (current ?? query).focus();
}

function markCurrent() {
  for (const link of results.querySelectorAll("a")) {
    const isOpen = state.note && new URLSearchParams(link.search).get("note") === state.note;
    isOpen ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
}

// -- answers -----------------------------------------------------------------------------------

let conversation = null;

async function ask(question) {
  conversation?.abort();
  conversation = new AbortController();
  const turn = new Turn(question);
  const { from, ...chosen } = Object.fromEntries(filters());
  if (from) [chosen.from] = from;
  try {
    const answer = await fetch("/v1/chat", {
      method: "POST", signal: conversation.signal, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ question, session: state.session, ...chosen }),
    });
    if (!answer.ok) throw await failure(answer);
    for await (const [name, content] of events(answer.body)) turn[name]?.(content);
  } catch (error) {
    if (error.name !== "AbortError") turn.fail(reason(error));
  }
  turn.end();
}

async function* events(body) {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + part).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n");
      yield [name.slice(7), JSON.parse(data.slice(6))];
    }
  }
}

class Turn {
  constructor(question) {
    this.count = { verified: 0, doubtful: 0, unsupported: 0, struck: 0 };
    this.answer = make("div", { className: "answer" });
    const stop = make("button", { type: "button", className: "quiet", textContent: texts.stop });
    stop.onclick = () => conversation.abort();
    this.waiting = make("div", { className: "wait" }, make("i"), texts.thinking, stop);
    this.tally = make("p", { className: "tally" });
    this.sources = make("div", { className: "sources" });
    this.element = make("div", { className: "turn" }, make("h2", { textContent: question }),
      make("div", {}, this.answer, this.waiting, this.tally), this.sources);
    turns.append(this.element);
    talk.querySelector(".intro").hidden = true;
    $("new-chat").hidden = false;
    this.element.scrollIntoView({ block: "start" });
    say(texts.thinking);
  }

  sentence({ text, verdict, sources, answer }) {
    if (verdict in this.count) this.count[verdict] += 1;
    if (verdict === "struck") {
      this.answer.append(make("span", { className: "struck", textContent: texts.struck }));
      return;
    }
    const line = text.replace(/\s+$/, "");
    const item = /^\s*(?:[-*+]|\d+[.)])\s+/.exec(line);
    if (verdict === "quoted") this.block = this.answer;
    else if (/^\s*(```|~~~|\|)/.test(line)) this.block = this.answer.appendChild(make("pre"));
    else if (item) {
      const list = this.answer.lastElementChild?.tagName === "UL" ? this.answer.lastElementChild : this.answer.appendChild(make("ul"));
      this.block = list.appendChild(make("li"));
    } else if (!this.block || this.ended) this.block = this.answer.appendChild(make("p"));
    this.ended = /\n$/.test(text);
    const span = make("span", { className: verdict });
    if (texts[verdict] && verdict !== "verified") span.title = texts[verdict];
    const shown = line.slice(item ? item[0].length : 0).replace(/^#+\s*/, "").replace(/\s*\[(no source|出典なし)\]/, "");
    const at = answer ? shown.indexOf(answer) : -1;
    write(span, at < 0 ? shown : shown.slice(0, at), this);
    if (at >= 0) {
      span.append(make("mark", { textContent: answer }));
      write(span, shown.slice(at + answer.length), this);
    }
    if (verdict === "quoted") for (const number of sources) span.append(" ", cite(number, false, this));
    if (verdict === "unsupported") span.append(" ", make("span", { className: "label", textContent: texts.unsupported }));
    this.block.append(span, " ");
  }

  citation(source) {
    if (!this.list) {
      this.list = make("ol");
      this.sources.append(make("h3", { textContent: texts.sources }), this.list);
    }
    this.list.append(make("li", {}, this.card(source, source.number)));
  }

  card(source, number) {
    const words = new URLSearchParams({ note: `${source.vault}/${source.path}`, line: source.line });
    const at = source.line - source.line_start + (source.repeated ?? 0);
    const lines = source.content.split("\n").slice(Math.max(0, at));
    const text = lines.filter((line) => !/^\s*(```|~~~|\|[-:| ]+\|$)/.test(line)).join("\n").trim();
    const card = make("a", { className: "source", href: `/?${words}` });
    if (number) card.append(make("b", { className: "n", textContent: number }));
    card.append(make("b", { textContent: source.title }),
      make("span", { className: "where", textContent: `${source.vault} / ${source.path}:${source.line}` }),
      make("q", { textContent: text.replace(/^[#>\-*\s]+|\*\*|`/g, "").slice(0, 300) }));
    card.dataset.number = number ?? "";
    return card;
  }

  notice({ text }) { this.element.children[1].append(make("p", { className: "notice" }, texts.notice, told(text))); }

  done(report) {
    if (report.session) state.session = report.session;
    if (!report.found) {
      this.answer.replaceChildren(make("p", { textContent: texts.notFound }));
      const near = report.near ?? [];
      if (near.length && !this.list) {
        this.sources.append(make("h3", { textContent: texts.near }),
          make("ol", {}, ...near.map((one) => make("li", {}, this.card(one)))));
      }
    }
    const written = report.found && report.model;
    const parts = written
      ? [["verified", "verified"], ["doubtful", "doubtful"], ["unsupported", "unsupported"], ["struck", "struck-count"]]
          .filter(([name]) => this.count[name])
          .map(([name, kind]) => make("span", { className: kind }, make("b", { textContent: this.count[name] }),
            ` ${name === "struck" ? texts.struckCount : texts[name]}`))
      : report.found ? [make("span", { textContent: texts.quotedBy })] : [];
    this.tally.replaceChildren(...parts);
    say(this.answer.textContent);
  }

  error({ error }) { this.fail([error.message, error.hint].filter(Boolean).join(". ")); }

  fail(text) { this.answer.append(make("p", { className: "error" }, told(text))); say(text); }

  end() { this.waiting.remove(); }
}

function cite(number, isDoubtful, turn) {
  const button = make("button", { type: "button", className: isDoubtful ? "cite doubt" : "cite",
    textContent: isDoubtful ? `${number}?` : number, title: isDoubtful ? texts.doubtful : texts.verified });
  button.setAttribute("aria-label", `${texts.source} ${number}`);
  const card = () => turn.sources.querySelector(`[data-number="${number}"]`);
  button.onmouseenter = () => card()?.classList.add("lit");
  button.onmouseleave = () => card()?.classList.remove("lit");
  button.onclick = () => card() && openNote(new URLSearchParams(card().search));
  return button;
}

/* Write a line of Markdown: **strong**, `code` and [1] alone; all else stays text. */
function write(place, text, turn) {
  for (const part of text.split(/(\*\*[^*]+\*\*|`[^`]+`|\[\d{1,3}\??\])/)) {
    const number = /^\[(\d+)(\??)\]$/.exec(part);
    if (number) place.append(cite(number[1], Boolean(number[2]), turn));
    else if (/^\*\*.+\*\*$/.test(part)) place.append(make("strong", { textContent: part.slice(2, -2) }));
    else if (/^`.+`$/.test(part)) place.append(make("code", { textContent: part.slice(1, -1) }));
    else if (part) place.append(part);
  }
}

// -- the foot ----------------------------------------------------------------------------------

let status = { html: "", request: null, timer: 0 };

/* Show how fresh the index is, and go on looking: of a core that takes 2 % at most. */
async function showStatus() {
  clearTimeout(status.timer);
  if (document.hidden || $("index-now")?.disabled) return;
  status.request?.abort();
  const own = status.request = new AbortController(), began = performance.now();
  const late = setTimeout(() => own.abort(new DOMException("", "TimeoutError")), 10_000);
  const html = await get("/page/status", own.signal)
    .catch((error) => make("b", { className: "stale" }, told(reason(error))).outerHTML);
  clearTimeout(late);
  if (status.request !== own) return;  // it was asked again
  const isFocused = document.activeElement?.id === "index-now";
  if (html !== status.html) $("status").innerHTML = status.html = html;
  if (isFocused) $("index-now")?.focus();
  showStatusIn(Math.max(3000, 50 * (performance.now() - began)));
}

function showStatusIn(milliseconds) {
  clearTimeout(status.timer);
  status.timer = setTimeout(showStatus, milliseconds);
}

async function indexNow(button) {
  button.disabled = true;
  button.textContent = texts.indexing;
  say(texts.indexing);
  status.request = null;
  let said = texts.fresh;
  try {
    const answer = await fetch("/v1/index", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    if (!answer.ok) throw await failure(answer);
    asked = null;
    search();
    showFilters();
  } catch (error) { said = reason(error); }
  button.disabled = false;
  status.html = "";
  await showStatus();
  if (said !== texts.fresh && said !== texts.offline)
    $("status").append(make("span", { className: "error" }, told(said)));
  say(said);
}

async function showFilters() {
  try { chips.innerHTML = await get("/page/filters"); } catch { return; }
  markChips();
}

// -- hands -------------------------------------------------------------------------------------

query.addEventListener("input", (event) => {
  showStatusIn(1000);  // not while somebody types
  if (!event.isComposing) search();
});
query.addEventListener("compositionstart", () => { isComposing = true; });
query.addEventListener("compositionend", () => { isComposing = false; search(); });
$("mode-search").onclick = () => choose("search");
$("mode-ask").onclick = () => choose("ask");
$("new-chat").onclick = () => {
  conversation?.abort();
  state.session = "";
  turns.replaceChildren();
  talk.querySelector(".intro").hidden = false;
  $("new-chat").hidden = true;
  query.focus();
};
$("form").onsubmit = (event) => {
  event.preventDefault();
  if (isComposing) return;
  if (state.mode === "search") { results.querySelector("a")?.click(); return; }
  const question = query.value.trim();
  if (!question) return;
  query.value = "";
  if (state.note) closeNote();
  ask(question);
};
chips.onclick = (event) => {
  const chip = event.target.closest("button");
  if (!chip) return;
  const { filter, value } = chip.dataset;
  const isOn = chip.getAttribute("aria-pressed") === "true";
  if (filter === "days") state.days = isOn ? "" : value;
  else state[filter] = isOn ? state[filter].filter((one) => one !== value) : [...state[filter], value];
  markChips();
  remember(false);
  search();
};
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (event.target.closest(".back")) { closeNote(); return; }
  if (event.target.id === "index-now") { indexNow(event.target); return; }
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  if (link.dataset.to) { event.preventDefault(); toLine(Number(link.dataset.to)); return; }
  if (link.origin !== location.origin || link.pathname !== "/" || !link.search) return;
  event.preventDefault();
  const words = new URLSearchParams(link.search);
  if (words.has("note")) { openNote(words).then(() => note.focus({ preventScroll: true })); return; }
  state.tag = [words.get("tag")];  // a tag of a note
  query.value = "";
  markChips();
  choose("search");
});
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches("input");
  const links = [...results.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "/" && !isTyping) { event.preventDefault(); query.focus(); query.select(); }
  else if (event.key === "Escape") {
    event.preventDefault();
    if (state.note) closeNote();
    else if (document.activeElement !== query) query.focus();
    else { query.value = ""; search(); }
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (isTyping || at >= 0) && !results.hidden) {
    event.preventDefault();
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    next < 0 ? query.focus() : links[Math.min(next, links.length - 1)]?.focus();
  }
});
document.addEventListener("error", (event) => {
  if (event.target.matches?.("article img")) event.target.classList.add("missing");
}, true);
new ResizeObserver(([header]) =>
  document.body.style.setProperty("--head", `${header.target.offsetHeight}px`)).observe(document.querySelector("header"));
addEventListener("popstate", restore);
addEventListener("visibilitychange", showStatus);
restore();
showFilters();
showStatus();
