package alert

import (
	"testing"
	"time"
)

func TestAFailedDeliveryIsTriedAgainWithGrowingWaits(t *testing.T) {
	d, now := Delivery{Status: Queued}, midnight
	var last time.Duration
	for n := 1; n < MostTries; n++ {
		d = d.AfterTry(now, "connection refused", false)
		wait := d.DueAt.Sub(now)
		if d.Status != Queued || d.Tries != n || wait < last || wait > time.Hour {
			t.Fatalf("try %d: %+v after %s", n, d, last)
		}
		last, now = wait, d.DueAt
	}
	if d = d.AfterTry(now, "connection refused", false); d.Status != GivenUp || d.Error == "" {
		t.Errorf("%+v", d)
	}
	if passed := now.Sub(midnight); passed < 12*time.Hour || passed > 16*time.Hour {
		t.Errorf("given up after %s", passed)
	}
	if d = (Delivery{Status: Queued, Tries: 3, Error: "x"}).AfterTry(now, "", false); d.Status != Sent || d.Error != "" || d.SentAt != now {
		t.Errorf("%+v", d)
	}
	if d = (Delivery{Status: Queued}).AfterTry(now, "refused with 401", true); d.Status != GivenUp || d.Tries != 1 {
		t.Errorf("%+v", d)
	}
}
