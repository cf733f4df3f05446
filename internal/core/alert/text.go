package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/core/wording"
)

const (
	mostTold    = 10  // alerts of a message; more are counted
	mostNamed   = 5   // sources or codes of a title
	titleWidth  = 120 // of the sentence in a title
	sentenceMax = 400
)

// Title says on one line how bad it is, where, and what: all that a locked telephone
// shows.
func Title(m Message) string {
	if m.Kind == Trial {
		return "TRIAL: patra can reach you; nothing is wrong"
	}
	return tidyLine(kindWord(m) + " " + whatText(m))
}

func kindWord(m Message) string {
	switch m.Kind {
	case Resolved:
		return "RESOLVED"
	case Repeated:
		return "STILL " + string(m.Severity)
	}
	return string(m.Severity)
}

// whatText names one alert with its sentence, or several by what they are about.
func whatText(m Message) string {
	if len(m.Alerts) == 1 {
		a := m.Alerts[0]
		if m.Kind == Resolved {
			return fmt.Sprintf("%s: %s is over%s", aboutText(a), a.Code, lastedText(a))
		}
		return fmt.Sprintf("%s: %s", aboutText(a), wording.Shorten(a.Text, titleWidth))
	}
	text := wording.Count(len(m.Alerts), "finding")
	if about := listNames(m.Alerts, func(a Alert) string { return a.Subject.Source }); about != "" {
		text = about + ": " + text
	}
	return text + ": " + listNames(m.Alerts, func(a Alert) string { return string(a.Code) })
}

// aboutText names what an alert is about, and always its source: a campaign, or a
// partition, does not tell it.
func aboutText(a Alert) string {
	source := a.Subject.Source
	if source == "" || a.About == source || strings.HasPrefix(a.About, source+"/") || strings.HasPrefix(a.About, source+" ") {
		return a.About
	}
	return strings.TrimSpace(source + " " + a.About)
}

// listNames joins what alerts have, each once, and counts those that are too many.
func listNames(of []Alert, name func(Alert) string) string {
	var names []string
	for _, a := range of {
		if n := name(a); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func lastedText(a Alert) string {
	if a.Since.IsZero() || !a.ResolvedAt.After(a.Since) {
		return ""
	}
	return " after " + wording.DurationText(a.ResolvedAt.Sub(a.Since).Round(time.Second))
}

// Text is the message for people: the title, then each alert with the command to type
// on a line of its own, so that a telephone can copy it.
func Text(m Message) string {
	var out strings.Builder
	out.WriteString(Title(m) + "\n")
	for i, a := range m.Alerts {
		if i == mostTold {
			fmt.Fprintf(&out, "\nand %d more: `patra alert list` shows all\n", len(m.Alerts)-mostTold)
			break
		}
		out.WriteString("\n" + alertText(m.Kind, a) + "\n")
	}
	fmt.Fprintf(&out, "\npatra, %s, %s", ruleText(m), wording.MinuteText(m.At))
	return out.String()
}

func ruleText(m Message) string {
	if m.Rule == "" {
		return "message " + tidyLine(m.ID)
	}
	return "rule " + tidyLine(m.Rule)
}

func alertText(kind Kind, a Alert) string {
	if kind == Resolved {
		return tidyLine(fmt.Sprintf("%s %s is over%s. It was: %s", aboutText(a), a.Code, lastedText(a), wording.Shorten(a.Text, sentenceMax)))
	}
	text := fmt.Sprintf("%s %s %s: %s", a.Severity, a.Code, aboutText(a), wording.Shorten(a.Text, sentenceMax))
	if !a.Since.IsZero() {
		text += " (since " + wording.MinuteText(a.Since) + ")"
	}
	text = tidyLine(text)
	if a.Next != "" {
		text += "\n`" + tidyLine(a.Next) + "`"
	}
	return text
}

// tidyLine makes one line of a text, without characters that steer whatever shows it:
// part of it are words of upstreams.
func tidyLine(text string) string {
	return visible.Text(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == ' ' }), " "))
}
