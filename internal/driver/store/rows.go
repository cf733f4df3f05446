package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// micros stores an instant; the zero time is NULL.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant reads what micros wrote.
func instant(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMicro(v.Int64).UTC()
}

// orNull stores an empty text as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// jsonOrNull stores JSON as text, absent JSON as NULL.
func jsonOrNull(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

func idOrNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// each runs scan for every row and closes the rows.
func each(rows *sql.Rows, scan func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// found tells "no row" from a failure.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// orNotFound names what was looked for when there was no row.
func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.ErrNotFound
	}
	return err
}

// readable makes our own texts valid UTF-8: a message that quotes foreign bytes
// must not keep a run from ending. Foreign text itself is never touched.
func readable(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// cut shortens our own texts to what their column takes; foreign text is never cut.
func cut(text string, n int) string {
	text = readable(text)
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

func decode(text sql.NullString, into any) error {
	if !text.Valid || text.String == "" {
		return nil
	}
	return json.Unmarshal([]byte(text.String), into)
}

// span is a stretch that may be absent.
func span(from, to sql.NullInt64) *window.Window {
	if !from.Valid {
		return nil
	}
	return &window.Window{From: instant(from), To: instant(to)}
}

// raw is stored JSON, passed on as it is.
func raw(text sql.NullString) json.RawMessage {
	if !text.Valid {
		return nil
	}
	return json.RawMessage(text.String)
}

func boolInt(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

var errEnough = errors.New("enough")
