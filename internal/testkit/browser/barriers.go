package browser

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

//go:embed barriers.js
var barriers string

// Barriers lists what keeps people from reading or using the page: names, labels, headings,
// language, and the contrast of its texts as they are drawn.
func (b *Browser) Barriers() []string {
	b.t.Helper()
	return run(b, "barriers", chromedp.Evaluate[[]string](fmt.Sprintf(barriers, true)))
}

// BarriersOfColour lists those that another theme can have: the contrast of texts alone.
func (b *Browser) BarriersOfColour() []string {
	b.t.Helper()
	return run(b, "barriers", chromedp.Evaluate[[]string](fmt.Sprintf(barriers, false)))
}

// tabbed makes the page keep what gets the focus, and lists what the key Tab should reach, in
// the order of the document, from where the browser begins: the top, what has the focus already,
// or what the address names. Cells of a grid have one stop together, and arrows between them.
const tabbed = `(() => {
  const stop = (e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true });
  const start = document.activeElement !== document.body ? document.activeElement : location.hash ? document.querySelector(location.hash) : null;
  window.patraStart = start;
  const follows = (e) => !start || !!(start.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
  window.patraStops = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")].filter(stop).filter(follows);
  window.patraTabs = [];
  document.addEventListener("focusin", ({ target }) => {
    const drawn = (e) => { const s = getComputedStyle(e); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 ? s.outlineColor : ""; };
    const ring = drawn(target) || (target.ownerSVGElement ? getComputedStyle(target.querySelector("rect") ?? target).stroke : "");
    window.patraTabs.push({ target, ring });
  });
  return window.patraStops.length;
})()`

// judged says what was wrong with how the focus went.
const judged = `(() => {
  const wrong = [], name = (e) => e ? e.outerHTML.slice(0, 160) : "nothing";
  const scrolls = (e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight;
  const tabs = window.patraTabs.filter(({ target }) => window.patraStops.includes(target) || !scrolls(target) && target !== window.patraStart);
  for (const [i, stop] of window.patraStops.entries()) {
    if (tabs[i]?.target !== stop) { wrong.push("Tab number " + (i + 1) + " reaches " + name(tabs[i]?.target) + " and not " + name(stop)); break; }
  }
  for (const { target, ring } of tabs) {
    if (!ring || ring === "none") wrong.push("the focus is not drawn: " + name(target));
    else if (window.patraContrast(ring, target.parentElement) < 3) wrong.push("the ring " + ring + " does not stand out: " + name(target));
  }
  const lost = [...document.querySelectorAll("main a[href], main button, main input:not([type=hidden]), main select, main textarea")]
    .filter((e) => e.tabIndex < 0 && !e.closest("[data-grid]") && !e.matches("[rel=up]"));
  for (const e of lost) wrong.push("no key reaches it: " + name(e));
  return wrong;
})()`

// Tabs goes over a page that was just opened with the key Tab, and lists what was wrong: what
// is not reached in the order of the document, and where the focus is not to be seen. Barriers
// was called before.
func (b *Browser) Tabs() []string {
	b.t.Helper()
	stops := run(b, "what Tab reaches", chromedp.Evaluate[int](tabbed))
	b.Key("Tab", stops+extraTabs)
	return run(b, "what Tab reached", chromedp.Evaluate[[]string](judged))
}

// extraTabs are for parts that scroll: browsers stop there too.
const extraTabs = 3

// Key presses a key so many times.
func (b *Browser) Key(name string, times int) {
	b.t.Helper()
	codes := map[string]int64{"Tab": 9, "Enter": 13, "ArrowRight": 39}
	b.do(name, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for range times {
			for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
				if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: name, Code: name, WindowsVirtualKeyCode: codes[name]}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// Prefer makes the system of the reader light or dark.
func (b *Browser) Prefer(theme string) {
	b.t.Helper()
	b.do("prefer "+theme, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return err
	}))
}

// Complain fails the test for each text, once, with where it was seen first.
func (b *Browser) Complain(where string, texts []string) {
	b.t.Helper()
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		if b.said == nil {
			b.said = map[string]bool{}
		}
		if !b.said[text] {
			b.said[text] = true
			b.t.Errorf("%s: %s", where, text)
		}
	}
}
