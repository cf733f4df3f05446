package tmpl

import (
	"fmt"
	"math"
	"time"
)

func formatDateTime(args []any) (any, error) {
	zone := time.UTC
	if len(args) == 3 {
		zone = args[2].(*time.Location)
	}
	return args[0].(time.Time).In(zone).Format(args[1].(*pattern).layout), nil
}

func parseDate(args []any) (any, error) {
	from := args[0].(string)
	if from == "" {
		return nil, nil
	}
	for _, p := range args[1:] {
		if at, err := time.Parse(p.(*pattern).layout, from); err == nil {
			return at.UTC(), nil
		}
	}
	return nil, fmt.Errorf("%.60q fits none of the patterns", from)
}

func epochOf(args []any) (any, error) { return int(args[0].(time.Time).Unix()), nil }

func epochMillis(args []any) (any, error) { return int(args[0].(time.Time).UnixMilli()), nil }

// firstMillis: a count of seconds reaches it in the year 5138, a count of
// milliseconds reached it in 1973.
const firstMillis = 100_000_000_000

func fromEpoch(args []any) (any, error) {
	switch n := args[0].(type) {
	case int64:
		if n >= firstMillis || n <= -firstMillis {
			return time.UnixMilli(n).UTC(), nil
		}
		return time.Unix(n, 0).UTC(), nil
	case float64:
		if math.Abs(n) >= firstMillis {
			n /= 1000
		}
		if math.Abs(n) > firstMillis*1000 {
			return nil, fmt.Errorf("%v is not a count since 1970", n)
		}
		whole, fraction := math.Modf(n)
		return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1000).UTC(), nil
	}
	return nil, nil
}

func addDuration(args []any) (any, error) {
	return args[0].(time.Time).Add(args[1].(time.Duration)).UTC(), nil
}
