package view

import "testing"

func TestFootprintIsShared(t *testing.T) {
	two := func() []RoomTaken {
		return []RoomTaken{{Records: 10, Bytes: 1000, JSONBytes: 4000}, {Records: 30, Bytes: 3000, JSONBytes: 8000}, {}}
	}
	f := Footprint{Bytes: 10_000, Free: 1000, Sources: two()}
	f.SumUp(5000)
	if f.Records != 40 || f.JSONBytes != 12_000 || f.Rest != 4000 || f.Sources[0].Bytes != 1250 || f.Sources[0].PerRecord != 225 || f.Sources[2].PerRecord != 0 {
		t.Errorf("%+v", f)
	}
	f = Footprint{Bytes: 10_000, Sources: two()}
	f.SumUp(0)
	if f.Rest != 6000 || f.Sources[1].PerRecord != 250 {
		t.Errorf("%+v", f)
	}
	f = Footprint{Bytes: 3000, Estimated: true, Sources: two()} // a server that has not looked for a while
	f.SumUp(2000)
	if f.Rest != 0 || f.Sources[1].Bytes != 3000 {
		t.Errorf("%+v", f)
	}
}
