package registry

import (
	"encoding"
	"reflect"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// plainValue turns a leaf's value into what JSON and SQL know: string, int64,
// float64, bool, or a list of these.
func plainValue(value any) any {
	if writer, ok := value.(encoding.TextMarshaler); ok {
		text, err := writer.MarshalText()
		if err != nil {
			return err.Error() // only a negative duration built in code
		}
		return string(text)
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	case reflect.Slice:
		if texts, ok := value.(exchange.Texts); ok && len(texts) == 1 {
			return texts[0]
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainValue(v.Index(i).Interface())
		}
		return out
	}
	return value
}
