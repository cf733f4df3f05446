package freshness

import (
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/threshold"
)

// Each key of the section that is also a limit of the installation may be declared, takes its
// place, and says where its default is; and no other may.
func TestEveryOwnLimitHolds(t *testing.T) {
	section, installed := reflect.TypeFor[Config](), reflect.TypeFor[threshold.Config]()
	for i := range installed.NumField() {
		limit := installed.Field(i)
		key, _, _ := strings.Cut(limit.Tag.Get("json"), ",")
		own, has := section.FieldByName(limit.Name)
		if has != MayDeclare(key) {
			t.Errorf("%s: in the section %t, may be declared %t", key, has, MayDeclare(key))
		}
		if !has {
			continue
		}
		if !strings.HasSuffix(own.Tag.Get("doc"), "(default findings."+key+" of patra.yaml)") || own.Tag.Get("json") != limit.Tag.Get("json") {
			t.Errorf("%s: %s", key, own.Tag)
		}
		var c Config
		value := reflect.New(limit.Type.Elem())
		reflect.ValueOf(&c).Elem().FieldByName(limit.Name).Set(value)
		got := reflect.ValueOf(c.Limits(threshold.Default()))
		if !got.FieldByName(limit.Name).IsZero() {
			t.Errorf("%s: the declared value does not hold", key)
		}
		want := reflect.ValueOf(threshold.Default())
		for n := range want.NumField() {
			if name := want.Type().Field(n).Name; name != limit.Name && !got.Field(n).Equal(want.Field(n)) {
				t.Errorf("%s changes %s", key, name)
			}
		}
	}
	more := 1.5
	if (Config{ErrorShare: &more}).Validate() == nil {
		t.Error("a share above the whole is accepted")
	}
}
