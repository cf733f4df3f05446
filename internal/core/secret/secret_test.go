package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTextNeverShowsItsValue(t *testing.T) {
	const canary = "canary-4711"
	type config struct {
		Name string
		Key  Text
	}
	c := config{"crossref", New(canary)}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", c, "key", c.Key)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{
		fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c.Key, c.Key),
		string(asJSON), logged.String(), fmt.Errorf("wrap: %v", c.Key).Error(),
	}
	for _, s := range shown {
		if strings.Contains(s, canary) {
			t.Errorf("the value leaks: %s", s)
		}
	}
	if c.Key.Reveal() != canary || c.Key.IsZero() || !(Text{}).IsZero() {
		t.Error("Reveal or IsZero is wrong")
	}
}
