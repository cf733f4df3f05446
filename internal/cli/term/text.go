package term

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/window"
)

// IndentJSON indents evidence; what is no JSON is shown as it is.
func IndentJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "  nothing was kept"
	}
	indented, err := jsontext.AppendFormat(nil, raw, jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  "),
		jsontext.PreserveRawStrings(false), jsontext.EscapeForHTML(false))
	if err != nil {
		return "  " + Printable(string(raw))
	}
	return "  " + Printable(string(indented))
}

// BreakOnce breaks a cell in two where one line would widen the table too much.
func BreakOnce(text, at, broken string) string {
	const most = 26
	if len([]rune(text)) <= most {
		return text
	}
	return strings.Replace(text, at, broken, 1)
}

// WindowToMinuteOrDash writes a window that may be absent.
func WindowToMinuteOrDash(w *window.Window) string {
	if w == nil {
		return "-"
	}
	return WindowToMinute(*w)
}

// Wrap breaks a text without line breaks so that it fits beside its name.
func Wrap(text string) string {
	const width = 96
	var out []string
	for runes := []rune(text); ; {
		if len(runes) <= width {
			return strings.Join(append(out, string(runes)), "\n")
		}
		at := width
		if blank := strings.LastIndexAny(string(runes[:width]), " ,"); blank > 0 {
			at = len([]rune(string(runes[:width])[:blank+1]))
		}
		out, runes = append(out, string(runes[:at])), runes[at:]
	}
}

// Units of sizes, as disks are sold.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// ParseSize reads 10GB, 500 MB or a number of bytes.
func ParseSize(text string) (int64, error) {
	number, unit := strings.ToUpper(strings.ReplaceAll(text, " ", "")), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if bytes := n * unit; err == nil && bytes >= 0 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("size %q: expected a number with B, KB, MB, GB or TB, such as 500MB", text)
}

// SizeText writes a number of bytes for people.
func SizeText(bytes int64) string {
	for _, u := range sizeUnits {
		if n := float64(bytes) / u.bytes; n >= 1 {
			if n >= 10 {
				return fmt.Sprintf("%.0f%s", n, u.name)
			}
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + u.name
		}
	}
	return "0B"
}

func IDOrDash(id int64) any {
	if id == 0 {
		return "-"
	}
	return id
}

// IndentLines breaks a line at blanks; what follows stands below the text.
func IndentLines(text string, width int) string {
	var out strings.Builder
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			out.WriteString(line + "\n")
			line = "  " + word
		default:
			line += " " + word
		}
	}
	out.WriteString(line + "\n")
	return out.String()
}
