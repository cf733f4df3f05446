package alert

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

var midnight = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// quarantined is a finding whose text changes from look to look.
func quarantined(source string, count int) view.Finding {
	return view.Finding{Code: view.FoundQuarantined, Subject: view.Subject{Source: source, Endpoint: "works"}, Count: count}.Complete(threshold.Default(), midnight)
}

func uncomputable(source string) view.Finding {
	return view.Finding{Code: view.FoundUncomputable, Subject: view.Subject{Source: source}, Error: "no answer"}.Complete(threshold.Default(), midnight)
}

// watch keeps alerts as the store does, and what was told.
type watch struct {
	config   Config
	now      time.Time
	kept     []Kept
	silences []Silence
	told     []Message
	next     int64
}

func newWatch(rules ...Rule) *watch {
	return &watch{config: Config{Receivers: map[string]Receiver{"mail": {}}, Rules: byName(rules...), ResolveAfter: duration.Duration(5 * time.Minute)}, now: midnight}
}

func byName(rules ...Rule) map[string]Rule {
	out := map[string]Rule{}
	for _, r := range rules {
		out[r.Name] = r
	}
	return out
}

// look moves the time on and decides.
func (w *watch) look(after time.Duration, found ...view.Finding) []Message {
	w.now = w.now.Add(after)
	d := w.config.Decide(w.now, found, slices.Clone(w.kept), w.silences)
	for _, k := range d.Forget {
		w.kept = slices.DeleteFunc(w.kept, func(o Kept) bool { return o.ID == k.ID })
	}
	for _, k := range d.Keep {
		if k.ID == 0 {
			w.next++
			k.ID = w.next
			w.kept = append(w.kept, k)
			continue
		}
		w.kept[slices.IndexFunc(w.kept, func(o Kept) bool { return o.ID == k.ID })] = k
	}
	var sent []Message
	for _, a := range d.Messages {
		sent = append(sent, a.Message)
	}
	w.told = append(w.told, sent...)
	return sent
}

func kinds(messages []Message) (out []string) {
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s %d", m.Kind, len(m.Alerts)))
	}
	return out
}

func (w *watch) expect(t *testing.T, got []Message, want ...string) {
	t.Helper()
	if !slices.Equal(kinds(got), want) {
		t.Fatalf("at %s: %v, want %v", w.now.Format(time.TimeOnly), kinds(got), want)
	}
}

func TestAnAlertIsToldRepeatedAndResolved(t *testing.T) {
	w := newWatch(Rule{Name: "r"})
	a := quarantined("s", 1)
	w.expect(t, w.look(0, a))
	w.expect(t, w.look(time.Minute, a))
	w.expect(t, w.look(time.Minute, quarantined("s", 7)), "FIRING 1")
	w.expect(t, w.look(time.Minute, a))
	w.expect(t, w.look(4*time.Hour-time.Minute, a), "REPEATED 1")
	w.expect(t, w.look(time.Minute)) // gone for one look
	w.expect(t, w.look(time.Minute, a))
	w.expect(t, w.look(time.Minute))
	w.expect(t, w.look(4*time.Minute))
	got := w.look(time.Minute)
	w.expect(t, got, "RESOLVED 1")
	if got[0].Alerts[0].ResolvedAt != w.now.Add(-5*time.Minute) || got[0].Alerts[0].Since != midnight {
		t.Errorf("%+v", got[0].Alerts[0])
	}
	w.expect(t, w.look(time.Hour))
	w.expect(t, w.look(time.Hour, a)) // it begins anew
	w.expect(t, w.look(time.Hour, a), "FIRING 1")
}

func TestWhatComesAndGoesWithinForIsNotTold(t *testing.T) {
	w := newWatch(Rule{Name: "r", For: duration.Duration(10 * time.Minute)})
	for range 20 {
		w.expect(t, w.look(time.Minute, quarantined("s", 1)))
		w.expect(t, w.look(8*time.Minute, quarantined("s", 1)))
		w.expect(t, w.look(time.Minute))
	}
	if len(w.kept) != 0 {
		t.Errorf("%+v is kept", w.kept)
	}
}

func TestAtOnceIsToldByTheFirstLook(t *testing.T) {
	w := newWatch(Rule{Name: "r", For: AtOnce})
	w.expect(t, w.look(0, quarantined("s", 1)), "FIRING 1")
}

