// Checks a source file while it is typed. The button Check asks the server for the same.
const one = (selector) => document.querySelector(selector);
const text = one("#text");
const gutter = one("#gutter");
const list = one("#problems");
const verdict = one("#verdict");
const quiet = 300; // milliseconds without a key before the server is asked

const element = (name, content, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = content;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// Line numbers, with a mark where something is wrong.
const number = (problems) => {
  const count = text.value.split("\n").length;
  text.rows = count + 1;
  const wrong = new Map();
  for (const { line, message } of problems) wrong.set(line, wrong.has(line) ? `${wrong.get(line)}; ${message}` : message);
  gutter.replaceChildren(...Array.from({ length: count }, (_, index) => {
    const line = index + 1;
    const marked = wrong.has(line) ? { class: "wrong", title: wrong.get(line) } : {};
    return element("li", line, { id: `line-${line}`, "data-line": line, ...marked });
  }));
};

const tell = (problems) => {
  list.replaceChildren(...problems.map(({ line, col, path, message, hint }) => {
    const item = document.createElement("li");
    if (line) item.append(element("a", `line ${line}${col ? `, column ${col}` : ""}`, { href: `#line-${line}` }), " ");
    item.append(element("b", message));
    if (path) item.append(" ", element("code", path));
    if (hint) item.append(" ", element("span", hint, { class: "muted" }));
    return item;
  }));
};

let known = [...gutter.querySelectorAll(".wrong")].map((mark) => ({ line: Number(mark.dataset.line), message: mark.title }));
let asking = null;
const check = async () => {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  try {
    const answer = await fetch("/v1/source-files/check", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ yaml: text.value }), signal: mine.signal,
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.detail);
    known = found.problems;
    tell(known);
    number(known);
    verdict.textContent = known.length === 0 ? "No problem." : `${known.length} problem${known.length === 1 ? "" : "s"}`;
  } catch (trouble) {
    if (!mine.signal.aborted) verdict.textContent = `It could not be checked: ${trouble.message}`;
  }
};

let timer = 0;
text.addEventListener("input", () => {
  number(known);
  verdict.textContent = "…";
  clearTimeout(timer);
  timer = setTimeout(check, quiet);
});

// The place of a problem leads into the text, not only to the number of its line.
list.addEventListener("click", (event) => {
  const line = Number(event.target.closest("a[href^='#line-']")?.hash.slice("#line-".length));
  if (!line) return;
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus({ preventScroll: true });
  text.setSelectionRange(start, start + lines[line - 1].length);
});
