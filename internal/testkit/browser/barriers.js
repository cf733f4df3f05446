// What keeps people from reading and using a page, as texts: once what it is called, and in each
// theme how it is drawn. The accessible name is the one that the browser computes.
(() => {
const found = [];
const say = (element, what) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

// The browser computes a name in the time that it takes to walk the page, so it is asked where
// the name is not plain to see.
const named = (element) => {
  if (element.textContent.trim() && !element.querySelector("[aria-hidden], [hidden]") || element.getAttribute("title")?.trim() || element.ariaLabel?.trim()) return true;
  if (element.computedName === undefined) throw new Error("the browser does not tell accessible names");
  return element.computedName.trim() !== "";
};

const holdNames = () => {
  if (document.documentElement.lang !== "en") found.push("the page does not say its language");
  if (!document.title.trim()) found.push("the page has no title");
  if (!document.querySelector("main")) found.push("the page has no main part");
  const ids = new Set();
  for (const element of all("[id]")) {
    if (ids.has(element.id)) say(element, "two elements have this id");
    ids.add(element.id);
  }
  for (const attribute of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) if (!ids.has(id)) say(element, `${attribute} names nothing`);
    }
  }

  let level = 0;
  const headings = all("h1, h2, h3, h4, h5, h6").filter(shown);
  for (const heading of headings) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) say(heading, `a heading of level ${own} follows one of level ${level}`);
    if (!named(heading)) say(heading, "a heading without words");
    level = own;
  }
  const first = headings.filter((heading) => heading.tagName === "H1").length;
  if (first !== 1) found.push(`the page has ${first} headings of level 1`);

  for (const element of all("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=link], [role=img], img, [tabindex]")) {
    if (shown(element) && !element.matches("main, pre, div") && !named(element)) say(element, "it has no accessible name");
    if (element.tabIndex > 0) say(element, "it leaves the order of the document");
  }
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    if (shown(field) && !field.labels.length && !field.hasAttribute("aria-label") && !field.hasAttribute("aria-labelledby")) say(field, "it has no label");
  }
  for (const table of all("table")) {
    if (shown(table) && !table.querySelector("th")) say(table, "a table without heads");
  }
  for (const cell of all("thead th")) {
    if (shown(cell) && !cell.textContent.trim() && cell.closest("table").matches(":not(.grid)")) say(cell, "a column without a name");
  }
};

const holdColours = () => {
  // Colours may be written in any way: the canvas knows them as red, green, blue and alpha.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const read = (colour) => {
    if (known.has(colour)) return known.get(colour);
    let out = colour.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/)?.slice(1).map((part) => Number(part ?? 1));
    if (!out) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      out = [...canvas.getImageData(0, 0, 1, 1).data];
      out[3] /= 255;
    }
    known.set(colour, out);
    return out;
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  // A ground is a list of colours: a pattern has several, and what stands on it must differ
  // from each.
  const grounds = new Map();
  const groundOf = (element) => {
    if (!element) return [[255, 255, 255, 1]];
    if (grounds.has(element)) return grounds.get(element);
    const style = getComputedStyle(element);
    const own = read(style.backgroundColor);
    let out = own[3] === 1 ? [own] : groundOf(element.parentElement).map((below) => over(own, below));
    const pattern = style.backgroundImage.match(/(?:rgba?|color|oklab|oklch)\([^()]*\)/g);
    if (pattern) out = pattern.flatMap((colour) => out.map((below) => over(read(colour), below)));
    grounds.set(element, out);
    return out;
  };
  const luminance = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const c = colour[i] / 255;
    return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const worst = (colour, ground) => Math.min(...ground.map((below) => contrast(over(read(colour), below), below)));
  window.patraContrast = (colour, element) => worst(colour, groundOf(element));

  const hold = (element, colour, ground, what, least) => {
    const got = worst(colour, ground);
    if (got < least - 0.005) say(element, `${what} has a contrast of ${got.toFixed(2)}, less than ${least} (${colour} on ${ground.map((below) => below.slice(0, 3)).join(" and ")})`);
  };
  const leastOf = (style) => {
    const size = parseFloat(style.fontSize);
    return size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (seen.has(element) || !walker.currentNode.data.trim() || element.closest(":disabled, script, style, .unseen") || !shown(element)) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    hold(element, element.ownerSVGElement ? style.fill : style.color, groundOf(element), "its text", leastOf(style));
  }
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    if (!shown(field) || field.disabled) continue;
    hold(field, getComputedStyle(field).color, groundOf(field), "what is typed", 4.5);
    if (field.placeholder) hold(field, getComputedStyle(field, "::placeholder").color, groundOf(field), "its placeholder", 4.5);
  }
  // Signs before and after words. What is not told ("x" / "") is decoration.
  // Those of one class in one kind of place are alike.
  const alike = new Set();
  for (const element of all("body *")) {
    const key = [element, element.parentElement].map((e) => `${e.tagName} ${e.getAttribute("class")}`).join();
    if (alike.has(key)) continue;
    alike.add(key);
    for (const place of ["::before", "::after"]) {
      const style = getComputedStyle(element, place);
      const text = style.content.match(/^"(.+)"$/)?.[1];
      if (!text || text.includes('" / "') || !shown(element)) continue;
      const own = read(style.backgroundColor);
      hold(element, style.color, own[3] === 1 ? [own] : groundOf(element).map((below) => over(own, below)), `its sign ${text}`, /\p{L}{2}/u.test(text) ? 4.5 : 3);
    }
  }
};

if (%t) holdNames();
holdColours();
return found;
})()
