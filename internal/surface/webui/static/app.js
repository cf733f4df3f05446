// Extras of the dashboard. Every page is complete without them, and they keep no state.
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;

for (const element of all(".without-script")) element.hidden = true;
for (const element of all(".with-script")) element.hidden = false;

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
if (navigator.clipboard) {
  for (const button of all("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}

// Filter the rows of a table while typing; the form asks the server for the same.
for (const input of all("[data-filter]")) {
  input.addEventListener("input", () => {
    const word = input.value.trim().toLowerCase();
    for (const row of all(`#${input.dataset.filter} tbody tr`)) row.hidden = !row.textContent.toLowerCase().includes(word);
  });
}

// Arrow keys move over the cells of a grid; Tab enters and leaves it once.
const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const rowsOf = (grid) => (grid.matches("table")
  ? all("tbody tr", grid).map((row) => all("td", row).map((cell) => one("a", cell)))
  : all("[data-row]", grid).map((row) => all("a", row)));
for (const grid of all("[data-grid]")) {
  const rows = rowsOf(grid);
  const cells = rows.flat().filter(Boolean);
  for (const cell of cells) cell.setAttribute("tabindex", "-1");
  let stop = cells.find((cell) => cell.hasAttribute("aria-current")) ?? cells[0];
  stop?.setAttribute("tabindex", "0");
  grid.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const from = event.target.closest("a");
    const row = rows.findIndex((cellsOfRow) => cellsOfRow.includes(from));
    if (!step || row < 0) return;
    event.preventDefault();
    const to = rows[row + step[0]]?.[rows[row].indexOf(from) + step[1]];
    if (!to) return;
    stop.setAttribute("tabindex", "-1");
    stop = to;
    stop.setAttribute("tabindex", "0");
    stop.focus();
  });
}

// Tips at once, also for the keyboard. Without this the browser shows titles after a while.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const showTip = (element) => {
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
takeTips(document);
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
