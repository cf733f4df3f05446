package registry

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
)

// putValue writes a value into its column or columns; false if it does not fit.
func (c column) putValue(value any, columns map[string]any) bool {
	length, _ := value.(duration.Duration)
	value = plainValue(value)
	switch c.as {
	case asText:
		if c.width > 0 && utf8.RuneCountInString(value.(string)) > c.width {
			return false
		}
	case asJSON:
		value = canonicalJSON(value)
	case asMillis, asSeconds:
		unit := map[storage]time.Duration{asMillis: time.Millisecond, asSeconds: time.Second}[c.as]
		if length.Std()%unit != 0 {
			return false
		}
		value = int64(length.Std() / unit)
	case asSpan:
		number, unit, ok := spanOf(length)
		if !ok {
			return false
		}
		columns[c.unitColumn()] = unit
		value = number
	case asRetries:
		if value.(int64) < 1 {
			return false
		}
		value = value.(int64) - 1
	}
	columns[c.name] = value
	return true
}

type timeUnit struct {
	code   string
	length time.Duration
}

func timeUnits() []timeUnit {
	return []timeUnit{{"DAY", 24 * time.Hour}, {"HOUR", time.Hour}, {"MINUTE", time.Minute}, {"SECOND", time.Second}}
}

func spanOf(d duration.Duration) (number int64, unit string, ok bool) {
	for _, u := range timeUnits() {
		if d.Std()%u.length == 0 {
			return int64(d.Std() / u.length), u.code, true
		}
	}
	return 0, "", false
}

// takeValue reads what put wrote, as a node. Drivers differ in the Go types they
// hand out for one column type.
func (c column) takeValue(columns map[string]any, at Position) (*node, error) {
	value := columns[c.name]
	if bytes, ok := value.([]byte); ok {
		value = string(bytes)
	}
	switch c.as {
	case asText:
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%v: expected text", value)
		}
		return &node{at: at, what: words, text: text}, nil
	case asJSON:
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%v: expected JSON text", value)
		}
		return parseJSON(at, text)
	case asFlag:
		return takeFlag(value, at)
	case asNumber:
		float, err := takeFloat(value)
		return &node{at: at, what: number, text: strconv.FormatFloat(float, 'g', -1, 64)}, err
	}
	whole, err := takeInt(value)
	if err != nil {
		return nil, err
	}
	switch c.as {
	case asInteger:
	case asRetries:
		if whole == math.MaxInt64 {
			return nil, fmt.Errorf("%d: is out of range", whole)
		}
		whole++
	default:
		return c.takeLength(whole, columns, at)
	}
	return &node{at: at, what: number, text: strconv.FormatInt(whole, 10)}, nil
}

func (c column) takeLength(number int64, columns map[string]any, at Position) (*node, error) {
	unit := map[storage]time.Duration{asMillis: time.Millisecond, asSeconds: time.Second}[c.as]
	if c.as == asSpan {
		code := columns[c.unitColumn()]
		if bytes, ok := code.([]byte); ok {
			code = string(bytes)
		}
		for _, u := range timeUnits() {
			if u.code == code {
				unit = u.length
			}
		}
		if unit == 0 {
			return nil, fmt.Errorf("%s %v: expected DAY, HOUR, MINUTE or SECOND", c.unitColumn(), code)
		}
	}
	if number < 0 || number > math.MaxInt64/int64(unit) {
		return nil, fmt.Errorf("%d: is no length of time", number)
	}
	length := duration.Duration(time.Duration(number) * unit)
	return &node{at: at, what: words, text: length.String()}, nil
}

func takeFlag(value any, at Position) (*node, error) {
	flag, ok := value.(bool)
	if !ok {
		number, err := takeInt(value)
		if err != nil || number < 0 || number > 1 {
			return nil, fmt.Errorf("%v: expected true or false", value)
		}
		flag = number == 1
	}
	return &node{at: at, what: boolean, text: strconv.FormatBool(flag)}, nil
}

func takeInt(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case string:
		return strconv.ParseInt(v, 10, 64)
	}
	return 0, fmt.Errorf("%v: expected a whole number", value)
}

func takeFloat(value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case string:
		return strconv.ParseFloat(v, 64)
	}
	return 0, fmt.Errorf("%v: expected a number", value)
}

// canonicalJSON keeps whole numbers as they are; RFC 8785 would round those
// above 2^53. Values come from plain and cannot fail to marshal.
func canonicalJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("registry: %v", err))
	}
	out, err := document.Canonical(raw, nil)
	if err != nil {
		panic(fmt.Sprintf("registry: %v", err))
	}
	return string(out)
}
