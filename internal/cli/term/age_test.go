package term

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/wording"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 90 * time.Second: "1m 30s", 15 * time.Minute: "15m", 25 * time.Hour: "1d 1h", 40 * 24 * time.Hour: "40d", 800 * 24 * time.Hour: "2y 70d",
		-time.Minute: "-1m",
	} {
		if got := wording.DurationText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