// A source that cannot be computed hides its findings: they are not over.
func TestWhatIsHiddenIsNotResolved(t *testing.T) {
	w := newWatch(Rule{Name: "r", For: AtOnce})
	w.expect(t, w.look(0, quarantined("s", 1), quarantined("other", 1)), "FIRING 1", "FIRING 1")
	w.expect(t, w.look(time.Minute, uncomputable("s")), "FIRING 1")
	w.expect(t, w.look(time.Hour, uncomputable("s")), "RESOLVED 1") // of the other source
	w.expect(t, w.look(time.Minute, quarantined("s", 1)))
	w.expect(t, w.look(time.Hour, quarantined("s", 1)), "RESOLVED 1") // it is computed again
	if last := w.told[len(w.told)-1].Alerts[0].Code; last != view.FoundUncomputable {
		t.Errorf("%s ended", last)
	}
}

func TestARaisedSeverityIsToldAtOnce(t *testing.T) {
	w := newWatch(Rule{Name: "r"})
	a := quarantined("s", 1)
	w.look(0, a)
	w.expect(t, w.look(2*time.Minute, a), "FIRING 1")
	a.Severity = view.Critical
	w.expect(t, w.look(time.Minute, a), "FIRING 1")
	w.expect(t, w.look(time.Minute, a))
	a.Severity = view.Notice // it matters less, and is still there
	w.expect(t, w.look(time.Hour, a))
	w.expect(t, w.look(time.Hour))
	w.expect(t, w.look(time.Hour), "RESOLVED 1")
}

func TestRulesChooseBySeverityCodeSourceAndHealing(t *testing.T) {
	notice := view.Finding{Code: view.FoundNeverChecked}
	notice.Severity = view.Notice
	healing := quarantined("healing", 1)
	healing.Heals = true
	found := []view.Finding{quarantined("a", 1), quarantined("b", 1), uncomputable("c"), healing}
	for _, c := range []struct {
		rule Rule
		want []string
	}{
		{Rule{}, []string{"FIRING 1", "FIRING 1", "FIRING 1"}},
		{Rule{Severity: "CRITICAL"}, []string{"FIRING 1"}},
		{Rule{Codes: []string{"QUARANTINED"}}, []string{"FIRING 1", "FIRING 1"}},
		{Rule{Sources: []string{"b", "healing"}}, []string{"FIRING 1"}},
		{Rule{Sources: []string{"b", "healing"}, Healing: true}, []string{"FIRING 1", "FIRING 1"}},
		{Rule{GroupBy: []string{"code"}}, []string{"FIRING 2", "FIRING 1"}},
	} {
		c.rule.Name, c.rule.For = "r", AtOnce
		w := newWatch(c.rule)
		w.expect(t, w.look(0, found...), c.want...)
	}
}

func TestASilenceHoldsBackAndTheEndIsTold(t *testing.T) {
	w := newWatch(Rule{Name: "r", For: AtOnce})
	w.expect(t, w.look(0, quarantined("a", 1)), "FIRING 1")
	w.silences = []Silence{{Source: "a", Until: midnight.Add(12 * time.Hour)}, {Code: view.FoundQuarantined, Source: "b", Until: midnight.Add(12 * time.Hour)}}
	w.expect(t, w.look(5*time.Hour, quarantined("a", 1), quarantined("b", 1)))
	w.expect(t, w.look(time.Hour, quarantined("b", 1)))
	w.expect(t, w.look(time.Hour, quarantined("b", 1)), "RESOLVED 1")
	w.expect(t, w.look(5*time.Hour, quarantined("b", 1)), "FIRING 1") // the silence has ended
}

// Alerts whose rule is gone are closed without a word; the same finding under another rule
// is told by that.
func TestAChangedRuleClosesItsAlerts(t *testing.T) {
	w := newWatch(Rule{Name: "old", For: AtOnce}, Rule{Name: "slow"})
	w.expect(t, w.look(0, quarantined("a", 1)), "FIRING 1")
	w.config.Rules = byName(Rule{Name: "new", For: AtOnce})
	w.expect(t, w.look(time.Minute, quarantined("a", 1)), "FIRING 1")
	var states []State
	for _, k := range w.kept {
		states = append(states, k.State)
	}
	if !slices.Equal(states, []State{Closed, Open}) {
		t.Errorf("%v", states)
	}
}

func TestAStormIsOneMessage(t *testing.T) {
	w := newWatch(Rule{Name: "r", For: AtOnce})
	var found []view.Finding
	for n := range Storm + 1 {
		found = append(found, quarantined(fmt.Sprint("s", n), 1))
	}
	w.expect(t, w.look(0, found...), fmt.Sprintf("FIRING %d", Storm+1))
}

