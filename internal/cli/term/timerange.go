package term

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// ParseWaived returns the range that is to be waived; it has to be named and explained.
func (s *RangeFlags) ParseWaived(a Confirming) (w window.Window, err error) {
	if err := a.CheckReason(); err != nil {
		return w, err
	}
	if s.fromText == "" || s.toText == "" {
		return w, Usagef("--from and --to are needed: which range is waived")
	}
	if err := s.Parse(); err != nil {
		return w, err
	}
	return window.Window{From: *s.From, To: *s.To}, nil
}

// RangeFlags are the flags that choose a range of time.
type RangeFlags struct {
	fromText, toText string
	Now              time.Time
	From, To         *time.Time
}

func (s *RangeFlags) Flags(c *cobra.Command, from, to string) {
	c.Flags().StringVar(&s.fromText, "from", "", "start, included: RFC 3339, a date, or -7d (default: "+from+")")
	c.Flags().StringVar(&s.toText, "to", "", "end, not included (default: "+to+")")
}

func (s *RangeFlags) Parse() (err error) {
	s.Now = time.Now().UTC()
	if s.From, err = ParseTime("from", s.fromText, s.Now); err != nil {
		return err
	}
	if s.To, err = ParseTime("to", s.toText, s.Now); err != nil {
		return err
	}
	if s.From != nil && s.To != nil && !s.From.Before(*s.To) {
		return Usagef("--from %s is not before --to %s", window.Text(*s.From), window.Text(*s.To))
	}
	return nil
}

// Named reports whether somebody chose the range.
func (s *RangeFlags) Named() bool { return s.From != nil || s.To != nil }

func TextOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// RangesText writes windows one below the other, the first few of many.
func RangesText(line ingest.CursorType, windows []window.Window) string {
	const most = 8
	text := ""
	for i, w := range windows {
		if i == most {
			return text + fmt.Sprintf("\nand %d more", len(windows)-most)
		}
		if i > 0 {
			text += "\n"
		}
		if line == ingest.CursorID {
			text += fmt.Sprintf("[%s, %s)", line.Text(w.From), line.Text(w.To))
			continue
		}
		text += wording.WindowText(w)
	}
	return TextOr(text, "nothing")
}
