package sim

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// weather is what an upstream is like for some minutes.
type weather struct {
	faults string            // a script
	lie    func(*upsim.Lies) // besides those that last
	gap    bool              // some records are not there by id
	shrink bool              // works leave the lists while they are read
}

// Every answer takes its time.
const steady = "slow@*:delay=1100ms;slow@p:0.4:delay=3700ms;slow@p:0.05:delay=13s"

func weathers(u *upstream) (out []weather) {
	for _, script := range append([]string{
		"",
		"429@p:0.6:retry-after=3;429@p:0.3",
		"429@p:0.2:retry-after=date+4s;503@p:0.2:retry-after=2;429@p:0.02:retry-after=200",
		"500@p:0.1;502@p:0.1;503@p:0.1;504@p:0.1",
		"502@*",
		"reset@p:0.1;truncate-json@p:0.1;truncate-gzip@p:0.1;lost-answer@p:0.1",
		"html-200@p:0.1;error-200@p:0.1;broken-json@p:0.1",
		"slow@p:0.1:delay=20s;slow@p:0.05:delay=45s",
		"missing-id@p:0.03;bad-date@p:0.03",
		"500@p:0.04;429@p:0.04:retry-after=1;reset@p:0.03;lost-answer@p:0.03;truncate-gzip@p:0.03;slow@p:0.02:delay=35s",
	}, special(u)...) {
		if u.whole && strings.Contains(script, "missing-id") {
			continue // such an item counts for none of the list
		}
		out = append(out, weather{faults: script})
	}
	return append(out, untrue(u)...)
}

// special are the faults of some ways to page. Those that hide items strike only
// where a total, or a second reading, can tell: not in offset-blind, feed-offset and time.
func special(u *upstream) (out []string) {
	total := !slices.Contains([]string{"offset-blind", "time", "feed-offset"}, u.name)
	if total {
		out = append(out, "duplicate-page@p:0.1", "duplicate-page@p:0.03;500@p:0.05;lost-answer@p:0.03")
	}
	if total && u.name != crossref {
		out = append(out, "lost-next@p:0.1;short-page@p:0.1;empty-page@p:0.05",
			"pinned-item@p:0.3;foreign-item@p:0.2:times=20", "pinned-item@p:0.1;lost-next@p:0.05;lost-answer@p:0.05;500@p:0.05")
	}
	switch {
	case u.name == crossref:
		out = append(out, "expire-cursor@p:0.1")
	case strings.HasPrefix(u.name, "token"), strings.HasPrefix(u.name, "links"), u.name == "feed", u.name == "since", u.name == "whole":
		out = append(out, "expire-cursor@p:0.1:status=410;expire-cursor@p:0.1:status=200", "token-loop@p:0.1", "expire-cursor@p:0.05;reset@p:0.05")
	case strings.HasPrefix(u.name, "search"):
		out = append(out, "withhold@p:0.2", "withhold@p:0.1;500@p:0.1;lost-answer@p:0.05")
	}
	return out
}

// untrue is weather in which good answers are wrong for a while.
func untrue(u *upstream) (out []weather) {
	if u.name == crossref {
		return []weather{{shrink: true}, {shrink: true, faults: "500@p:0.05;lost-answer@p:0.02"}}
	}
	out = append(out, weather{lie: func(l *upsim.Lies) { l.Mark = !l.Mark }})
	if strings.HasPrefix(u.name, "search") {
		out = append(out, weather{gap: true}, weather{lie: func(l *upsim.Lies) { l.OtherRecords = true }})
	}
	if u.name == "search-xml" {
		out = append(out, weather{lie: func(l *upsim.Lies) { l.Renamed = true }})
	}
	return out
}

// lying draws what is wrong with the answers of an upstream all the time, and
// whether its file speaks of the total. A stamp that is rounded up is no key to go
// on behind. A filter that is behind the stamps would hide late works for good.
func (w *world) lying(f simulated.Form) (simulated.Form, upsim.Lies) {
	random := w.random("lies", f.Name)
	if random.IntN(2) == 0 {
		f = f.Silent()
	}
	switch n := random.IntN(6); {
	case n == 0:
		return f, upsim.Lies{FilterOff: time.Duration(1+random.Int64N(int64(lookback/time.Second))) * time.Second}
	case n == 1 && f.Name != "keyset-stamp" && f.Name != "feed-key":
		return f, upsim.Lies{RoundUp: time.Minute}
	case n == 2:
		return f, upsim.Lies{Mark: true}
	}
	return f, upsim.Lies{}
}

// isForeign tells works that a fault put beside a page. They may be stored; but as
// they came into being far behind what is read again, nobody need have them.
func isForeign(id string) bool { return strings.Contains(id, "/!foreign-") }

// inGap is one record of twenty.
func inGap(id string) bool {
	h := fnv.New32a()
	h.Write([]byte(id))
	return h.Sum32()%20 == 0
}

// blow changes the weather of an upstream every few minutes.
func (w *world) blow(u *upstream) {
	random := w.random("weather", u.name)
	all := weathers(u)
	for {
		n := random.IntN(len(all))
		w.log.Debug("weather", "source", u.code, "number", n, "faults", all[n].faults)
		w.set(u, all[n])
		if random.IntN(3) == 0 {
			u.server.RevokeTokens()
		}
		if !w.pass(about(random, 4*time.Minute)) {
			w.set(u, weather{})
			return
		}
	}
}

// set lets a weather begin.
func (w *world) set(u *upstream, now weather) {
	w.faults(u, steady+";"+now.faults)
	lies, gap, shrinking := u.lies, func(string) bool { return false }, upsim.Shrinking{}
	if now.lie != nil {
		now.lie(&lies)
	}
	if now.gap {
		gap = inGap
	}
	if now.shrink {
		shrinking = upsim.Shrinking{Every: 2, Now: true}
	}
	u.server.SetLies(lies)
	u.server.SetGap(gap)
	u.server.SetShrinking(shrinking)
}
