// Extras of the dashboard. Every page is complete without them, and they keep no state.
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;

// Theme: the form does the same with a round trip.
const themeButton = one("#theme");
if (themeButton) {
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const label = () => {
    themeButton.value = isDark() ? "light" : "dark";
    themeButton.textContent = isDark() ? "Light" : "Dark";
  };
  label();
  themeButton.form.addEventListener("submit", (event) => {
    event.preventDefault();
    root.dataset.theme = themeButton.value;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `patra-theme=${themeButton.value}; Path=/; Max-Age=31536000; SameSite=Strict${secure}`;
    label();
  });
}

// Copy a command. The button stays hidden where the browser cannot.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// Filter the rows of a table by name while typing; the form asks the server for the same, and so does
// the address, which follows.
const filter = (input) => {
  const word = input.value.trim().toLowerCase();
  for (const row of all(`#${input.dataset.filter} tbody tr`)) row.hidden = !row.dataset.word.toLowerCase().includes(word);
};
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-filter]")) return;
  filter(event.target);
  const here = new URL(location.href);
  if (event.target.value.trim()) here.searchParams.set(event.target.name, event.target.value.trim());
  else here.searchParams.delete(event.target.name);
  history.replaceState(null, "", here);
});

// Arrow keys move over the cells of a grid; Tab enters and leaves it once.
const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const rowsOf = (grid) => (grid.matches("table")
  ? all("tbody tr", grid).map((row) => all("td", row).map((cell) => one("a", cell)))
  : all("[data-row]", grid).map((row) => all("a", row)));
const stopOf = (cells) => cells.find((cell) => cell.getAttribute("tabindex") === "0") ?? cells.find((cell) => cell.hasAttribute("aria-current")) ?? cells[0];
const takeGrid = (grid) => {
  const cells = rowsOf(grid).flat().filter(Boolean);
  const stop = stopOf(cells);
  for (const cell of cells) cell.setAttribute("tabindex", cell === stop ? "0" : "-1");
};
document.addEventListener("keydown", (event) => {
  const step = steps[event.key];
  const from = event.target.closest("a");
  const grid = from?.closest("[data-grid]");
  if (!step || !grid) return;
  const rows = rowsOf(grid);
  const row = rows.findIndex((cells) => cells.includes(from));
  if (row < 0) return;
  event.preventDefault();
  const to = rows[row + step[0]]?.[rows[row].indexOf(from) + step[1]];
  if (!to) return;
  for (const cell of rows.flat().filter(Boolean)) cell.setAttribute("tabindex", cell === to ? "0" : "-1");
  to.focus();
});

// Tips at once, also for the keyboard. Without this the browser shows titles after a while.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
let tipped; // what the tip is about
const showTip = (element) => {
  tipped = element;
  tip.hidden = !element;
  if (!element) return;
  tip.textContent = element.dataset.tip;
  const box = element.getBoundingClientRect();
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${Math.max(4, Math.round(Math.min(box.left, innerWidth - tip.offsetWidth - 8)))}px`;
  tip.style.top = `${Math.round(above > 0 ? above : box.bottom + 6)}px`;
};
const takeTips = (within) => {
  for (const cell of all("a.cell[title]", within)) {
    cell.setAttribute("aria-label", cell.title);
    cell.dataset.tip = cell.title;
    cell.removeAttribute("title");
  }
};
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => showTip(event.target.closest?.("[data-tip]")));
}

// Keys: g and a letter goes to a page, / filters, ? lists the keys, Backspace goes up.
const help = () => {
  const old = one("dialog.keys");
  if (old) return old.showModal();
  const box = document.createElement("dialog");
  box.className = "keys";
  const list = document.createElement("dl");
  list.className = "pairs";
  const lines = all(".masthead nav a[data-key]").map((link) => [`g ${link.dataset.key}`, link.firstChild.textContent]);
  for (const [key, text] of [...lines, ["/", "Filter"], ["← ↑ → ↓", "Move over the map"], ["Enter", "Zoom in"], ["Backspace", "One level up"], ["?", "This list"]]) {
    const name = document.createElement("dt");
    const says = document.createElement("dd");
    const cap = document.createElement("kbd");
    cap.textContent = key;
    says.textContent = text;
    name.append(cap);
    list.append(name, says);
  }
  box.append(list);
  document.body.append(box);
  return box.showModal();
};
let afterG = 0;
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const goes = event.timeStamp - afterG < 1200 ? all(".masthead nav a[data-key]").find((link) => link.dataset.key === event.key) : undefined;
  afterG = 0;
  if (goes) goes.click();
  else if (event.key === "g") afterG = event.timeStamp;
  else if (event.key === "?") help();
  else if (event.key === "Backspace") one("a[rel=up]")?.click();
  else if (event.key === "/" && one("[data-filter]")) {
    event.preventDefault();
    one("[data-filter]").focus();
  }
});

// A page is prepared once when it is opened, and again each time live.js brings it anew.
const prepare = (within) => {
  for (const element of all(".without-script", within)) element.hidden = true;
  for (const element of all(".with-script", within)) element.hidden = false;
  if (navigator.clipboard) for (const button of all("[data-copy]", within)) button.hidden = false;
  for (const grid of all("[data-grid]", within)) takeGrid(grid);
  takeTips(within);
};
prepare(document);
document.addEventListener("patra:new", (event) => prepare(event.detail));
document.addEventListener("patra:renewed", () => {
  for (const grid of all("[data-grid]")) takeGrid(grid);
  for (const input of all("[data-filter]")) if (input.value) filter(input);
  showTip(tipped?.isConnected && tipped.dataset.tip ? tipped : undefined);
});
