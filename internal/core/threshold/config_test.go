package threshold

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Every limit can be declared, has a default, and the key says which.
func TestEveryLimitCanBeDeclared(t *testing.T) {
	limits, config := reflect.TypeFor[Limits](), reflect.TypeFor[Config]()
	if limits.NumField() != config.NumField() {
		t.Errorf("%d limits, %d keys", limits.NumField(), config.NumField())
	}
	explained := Config{}.Explain()
	for i := range config.NumField() {
		field := config.Field(i)
		held, known := limits.FieldByName(field.Name)
		if !known || !field.Type.Elem().ConvertibleTo(held.Type) {
			t.Errorf("%s has no limit it could be", field.Name)
			continue
		}
		if reflect.ValueOf(Default()).FieldByName(field.Name).IsZero() {
			t.Errorf("%s has no default", field.Name)
		}
		if doc := field.Tag.Get("doc"); !strings.HasSuffix(doc, "without it "+explained[i].Value) {
			t.Errorf("%s: the key says %q, the default is %s", field.Name, doc, explained[i].Value)
		}
		if explained[i].Declared {
			t.Errorf("%+v", explained[i])
		}
	}
}

func TestDeclaredLimitsHold(t *testing.T) {
	span, times := duration.Duration(2*time.Hour), 9
	got := Config{ConditionLasts: &span, CircuitOpens: &times}
	want := Default()
	want.ConditionLasts, want.CircuitOpens = 2*time.Hour, 9
	if got.Limits() != want {
		t.Errorf("%+v", got.Limits())
	}
	if e := got.Explain()[0]; e != (Explained{"conditionLasts", "PT2H", true}) {
		t.Errorf("%+v", e)
	}
	span = -1
	if p := got.Check(); len(p) != 1 || p[0].Key != "conditionLasts" {
		t.Errorf("%+v", p)
	}
}
