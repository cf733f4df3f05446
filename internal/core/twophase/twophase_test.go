package twophase

import (
	"strings"
	"testing"
)

func TestDefaultsStayWithinTheUpstreamsLimit(t *testing.T) {
	for _, tc := range []struct {
		in   Config
		want int
	}{
		{Config{Endpoint: "detail"}, 100},
		{Config{Endpoint: "detail", MaxIDs: 20}, 20},
		{Config{Endpoint: "detail", MaxIDs: 500}, 100},
		{Config{Endpoint: "detail", BatchSize: 7, MaxIDs: 20}, 7},
		{Config{}, 0},
	} {
		got := tc.in.WithDefaults()
		if got.BatchSize != tc.want || got.Validate() != nil {
			t.Errorf("%+v: batches of %d, want %d (%v)", tc.in, got.BatchSize, tc.want, got.Validate())
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for want, c := range map[string]Config{
		"endpoint: E-TWO-PHASE-PAIR":      {BatchSize: 10},
		"batchSize 300: E-ID-BATCH-LIMIT": {Endpoint: "detail", BatchSize: 300, MaxIDs: 200},
	} {
		if err := c.WithDefaults().Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
