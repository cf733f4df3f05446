package term

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// §14.10: no line of a log tells an address, a number or a secret.
func TestLogsTellNoPeople(t *testing.T) {
	const address, number, canary = "jane.doe@example.org", "+49 151 23456789", "canary-4711"
	var out bytes.Buffer
	log := NewLog(&out, slog.LevelDebug)
	item := struct {
		Author string
		key    secret.Text
	}{address, secret.New(canary)}
	log.With("by", address).WithGroup("of").Info("asked "+address, "text", number, "item", item, "pointer", &item, "list", []string{address},
		"error", fmt.Errorf("item 3: %w", errors.New("author "+address)), slog.Group("inner", "who", address), "key", item.key, "n", 7, "at", time.Unix(0, 0).UTC(), "took", time.Second)
	text := out.String()
	for _, hidden := range []string{address, "jane", "23456789", canary} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s is in %s", hidden, text)
		}
	}
	for _, kept := range []string{"level=INFO", "of.n=7", "of.at=1970-01-01T00:00:00.000Z", "of.took=1s", "of.key=[secret]", "[email:", "[phone:"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is not in %s", kept, text)
		}
	}
}