func TestSeveralFindingsAboutOneThingAreOneAlert(t *testing.T) {
	w := newWatch()
	w.look(0, quarantined("s", 1), quarantined("s", 2), quarantined("s", 3))
	if len(w.kept) != 1 {
		t.Fatalf("%+v", w.kept)
	}
	if text := w.kept[0].Alert.Text; text[len(text)-len("(and 2 more of this kind)"):] != "(and 2 more of this kind)" {
		t.Error(text)
	}
}

// Two alerts are one only if nothing about their subjects differs, also what a subject gets
// to say later.
func TestTheKeyHoldsAllOfTheSubject(t *testing.T) {
	keys := map[string]bool{Alert{Code: "A"}.Key(): true, Alert{Code: "B"}.Key(): true}
	of := reflect.TypeFor[view.Subject]()
	for i := range of.NumField() {
		a := Alert{Code: "A", Text: "whatever"}
		switch field := reflect.ValueOf(&a.Subject).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Int64:
			field.SetInt(7)
		default:
			t.Fatalf("%s is new: try it here", of.Field(i).Name)
		}
		keys[a.Key()] = true
	}
	if len(keys) != of.NumField()+2 {
		t.Errorf("%d keys for %d alerts", len(keys), of.NumField()+2)
	}
}

// The laws of alerts, whatever is found whenever.
func TestLawsOfAlerts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lasts := time.Duration(rapid.IntRange(0, 6).Draw(t, "for")) * time.Minute
		rule := Rule{Name: "r", For: duration.Duration(lasts), Repeat: duration.Duration(20 * time.Minute)}
		if lasts == 0 {
			rule.For = AtOnce
		}
		w := newWatch(rule)
		sources := []string{"a", "b"}
		seen, gone, open, toldAt := map[string]time.Time{}, map[string]time.Time{}, map[string]bool{}, map[string]time.Time{}
		ids := map[string]bool{}
		if rapid.Bool().Draw(t, "silenced") {
			w.silences = []Silence{{Source: "a", Until: midnight.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "until")) * time.Minute)}}
		}
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			after := time.Duration(rapid.IntRange(1, 5).Draw(t, "after")) * time.Minute
			var found []view.Finding
			now := w.now.Add(after)
			for _, s := range sources {
				if rapid.IntRange(0, 3).Draw(t, s) > 0 {
					found = append(found, quarantined(s, rapid.IntRange(1, 9).Draw(t, "count")))
					delete(gone, s)
					if seen[s].IsZero() {
						seen[s] = now
					}
				} else {
					if gone[s].IsZero() {
						gone[s] = now
					}
					delete(seen, s)
				}
			}
			for _, m := range w.look(after, found...) {
				if ids[m.ID] {
					t.Fatalf("the id of %+v was given before", m)
				}
				ids[m.ID] = true
				for _, a := range m.Alerts {
					s := a.Subject.Source
					silenced := isSilenced(a, w.silences, now)
					switch m.Kind {
					case Firing:
						if open[s] || seen[s].IsZero() || now.Sub(seen[s]) < lasts || silenced {
							t.Fatalf("%s was told: open %v, seen since %v, silenced %v", s, open[s], seen[s], silenced)
						}
						open[s], toldAt[s] = true, now
					case Repeated:
						if !open[s] || now.Sub(toldAt[s]) < 20*time.Minute || silenced {
							t.Fatalf("%s was repeated after %s", s, now.Sub(toldAt[s]))
						}
						toldAt[s] = now
					case Resolved:
						if !open[s] || gone[s].IsZero() || now.Sub(gone[s]) < 5*time.Minute {
							t.Fatalf("%s was resolved: open %v, absent since %v", s, open[s], gone[s])
						}
						open[s] = false
					}
				}
			}
			for _, s := range sources { // nothing is missed either
				a := Alert{Subject: view.Subject{Source: s}}
				if !seen[s].IsZero() && now.Sub(seen[s]) >= lasts && !open[s] && !isSilenced(a, w.silences, now) {
					t.Fatalf("%s lasts since %v and was not told", s, seen[s])
				}
				if open[s] && !gone[s].IsZero() && now.Sub(gone[s]) >= 5*time.Minute {
					t.Fatalf("%s is absent since %v and was not resolved", s, gone[s])
				}
			}
			if again := w.look(0, found...); len(again) > 0 {
				t.Fatalf("a look that was repeated told %v", kinds(again))
			}
		}
	})
}
