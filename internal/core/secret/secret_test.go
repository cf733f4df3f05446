package secret

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTextNeverShowsItsValue(t *testing.T) {
	const canary = "canary-4711"
	type config struct {
		Name   string
		Key    Text
		hidden Text // fmt does not ask a field that is not exported
		inner  *struct{ key []Text }
	}
	c := config{"crossref", New(canary), New(canary), &struct{ key []Text }{[]Text{New(canary)}}}
	panicked := func() (out string) {
		defer func() { out = fmt.Sprintf("%v %+v", recover(), c.inner) }()
		panic(c)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", c, "key", c.Key)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{
		fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, c.Key, c.Key),
		panicked(), string(asJSON), logged.String(), fmt.Errorf("wrap: %v", c.Key).Error(),
	}
	for _, verb := range "vsqdxXobcUteEgGp" {
		for _, flags := range []string{"%", "%+", "%#", "% "} {
			how := flags + string(verb)
			shown = append(shown, fmt.Sprintf(how, c), fmt.Sprintf(how, &c), fmt.Sprintf(how, c.Key), fmt.Sprintf(how, []Text{c.hidden}), fmt.Sprintf(how, *c.inner))
		}
	}
	for _, s := range shown {
		if strings.Contains(s, canary) || strings.Contains(strings.ToLower(s), hex.EncodeToString([]byte(canary))) {
			t.Errorf("the value leaks: %s", s)
		}
	}
	if !c.Key.Equal(New(canary)) || c.Key.Equal(New("other")) || c.Key.Equal(Text{}) || !New("").IsZero() {
		t.Error("Equal or IsZero is wrong")
	}
	if c.Key.Reveal() != canary || c.Key.IsZero() || !(Text{}).IsZero() {
		t.Error("Reveal or IsZero is wrong")
	}
}
