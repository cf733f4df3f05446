package kernel

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Micros stores an instant; the zero time is NULL.
func Micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// Instant reads what micros wrote.
func Instant(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMicro(v.Int64).UTC()
}

// OrNull stores an empty text as NULL.
func OrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// JSONOrNull stores JSON as text, absent JSON as NULL.
func JSONOrNull(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

// IDOrNull stores an id; none is NULL.
func IDOrNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// Each runs scan for every row and closes the rows.
func Each(rows *sql.Rows, scan func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Found tells "no row" from a failure.
func Found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// OrNotFound names what was looked for when there was no row.
func OrNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.ErrNotFound
	}
	return err
}

// Readable makes our own texts valid UTF-8: a message that quotes foreign bytes
// must not keep a run from ending. Foreign text itself is never touched.
func Readable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Cut shortens our own texts to what their column takes; foreign text is never cut.
func Cut(text string, n int) string {
	text = Readable(text)
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// Decode reads stored JSON; absent JSON leaves into as it is.
func Decode(text sql.NullString, into any) error {
	if !text.Valid || text.String == "" {
		return nil
	}
	return json.Unmarshal([]byte(text.String), into)
}

// Span returns a range that may be absent.
func Span(from, to sql.NullInt64) *window.Window {
	if !from.Valid {
		return nil
	}
	return &window.Window{From: Instant(from), To: Instant(to)}
}

// RawJSON returns stored JSON, passed on as it is.
func RawJSON(text sql.NullString) json.RawMessage {
	if !text.Valid {
		return nil
	}
	return json.RawMessage(text.String)
}

// BoolInt stores a yes or no.
func BoolInt(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// ErrEnough ends a reading early, inside of the package that reads.
var ErrEnough = errors.New("enough")
