package webui

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// functions are what templates may call.
func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"at": timeTag, "second": secondTag, "day": dayText, "span": spanText, "window": wording.WindowText,
		"num": numberText, "whole": groupDigits[int], "share": shareText, "clip": wording.Shorten, "dash": wording.OrDash,
		"count": countText, "isare": func(n int) string { return wording.IsAre(int64(n)) },
		"gauge": gauge, "spark": spark, "static": func(name string) string { return s.files.addressOf(name) },
		"toFloat": func(n int) float64 { return float64(n) }, "sentence": sentence,
		"chip": stateChip, "instant": instantText, "figure": figureText, "seconds": func(s float64) string { return spanText(seconds(s)) }, "missing": missingText,
		"slice": func(text string) []string { return strings.Split(text, "") }, "add1": func(n int) int { return n + 1 }, "sub1": func(n int) int { return n - 1 },
		"dayHead": dayHead, "blanks": func(n int) []struct{} { return make([]struct{}, 31-n) },
	}
}

// timeTag writes an instant: only the time of day where it is today, else to the minute.
// The element has all of it, for scripts and for pasting.
func timeTag(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	text := t.Format("2006-01-02 15:04")
	if y, m, d := t.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		text = t.Format("15:04")
	}
	return timeElement(t, text)
}

// secondTag writes an instant to the second, where that matters.
func secondTag(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return timeElement(t.UTC(), t.UTC().Format("2006-01-02 15:04:05"))
}

// timeElement holds nothing but digits and signs of a time, so it needs no escaping.
func timeElement(t time.Time, text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05"), text))
}

// dayText writes a day as sentences do.
func dayText(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// spanText writes a length of time with at most two units.
func spanText(d time.Duration) string {
	if d > 0 && d < time.Second {
		return fmt.Sprintf("%dms", max(d.Milliseconds(), 1))
	}
	return wording.DurationText(d)
}

// numberText writes a number with separators; from a million on with three digits, and the
// whole number as a tip.
func numberText(n any) template.HTML {
	v := toInt(n)
	whole := groupDigits(v)
	if v < 1_000_000 {
		return template.HTML(whole)
	}
	value, unit := float64(v)/1e6, "M"
	if value >= 1000 {
		value, unit = value/1000, "G"
	}
	decimals := 2
	if value >= 10 {
		decimals = 1
	}
	if value >= 100 {
		decimals = 0
	}
	return template.HTML(fmt.Sprintf(`<span title="%s">%s %s</span>`, whole, strconv.FormatFloat(value, 'f', decimals, 64), unit))
}

func toInt(n any) int64 {
	switch v := n.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case *int64:
		if v != nil {
			return *v
		}
	}
	return 0
}

// groupDigits writes a whole number with separators.
func groupDigits[N int | int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	var out []string
	for len(text) > 3 {
		out, text = append([]string{text[len(text)-3:]}, out...), text[:len(text)-3]
	}
	return sign + strings.Join(append([]string{text}, out...), ",")
}

// countText writes how many of something there are, with separators.
func countText(n int, noun string) string {
	return strings.Replace(wording.Count(n, noun), strconv.Itoa(n), groupDigits(n), 1)
}

// shareText writes a part of a whole in percent, rounded down: what is not all of it never
// reads 100 %.
func shareText(part, whole int64) string {
	switch {
	case whole <= 0:
		return "–"
	case part >= whole:
		return "100 %"
	}
	tenths := min(int64(float64(part)/float64(whole)*1000), 999)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// commandInstant writes an instant as commands take it: a day where it is one.
func commandInstant(t time.Time) string { return window.CanonicalText(window.Text(t)) }

// sentence writes a sentence of core/wording; what stands between back quotes is a command.
func sentence(text string) template.HTML {
	var b strings.Builder
	for i, piece := range strings.Split(text, "`") {
		if i%2 == 1 {
			b.WriteString("<code>" + template.HTMLEscapeString(piece) + "</code>")
			continue
		}
		b.WriteString(template.HTMLEscapeString(piece))
	}
	return template.HTML(b.String())
}

// instantText writes an instant as people read it: a day where it is one.
func instantText(t time.Time) string {
	if t = t.UTC(); t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

// figureText writes an estimated number of something: about, or at least.
func figureText(f slicing.Figure, noun string) string {
	if f.AtLeast {
		return "at least " + countText(int(f.Value), noun)
	}
	return "about " + countText(int(f.Value), noun)
}

// missingText writes how many items the upstream has that were not read.
func missingText(r view.Reconciled) string {
	if r.Upstream == nil || r.Read == nil {
		return "unknown"
	}
	return groupDigits(max(0, *r.Upstream-*r.Read))
}

// dayHead names every fifth column of a month.
func dayHead(day int) string {
	if day == 1 || day%5 == 0 {
		return strconv.Itoa(day)
	}
	return ""
}

// stateChip writes the state of a slice.
func stateChip(s view.CellState) template.HTML {
	class := map[view.CellState]string{view.CellDone: "ok", view.CellShort: "warn", view.CellFailed: "fail", view.CellCapped: "fail", view.CellReading: "run"}[s]
	return template.HTML(fmt.Sprintf(`<span class="chip %s">%s</span>`, class, lookOf(s).word))
}
