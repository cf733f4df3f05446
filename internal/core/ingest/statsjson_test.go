package ingest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestTrust19StatsTellSeconds(t *testing.T) {
	s := RunStats{BatchStats: BatchStats{Seen: 3, Inserted: 3}, Requests: 2, WaitMS: 70, TookMS: 1234, SlowestMS: 999}
	text, err := json.Marshal(struct{ Stats RunStats }{s})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"seen":3`, `"requests":2`, `"waitSeconds":0.07`, `"tookSeconds":1.234`, `"slowestSeconds":0.999`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(string(text), "Ms") {
		t.Errorf("milliseconds in %s", text)
	}
	for name, stored := range map[string]string{
		"as written": string(text),
		"as before":  `{"Stats":{"seen":3,"inserted":3,"requests":2,"waitMs":70,"tookMs":1234,"slowestMs":999}}`,
	} {
		var back struct{ Stats RunStats }
		if err := json.Unmarshal([]byte(stored), &back); err != nil || !reflect.DeepEqual(back.Stats, s) {
			t.Errorf("%s: %+v, %v", name, back.Stats, err)
		}
	}
}

func TestEveryMillisecondComesBack(t *testing.T) {
	for ms := int64(0); ms < 100_000; ms += 7 {
		if back := toMillis(toSeconds(ms), nil); back != ms {
			t.Fatalf("%d ms became %d", ms, back)
		}
	}
}
