package daemon

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A part of a list that is missing while others were read is filled and waived from the map by itself: the page of the
// day names it, and what all parts have is left alone.
func TestAPartitionIsFilledAndWaivedFromTheMap(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		const values = `cs, math, "q&a"`
		c := w.applyAndCompile(values)
		w.shelves.broken["math"], w.shelves.broken["q&a"] = true, true
		for day := 2; day < 4; day++ {
			from, to := marchDay(day), marchDay(day+1)
			if _, err := w.app.Harvest(t.Context(), c, NewRequest(to, &from, &to), Watch{}); err != nil {
				t.Fatal(err)
			}
			w.shelves.broken["q&a"] = false
		}
		w.shelves.broken["math"] = false
		s := &stand{T: t, app: w.app, web: w.app.newDashboard("test", nil, callerIn, nil)}
		day := s.page("/coverage/sets/2025-03-02?endpoint=works")
		s.has(day, "only <code>set=math</code>", "partition=set%3Dmath", "only <code>set=q&amp;a</code>", "partition=set%3Dq%26a")
		if strings.Contains(day, "set=cs") {
			t.Error("a part that was read is offered")
		}
		act := func(verb, set, date, next string) {
			t.Helper()
			path := fmt.Sprintf("/coverage/sets/%s?endpoint=works&from=%s&to=%s&partition=%s", verb, date, next, url.QueryEscape("set="+set))
			preview := s.page(path)
			s.has(preview, fmt.Sprintf("patra coverage %s sets --partition set=%s --from %s", verb, html.EscapeString(set), date))
			mark := markOfForm.FindStringSubmatch(preview)
			if mark == nil {
				t.Fatal(preview)
			}
			status, to := s.post(path, url.Values{"mark": {mark[1]}, "reason": {"their outage"}}, admin)
			if status != http.StatusSeeOther {
				t.Fatalf("%d:\n%s", status, to)
			}
		}
		act("waive", "q&a", "2025-03-02", "2025-03-03")
		if at := w.state(c).Cursor; !at.Equal(marchDay(2)) {
			t.Errorf("math is missing, and the watermark stands at %s", at)
		}
		clear(w.shelves.asked)
		act("fill", "math", "2025-03-02", "2025-03-03")
		if done, err := w.app.Work(t.Context(), 3, nil); err != nil || done.Total != 1 || done.Slices["SUCCEEDED"] != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		if w.stored("math") != 3 || len(w.shelves.asked) != 1 || !w.state(c).Cursor.Equal(marchDay(3)) {
			t.Errorf("%d works of math, asked for %v; the watermark stands at %s", w.stored("math"), w.shelves.asked, w.state(c).Cursor)
		}
		act("waive", "math", "2025-03-03", "2025-03-04")
		if !w.state(c).Cursor.Equal(marchDay(4)) {
			t.Errorf("waived, and the watermark stands at %s", w.state(c).Cursor)
		}
		if status, body := s.get("/coverage/sets/fill?endpoint=works&from=2025-03-02&to=2025-03-03&partition=set%3Dmaths", admin); status == http.StatusOK || !strings.Contains(body, "set=math") {
			t.Errorf("a part that does not exist: %d", status)
		}
	})
}
