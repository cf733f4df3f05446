package slicing

import "testing"

func TestPointsOfRanges(t *testing.T) {
	const end = 1 << 56
	at := int64(0)
	for n := range 16 { // sixteen buckets tile the line
		g := Range{Kind: HashBucket, From: bucketBound(n << 12), To: bucketBound((n + 1) << 12)}
		if n == 0 {
			g.From = ""
		}
		if n == 15 {
			g.To = ""
		}
		from, to, err := g.Points(end)
		if err != nil || from != at || to != at+end/16 {
			t.Fatalf("bucket %d is [%d, %d): %v", n, from, to, err)
		}
		at = to
	}
	if at != end {
		t.Errorf("the buckets end at %d", at)
	}
	if from, to, err := (Range{Kind: ByID, From: "007", To: "42"}).Points(end); err != nil || from != 7 || to != 42 {
		t.Errorf("[%d, %d): %v", from, to, err)
	}
	for _, bad := range []Range{{Kind: ByID, From: "10.1000/x"}, {Kind: ByID, To: "-1"}, {Kind: ByID, From: "9", To: "9"}, {Kind: HashBucket, From: "zz"}} {
		if from, to, err := bad.Points(end); err == nil {
			t.Errorf("%+v is [%d, %d)", bad, from, to)
		}
	}
}
