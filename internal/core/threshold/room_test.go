package threshold

import "testing"

func TestRoomThatIsScarce(t *testing.T) {
	const giga = 1 << 30
	for name, c := range map[string]struct {
		total, free uint64
		want        bool
	}{
		"half is left":              {100 * giga, 50 * giga, false},
		"little is left":            {100 * giga, 4 * giga, true},
		"a small part of a lot":     {10000 * giga, 100 * giga, false},
		"hardly any":                {10000 * giga, giga, true},
		"a small disk":              {giga, giga / 3, true},
		"a small disk, mostly free": {giga / 4, giga / 5, false},
		"nothing":                   {giga, 0, true},
		"unknown":                   {0, 0, false},
	} {
		if got := IsScarce(c.total, c.free, 0.05); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
