package tmpl

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

func lengthOf(args []any) (any, error) {
	switch v := args[0].(type) {
	case []any:
		return len(v), nil
	case []string:
		return len(v), nil
	}
	written, err := Text(args[0])
	return utf8.RuneCountInString(written), err
}

func firstElement(args []any) (any, error) { return pickElement(args[0].([]any), 0) }

func lastElement(args []any) (any, error) { return pickElement(args[0].([]any), -1) }

func elementAt(args []any) (any, error) {
	index, err := wholeNumber(args[1])
	if err != nil {
		return nil, err
	}
	return pickElement(args[0].([]any), index)
}

func pickElement(elements []any, index int64) (any, error) {
	if index < 0 {
		index += int64(len(elements))
	}
	if index < 0 || index >= int64(len(elements)) {
		return nil, nil
	}
	return elements[index], nil
}

func toInt(args []any) (any, error) {
	value, err := asNumber(args)
	f, fraction := value.(float64)
	if err != nil || !fraction {
		return value, err
	}
	if math.Abs(f) >= 1<<63 {
		return nil, fmt.Errorf("%v is too large", f)
	}
	return int64(f), nil
}

func asNumber(args []any) (any, error) {
	if args[0] == "" {
		return nil, nil
	}
	return toNumber(args[0])
}

func wholeNumber(value any) (int64, error) {
	n, ok := value.(int64)
	if !ok {
		return 0, fmt.Errorf("%v is not a whole number", value)
	}
	return n, nil
}

var errOverflow = errors.New("the result is too large")

func addNumbers(args []any) (any, error) {
	_, leftText := args[0].(string)
	_, rightText := args[1].(string)
	if leftText && rightText {
		return concatTexts(args)
	}
	if leftText || rightText {
		return nil, errors.New("a text and another value: use concat")
	}
	return calculate(args, func(a, b int64) (int64, bool) {
		sum := a + b
		return sum, (sum > a) == (b > 0)
	}, func(a, b float64) float64 { return a + b })
}

func subtractNumbers(args []any) (any, error) {
	return calculate(args, func(a, b int64) (int64, bool) {
		difference := a - b
		return difference, (difference < a) == (b > 0)
	}, func(a, b float64) float64 { return a - b })
}

func multiplyNumbers(args []any) (any, error) {
	return calculate(args, func(a, b int64) (int64, bool) {
		product := a * b
		return product, a == 0 || product/a == b && !(a == -1 && b == math.MinInt64)
	}, func(a, b float64) float64 { return a * b })
}

// calculate computes exactly on whole numbers, or fails.
func calculate(args []any, exact func(a, b int64) (int64, bool), rounded func(a, b float64) float64) (any, error) {
	left, err := toNumber(args[0])
	if err != nil {
		return nil, err
	}
	right, err := toNumber(args[1])
	if err != nil {
		return nil, err
	}
	a, wholeA := left.(int64)
	b, wholeB := right.(int64)
	if wholeA && wholeB {
		result, fits := exact(a, b)
		if !fits {
			return nil, errOverflow
		}
		return result, nil
	}
	result := rounded(toFloat(left), toFloat(right))
	if math.IsInf(result, 0) || math.IsNaN(result) {
		return nil, errOverflow
	}
	return result, nil
}

// divideNumbers gives a whole number where the division leaves no rest.
func divideNumbers(args []any) (any, error) {
	if toFloat(args[1]) == 0 {
		return nil, errors.New("division by zero")
	}
	a, wholeA := args[0].(int64)
	b, wholeB := args[1].(int64)
	if wholeA && wholeB && a%b == 0 && b != -1 {
		return a / b, nil
	}
	return toFloat(args[0]) / toFloat(args[1]), nil
}

func remainderOf(args []any) (any, error) {
	a, err := wholeNumber(args[0])
	if err != nil {
		return nil, err
	}
	b, err := wholeNumber(args[1])
	switch {
	case err != nil:
		return nil, err
	case b == 0:
		return nil, errors.New("division by zero")
	case b == -1:
		return int64(0), nil
	}
	return a % b, nil
}

func toFloat(value any) float64 {
	if n, ok := value.(int64); ok {
		return float64(n)
	}
	f, _ := value.(float64)
	return f
}
