package upsim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseFaults reads a fault script; the package doc has the grammar. An empty
// script has no faults.
func ParseFaults(script string) ([]Fault, error) {
	var faults []Fault
	for text := range strings.SplitSeq(script, ";") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		f, err := parseFault(text)
		if err == nil {
			err = f.checkFault()
		}
		if err != nil {
			return nil, fmt.Errorf("fault script, fault %d %q: %w", len(faults)+1, text, err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

func parseFault(text string) (Fault, error) {
	kind, rest, found := strings.Cut(text, "@")
	f := Fault{Kind: FaultKind(strings.TrimSpace(kind))}
	if !found {
		return f, fmt.Errorf("no @: write kind@requests, for example 429@3-5")
	}
	matches, params := splitParams(rest)
	seen := map[string]bool{}
	for match := range strings.SplitSeq(matches, "+") {
		name, err := f.setMatch(strings.TrimSpace(match))
		if err != nil {
			return f, err
		}
		if seen[name] {
			return f, fmt.Errorf("two %s matches; give one", name)
		}
		seen[name] = true
	}
	for _, p := range params {
		if seen[p.name+"="] {
			return f, fmt.Errorf("%s is given twice", p.name)
		}
		seen[p.name+"="] = true
		if err := f.setParam(p); err != nil {
			return f, err
		}
	}
	return f, nil
}

type param struct{ name, value string }

// splitParams finds the parameters by ":name=", not by each colon: the HTTP
// date of a retry-after has colons of its own.
func splitParams(text string) (matches string, params []param) {
	marks := regexp.MustCompile(`:([a-z][a-z-]*)=`).FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		return text, nil
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		params = append(params, param{text[m[2]:m[3]], strings.TrimSpace(text[m[1]:end])})
	}
	return text[:marks[0][0]], params
}

// setMatch gives back which sort of match it was.
func (f *Fault) setMatch(text string) (sort string, err error) {
	name, value, named := strings.Cut(text, ":")
	switch {
	case text == "*":
		return "request", nil
	case !named:
		return "request", f.setRange(text)
	case name == "every":
		f.Every, err = parsePositive(name, value)
	case name == "page":
		f.Page, err = parsePositive(name, value)
	case name == "path":
		if f.Path = value; !strings.HasPrefix(value, "/") {
			err = fmt.Errorf("the path %q does not begin with /", value)
		}
	case name == "p":
		f.Chance, err = strconv.ParseFloat(value, 64)
		if err != nil || !(f.Chance > 0 && f.Chance <= 1) {
			err = fmt.Errorf("the chance %q is not a number above 0 and up to 1", value)
		}
	default:
		err = fmt.Errorf("unknown match %q; use *, n, n-m, n-, every:n, p:x, page:n or path:/x", text)
	}
	return name, err
}

func (f *Fault) setRange(text string) (err error) {
	from, to, isRange := strings.Cut(text, "-")
	if f.From, err = parsePositive("request number", from); err != nil {
		return err
	}
	switch {
	case !isRange:
		f.To = f.From
	case to != "":
		f.To, err = parsePositive("request number", to)
	}
	return err
}

func (f *Fault) setParam(p param) (err error) {
	switch p.name {
	case "retry-after":
		if f.RetryAfter = p.value; p.value == "" {
			return fmt.Errorf("retry-after is empty; leave it out to send none")
		}
		_, err = retryAfter(p.value, time.Time{})
	case "delay":
		if f.Delay, err = time.ParseDuration(p.value); err != nil || f.Delay <= 0 {
			return fmt.Errorf("the delay %q is not a duration above zero such as 200ms", p.value)
		}
	case "times":
		f.Times, err = parsePositive(p.name, p.value)
	case "advance":
		if f.Advance, err = strconv.ParseBool(p.value); err != nil {
			return fmt.Errorf("advance is %q; use true or false", p.value)
		}
	case "id":
		if f.ID = p.value; p.value == "" {
			return fmt.Errorf("id is empty; leave it out for any")
		}
	case "status":
		f.Status, err = parsePositive(p.name, p.value)
	case "back":
		f.Back, err = parsePositive(p.name, p.value)
	case "total":
		f.Total, err = parsePositive(p.name, p.value)
	default:
		return fmt.Errorf("unknown parameter %q; use retry-after, delay, times, advance, id, status, back or total", p.name)
	}
	return err
}

func parsePositive(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s %q is not a whole number from 1", name, text)
	}
	return n, nil
}

// retryAfter gives the header text to send at the instant now.
func retryAfter(text string, now time.Time) (string, error) {
	ahead, relative := strings.CutPrefix(text, "date+")
	if !relative {
		return text, nil
	}
	wait, err := time.ParseDuration(ahead)
	if err != nil {
		return "", fmt.Errorf("retry-after %q: %q is not a duration such as 2s", text, ahead)
	}
	return now.Add(wait).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), nil
}

// String writes the fault as ParseFaults reads it. A When function has no text.
func (f Fault) String() string {
	var matches []string
	switch {
	case f.From > 0 && f.To == f.From:
		matches = append(matches, strconv.Itoa(f.From))
	case f.To > 0:
		matches = append(matches, fmt.Sprintf("%d-%d", max(f.From, 1), f.To))
	case f.From > 0:
		matches = append(matches, fmt.Sprintf("%d-", f.From))
	}
	if f.Every > 0 {
		matches = append(matches, fmt.Sprintf("every:%d", f.Every))
	}
	if f.Chance > 0 {
		matches = append(matches, "p:"+strconv.FormatFloat(f.Chance, 'g', -1, 64))
	}
	if f.Page > 0 {
		matches = append(matches, fmt.Sprintf("page:%d", f.Page))
	}
	if f.Path != "" {
		matches = append(matches, "path:"+f.Path)
	}
	if matches == nil {
		matches = []string{"*"}
	}
	return string(f.Kind) + "@" + strings.Join(matches, "+") + f.paramText()
}

func (f Fault) paramText() string {
	text := ""
	if f.RetryAfter != "" {
		text += ":retry-after=" + f.RetryAfter
	}
	if f.Delay > 0 {
		text += ":delay=" + f.Delay.String()
	}
	if f.Times > 0 {
		text += fmt.Sprintf(":times=%d", f.Times)
	}
	if f.Advance {
		text += ":advance=true"
	}
	if f.ID != "" {
		text += ":id=" + f.ID
	}
	for _, p := range []struct {
		name  string
		value int
	}{{"status", f.Status}, {"back", f.Back}, {"total", f.Total}} {
		if p.value > 0 {
			text += fmt.Sprintf(":%s=%d", p.name, p.value)
		}
	}
	return text
}
