package notify

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/view"
)

const canary = "canary-4711-secret-of-24-bytes"

var night = time.Date(2025, 3, 20, 3, 0, 0, 0, time.UTC)

func reference(t *testing.T, text string) (ref secret.Ref) {
	t.Helper()
	if err := ref.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return ref
}

// behind reads these values behind references.
func behind(values map[string]string) Options {
	return Options{Clock: func() time.Time { return night }, Timeout: time.Minute, Reveal: func(_ context.Context, ref secret.Ref) (secret.Text, error) {
		value, ok := values[ref.String()]
		if !ok {
			return secret.Text{}, fmt.Errorf("%s: %w", ref, secret.ErrAbsent)
		}
		return secret.New(value), nil
	}}
}

func firing() alert.Message {
	return alert.Message{ID: "msg-1", Kind: alert.Firing, At: night, Rule: "default", Severity: view.Critical, Alerts: []alert.Alert{{
		Code: view.FoundPaused, Severity: view.Critical, Subject: view.Subject{Source: "crossref", Endpoint: "works"}, About: "crossref/works",
		Text: "paused since 2025-03-20 02:10Z: the key was refused <!channel> & <at user_id=\"all\">", Next: "patra source resume crossref", Since: night.Add(-50 * time.Minute),
	}}}
}

func open(t *testing.T, r alert.Receiver, o Options) Sender {
	t.Helper()
	s, err := Open("ops", r, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holdsNoSecret fails the test if an error repeats a secret or words of the far side.
func holdsNoSecret(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "canary") {
		t.Errorf("a secret is in %v", err)
	}
}

func TestAReceiverWithoutAKindIsRefused(t *testing.T) {
	if _, err := Open("ops", alert.Receiver{}, Options{}); err == nil || !strings.Contains(err.Error(), "ops") {
		t.Error(err)
	}
}
