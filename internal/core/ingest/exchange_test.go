package ingest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
)

func drawExchange(t *rapid.T) Exchange {
	n := rapid.IntRange(0, 3)
	millis := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 1, 520, 70_000}).Draw(t, name)) * time.Millisecond
	}
	return Exchange{
		Requests: n.Draw(t, "requests"), Retries: n.Draw(t, "retries"), Throttled: n.Draw(t, "throttled"), Permits: n.Draw(t, "permits"),
		Waits: gate.Waits{Rate: millis("rate"), Concurrency: millis("places"), Quota: millis("quota"), Hours: millis("hours"), RetryAfter: millis("asked")},
		Rate:  rapid.SampledFrom([]float64{0, 0.33, 50}).Draw(t, "rate"), Quota: rapid.SampledFrom([]gate.Decision{"", gate.Allow, gate.Wait}).Draw(t, "decision"),
		Status: rapid.SampledFrom([]int{0, 200, 206, 503}).Draw(t, "status"), Bytes: int64(n.Draw(t, "bytes")), Took: millis("took"), TookAll: millis("all"),
		HasNext: rapid.Bool().Draw(t, "next"), Actions: health.Tally{ShrinkPage: n.Draw(t, "shrunk")},
	}
}

// What is left out of a row comes back, whatever was left out.
func TestExchangeIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, stats := drawExchange(t), draw[BatchStats](t, "stats")
		if x.TookAll == 0 {
			x.TookAll = x.Took // all tries take at least as long as the last one
		}
		text, err := EncodeBatch(stats, x)
		if err != nil {
			t.Fatal(err)
		}
		got, known, err := DecodeExchange(text)
		if err != nil || !known || !reflect.DeepEqual(got, x) {
			t.Fatalf("%s is read as %+v, %v, %v; written %+v", text, got, known, err, x)
		}
		var items BatchStats
		if err := json.Unmarshal(text, &items); err != nil || items != stats {
			t.Fatalf("%s is read as %+v, %v; written %+v", text, items, err, stats)
		}
		shown, err := json.Marshal(x)
		var again Exchange
		if err != nil || json.Unmarshal(shown, &again) != nil || !reflect.DeepEqual(again, x) {
			t.Fatalf("%s is read as %+v; shown %+v", shown, again, x)
		}
	})
}

// A page like any other adds little to its row.
func TestAPlainExchangeIsShort(t *testing.T) {
	text, err := EncodeBatch(BatchStats{Seen: 100, Inserted: 71, Updated: 29}, Exchange{
		Requests: 1, Permits: 1, Rate: 10, Status: 200, Bytes: 145678, Took: 520 * time.Millisecond, TookAll: 520 * time.Millisecond, HasNext: true,
	})
	if want := `{"seen":100,"inserted":71,"updated":29,"x":{"q":1,"v":10,"b":145678,"l":520}}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s, %v", text, want, err)
	}
	old := `{"seen":100,"inserted":71,"updated":29,"unchanged":0,"gone":0,"stale":0,"duplicate":0,"outside":0,"quarantined":0}`
	if _, known, err := DecodeExchange([]byte(old)); known || err != nil {
		t.Errorf("a row of before: known %v, %v", known, err)
	}
	if len(text) > len(old) || strings.Contains(string(text), "null") {
		t.Errorf("%d bytes, before it was %d", len(text), len(old))
	}
}
