package upsim

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseFaults(t *testing.T) {
	tests := []struct {
		script string
		want   []Fault
	}{
		{"", nil},
		{" ; ", nil},
		{"429@3-5:retry-after=1;truncate-gzip@8;reset@every:50", []Fault{
			{Kind: Fault429, From: 3, To: 5, RetryAfter: "1"},
			{Kind: FaultTruncateGzip, From: 8, To: 8},
			{Kind: FaultReset, Every: 50},
		}},
		{"503@10-+p:0.25:times=2:delay=1.5s:advance=true", []Fault{
			{Kind: Fault503, From: 10, Chance: 0.25, Times: 2, Delay: 1500 * time.Millisecond, Advance: true},
		}},
		{"429@*:retry-after=Wed, 21 Oct 2026 07:28:00 GMT:times=1", []Fault{
			{Kind: Fault429, RetryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", Times: 1},
		}},
		{"429@2:retry-after=date+2s; lost-answer @ page:3 ", []Fault{
			{Kind: Fault429, From: 2, To: 2, RetryAfter: "date+2s"},
			{Kind: FaultLostAnswer, Page: 3},
		}},
	}
	for _, tt := range tests {
		got, err := ParseFaults(tt.script)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q:\n got %+v %v\nwant %+v", tt.script, got, err, tt.want)
		}
	}
}

func TestParseFaultsSaysWhatIsWrong(t *testing.T) {
	tests := []struct{ script, want string }{
		{"429", "no @"},
		{"slow@1:delay=1s;teapot@3", `fault 2 "teapot@3": unknown kind "teapot"; the kinds are 429, 500`},
		{"429@", `request number "" is not a whole number`},
		{"429@0", `request number "0"`},
		{"429@5-3", "run backwards"},
		{"429@x-3", `request number "x"`},
		{"429@every:0", `every "0"`},
		{"429@each:3", `unknown match "each:3"`},
		{"429@p:0", "chance"},
		{"429@p:1.5", "chance"},
		{"429@p:NaN", "chance"},
		{"429@3+4", "two request matches"},
		{"429@3:delay=1s:delay=2s", "delay is given twice"},
		{"429@3:delay=soon", `delay "soon"`},
		{"429@3:retry-after=", "retry-after is empty"},
		{"429@3:retry-after=date+x", `"x" is not a duration`},
		{"429@3:wait=3", `unknown parameter "wait"`},
		{"429@3:times=0", `times "0"`},
		{"429@3:advance=perhaps", `advance is "perhaps"`},
		{"reset@3:retry-after=1", "reset sends no Retry-After"},
		{"reset@3:advance=true", "advance means nothing for reset"},
		{"slow@3", "slow needs a delay"},
		{"429@path:oauth", `the path "oauth" does not begin with /`},
		{"429@3:id=", "id is empty"},
		{"429@3:status=404", "a status of 404 for 429"},
		{"expire-cursor@3:status=500", "takes 200, 400, 404 or 410"},
		{"lost-next@3:back=2", "back is for token-loop"},
		{"lost-next@3:total=2", "total is for total-wrong"},
	}
	for _, tt := range tests {
		_, err := ParseFaults(tt.script)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q in it", tt.script, err, tt.want)
		}
	}
}

func TestFaultTextGoesThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Fault{
			Kind:   rapid.SampledFrom(FaultKinds()).Draw(t, "kind"),
			From:   rapid.IntRange(0, 9).Draw(t, "from"),
			Every:  rapid.IntRange(0, 3).Draw(t, "every"),
			Chance: rapid.SampledFrom([]float64{0, 0.5, 1, 1e-7}).Draw(t, "chance"),
			Page:   rapid.IntRange(0, 3).Draw(t, "page"),
			Times:  rapid.IntRange(0, 3).Draw(t, "times"),
			Delay:  time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "delay")),
		}
		if f.From > 0 {
			f.To = rapid.SampledFrom([]int{0, f.From, f.From + 5}).Draw(t, "to")
		}
		if f.Kind.httpStatus() != 0 {
			f.RetryAfter = rapid.SampledFrom([]string{"", "3", "date+1s", "Wed, 21 Oct 2026 07:28:00 GMT", "a+b"}).Draw(t, "wait")
			f.Advance = rapid.Bool().Draw(t, "advance")
		}
		f.Path = rapid.SampledFrom([]string{"", "/forms/", "/oauth/token"}).Draw(t, "path")
		f.ID = rapid.SampledFrom([]string{"", "10.5555/a:b<c>"}).Draw(t, "id")
		switch f.Kind {
		case FaultExpireCursor:
			f.Status = rapid.SampledFrom([]int{0, 200, 410}).Draw(t, "status")
		case FaultTokenLoop:
			f.Back = rapid.IntRange(0, 3).Draw(t, "back")
		case FaultTotalWrong, FaultTotalFalling:
			f.Total = rapid.IntRange(0, 3).Draw(t, "total")
		}
		got, err := ParseFaults(f.String())
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], f) {
			t.Fatalf("%+v\nis written %s\nand read %+v %v", f, f, got, err)
		}
	})
}

func TestMatching(t *testing.T) {
	numbers := func(f Fault, seed uint64) (hits []int) {
		for n := 1; n <= 1000; n++ {
			if f.matchesHit(Hit{N: n, Page: n % 4}, seed, 0) {
				hits = append(hits, n)
			}
		}
		return hits
	}
	tests := []struct {
		fault Fault
		want  []int
	}{
		{Fault{Kind: Fault500, From: 3, To: 5}, []int{3, 4, 5}},
		{Fault{Kind: Fault500, From: 999}, []int{999, 1000}},
		{Fault{Kind: Fault500, Every: 400}, []int{400, 800}},
		{Fault{Kind: Fault500, To: 9, Page: 3}, []int{3, 7}},
		{Fault{Kind: Fault500, When: func(h Hit) bool { return h.N == 12 }}, []int{12}},
		{Fault{Kind: FaultDuplicatePage, To: 7}, []int{2, 3, 6, 7}},
		{Fault{Kind: FaultMissingID}, nil},
	}
	for _, tt := range tests {
		if got := numbers(tt.fault, 1); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s hits %v, want %v", tt.fault, got, tt.want)
		}
	}
	byChance := Fault{Kind: Fault500, Chance: 0.2}
	one, again, other := numbers(byChance, 1), numbers(byChance, 1), numbers(byChance, 2)
	if !reflect.DeepEqual(one, again) || reflect.DeepEqual(one, other) {
		t.Error("chance does not follow its seed")
	}
	if len(one) < 150 || len(one) > 250 {
		t.Errorf("a chance of 0.2 hit %d of 1000", len(one))
	}
}
