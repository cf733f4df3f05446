package gate

import (
	"fmt"
	"testing"
	"time"
)

func TestPlace(t *testing.T) {
	hour := func(n int) time.Time { return t0.Truncate(24 * time.Hour).Add(time.Duration(n) * time.Hour) }
	now := hour(10).Add(20 * time.Minute)
	day := hour(0)
	for name, c := range map[string]struct {
		limits   Limits
		priority int
		use      Use
		needs    []float64
		want     string
	}{
		"no quota":                     {Limits{}, 90, Use{}, []float64{1, 2}, "none"},
		"all fit":                      {Limits{QuotaPerHour: 100}, 10, Use{}, []float64{40, 50}, "10:20 10:20"},
		"the rest rolls":               {Limits{QuotaPerHour: 100}, 10, Use{}, []float64{40, 40, 40, 40, 40}, "10:20 10:20 11:00 11:00 12:00"},
		"a later one may fit":          {Limits{QuotaPerHour: 100}, 10, Use{}, []float64{40, 60, 10}, "10:20 11:00 10:20"},
		"UPDATE leaves some":           {Limits{QuotaPerHour: 100}, 50, Use{}, []float64{80, 10}, "10:20 11:00"},
		"BACKFILL leaves more":         {Limits{QuotaPerHour: 100}, 90, Use{}, []float64{70, 10}, "10:20 11:00"},
		"what is taken counts":         {Limits{QuotaPerHour: 100}, 10, Use{Taken: []Taken{{"hour", hour(10), 80}}}, []float64{5, 10}, "10:20 11:00"},
		"that of an old hour does not": {Limits{QuotaPerHour: 100}, 10, Use{Taken: []Taken{{"hour", hour(9), 80}}}, []float64{80}, "10:20"},
		"reserved by others": {Limits{QuotaPerHour: 100}, 10, Use{Reserved: []Reserved{{hour(10), 60}, {hour(11), 90}}},
			[]float64{20, 20}, "10:20 12:00"},
		"more than a window": {Limits{QuotaPerHour: 100}, 10, Use{}, []float64{200, 50, 30}, "10:20 12:00 13:00"},
		"more than a window, begun": {Limits{QuotaPerHour: 100}, 10, Use{Taken: []Taken{{"hour", hour(10), 1}}},
			[]float64{200, 50}, "11:00 10:20"},
		"hour and day":          {Limits{QuotaPerHour: 100, QuotaPerDay: 150}, 10, Use{}, []float64{90, 30, 30}, "10:20 11:00 00:00"},
		"a day that is used up": {Limits{QuotaPerDay: 100}, 10, Use{Taken: []Taken{{"day", day, 90}}}, []float64{1}, "00:00"},
		"money":                 {Limits{BudgetPerDay: 1, PricePerRequest: 0.25}, 10, Use{}, []float64{3, 1, 1}, "10:20 10:20 00:00"},
		"hours":                 {Limits{Hours: "12:00-13:00", QuotaPerHour: 10, QuotaMargin: 0.01}, 10, Use{}, []float64{9, 9}, "12:00 12:00"},
		"nothing to send":       {Limits{QuotaPerHour: 100}, 10, Use{Taken: []Taken{{"hour", hour(10), 90}}}, []float64{0}, "10:20"},
	} {
		c.use.Now = now
		b, got := NewBudget(c.limits, c.priority, c.use), "none"
		if b != nil {
			got = ""
			for _, need := range c.needs {
				got += " " + b.Place(need, now).Format("15:04")
			}
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestForetell(t *testing.T) {
	now := t0.Truncate(24 * time.Hour).Add(10*time.Hour + 30*time.Minute)
	hour := now.Truncate(time.Hour)
	fast := func(l Limits) Limits { l.PerSecond, l.Burst = 1000, 1; return l }
	for name, c := range map[string]struct {
		load Load
		use  Use
		want string
	}{
		"by the rate":          {Load{Limits: Limits{PerSecond: 2}, Requests: 121}, Use{}, "[] 10:31:00"},
		"fits into the hour":   {Load{Limits: fast(Limits{QuotaPerHour: 100}), Requests: 50}, Use{}, "[hour 50/100 left 90] 10:30:01"},
		"takes two hours":      {Load{Limits: fast(Limits{QuotaPerHour: 100}), Requests: 150}, Use{}, "[hour 150/100 left 90] 11:00:01"},
		"some was taken":       {Load{Limits: fast(Limits{QuotaPerHour: 100}), Requests: 50}, Use{Taken: []Taken{{"hour", hour, 60}}}, "[hour 50/100 left 30] 11:00:01"},
		"cooling":              {Load{Limits: Limits{PerSecond: 1000}, Requests: 10}, Use{Cooling: now.Add(time.Hour)}, "[] cooling 11:30:01"},
		"a pause that is over": {Load{Limits: Limits{PerSecond: 1000}, Requests: 10}, Use{Cooling: now.Add(-time.Hour)}, "[] 10:30:01"},
		"at night":             {Load{Limits: fast(Limits{Hours: "21:00-05:00"}), Requests: 1000}, Use{}, "[] opens 21:00:00 21:00:01"},
		"money": {Load{Limits: fast(Limits{BudgetPerDay: 1, PricePerRequest: 0.1}), Requests: 20, Money: 2}, Use{Taken: []Taken{{"money", hour.Truncate(24 * time.Hour), 0.5}}},
			"[money 2/1 left 0.5] 00:00:01"},
		"too much": {Load{Limits: fast(Limits{QuotaPerDay: 10}), Requests: 1e6}, Use{}, "[day 1e+06/10 left 9] never"},
		"nothing":  {Load{Limits: Limits{PerSecond: 1}}, Use{}, "[] 10:30:00"},
	} {
		p := Foretell(c.load, c.use, now)
		var shares []string
		for _, s := range p.Shares {
			shares = append(shares, fmt.Sprintf("%s %v/%v left %v", s.Quota, s.Needed, s.Limit, s.Left))
		}
		got := fmt.Sprint(shares) + " "
		if !p.CoolingUntil.IsZero() {
			got += "cooling "
		}
		if !p.Opens.IsZero() {
			got += "opens " + p.Opens.Format("15:04:05") + " "
		}
		if p.Finish.IsZero() {
			got += "never"
		} else {
			got += p.Finish.Format("15:04:05")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
