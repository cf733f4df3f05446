package view

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

func TestTrust19CursorEventsTellSeconds(t *testing.T) {
	e := CursorEvent{ID: 7, Moved: true, Windows: []window.Window{}, Lookback: 90 * time.Second, Lineage: ingest.Lineage{PlanID: 3}, Actor: "ann"}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"id":7`, `"planId":3`, `"actor":"ann"`, `"lookbackSeconds":90`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	before := strings.Replace(string(text), `"lookbackSeconds":90`, `"lookbackNanos":90000000000`, 1)
	for _, stored := range []string{string(text), before} {
		var back CursorEvent
		if err := json.Unmarshal([]byte(stored), &back); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s became %+v, %v", stored, back, err)
		}
	}
}
