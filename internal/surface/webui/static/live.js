// Live pages. When the server tells that something changed, the page asks for its own address
// and takes over what is different. Nothing else is touched: focus, scroll, open parts and what
// was typed stay. Without it the page shows what it showed when it was opened.
const main = document.querySelector("main[data-live]");
const asOf = document.querySelector("#asof");
const rest = 5000; // milliseconds between two looks at the page
// Ages and charts move on without an event. After one the page is newer than what events are
// made from, so what ended right then is told by none.
const slow = 60000;
const soon = 15000;

// What the reader did to the page, not the server.
const kept = new Set(["open", "tabindex"]);
const keyOf = (node) => node.dataset?.key || node.id || "";

const patch = (from, to) => {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  if (from.isEqualNode(to) || from.matches("input, textarea, select")) return;
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !kept.has(name)) from.removeAttribute(name);
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value && !kept.has(name)) from.setAttribute(name, value);
  patchChildren(from, to);
};

// patchChildren keeps what has the same name, else what stands at the same place and is of the
// same kind.
const patchChildren = (from, to) => {
  const named = new Map([...from.children].filter(keyOf).map((child) => [keyOf(child), child]));
  const wanted = new Set([...to.children].map(keyOf));
  let at = from.firstChild;
  const skip = (node) => {
    const next = node.nextSibling;
    node.remove();
    return next;
  };
  for (const want of [...to.childNodes]) {
    while (at && keyOf(at) && !wanted.has(keyOf(at))) at = skip(at);
    const key = keyOf(want);
    const have = key ? named.get(key) : at && !keyOf(at) && at.nodeName === want.nodeName ? at : undefined;
    if (!have || have.nodeName !== want.nodeName) {
      from.insertBefore(document.importNode(want, true), at);
      continue;
    }
    named.delete(key); // of two with one name the second is new
    patch(have, want);
    if (have === at) at = at.nextSibling;
    else from.insertBefore(have, at);
  }
  while (at) at = skip(at);
};

const showState = (state, says) => {
  asOf.dataset.live = state;
  asOf.title = says;
};
const found = () => showState("on", "Changes appear as they happen");
const lost = () => {
  if (asOf.dataset.live !== "lost") showState("lost", `No updates since ${asOf.textContent.trim()}: load the page again`);
};

const renew = async () => {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(30000) });
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.dispatchEvent(new CustomEvent("patra:new", { detail: page }));
  const focused = document.activeElement;
  for (const selector of ["main", ".masthead nav"]) patch(document.querySelector(selector), page.querySelector(selector));
  patchChildren(asOf, page.querySelector("#asof"));
  document.title = page.title;
  document.dispatchEvent(new CustomEvent("patra:renewed"));
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
};

let stream;
let stale = false; // something changed since the page was asked for
let timer; // of the next look
let calm; // of one without an event
let looked = performance.now();
let pressed = -rest; // when a button of the pointer went down: nothing moves under it
const plan = () => { timer ??= setTimeout(look, Math.max(0, looked + rest - performance.now())); };
const want = () => {
  stale = true;
  plan();
};
const look = async () => {
  if (performance.now() - pressed < rest) {
    timer = setTimeout(look, 300);
    return;
  }
  const told = stale;
  stale = false;
  try {
    await renew();
    if (stream?.readyState === EventSource.OPEN) found();
  } catch {
    lost();
  }
  looked = performance.now();
  timer = undefined;
  if (!stream) return;
  clearTimeout(calm);
  calm = setTimeout(plan, told ? soon : slow);
  if (stale) plan();
};

const open = () => {
  stream = new EventSource(main.dataset.live);
  stream.addEventListener("open", found);
  stream.addEventListener("error", lost); // the browser comes back by itself
  for (const kind of ["state", "progress", "finding", "throughput"]) stream.addEventListener(kind, want);
  stream.addEventListener("trouble", (event) => (JSON.parse(event.data).answers ? found() : lost()));
  stream.addEventListener("end", () => {
    close();
    lost();
  });
};
// A page that nobody looks at has no stream: browsers open six for one server.
const close = () => {
  stream?.close();
  stream = undefined;
  clearTimeout(timer);
  clearTimeout(calm);
  timer = undefined;
};

document.addEventListener("pointerdown", () => { pressed = performance.now(); });
for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, () => { pressed = -rest; });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else if (!stream) open();
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted && !stream && !document.hidden) open(); });
if (!document.hidden) open();
