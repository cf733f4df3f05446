package tmpl

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

func firstPresent(args []any) (any, error) {
	for _, value := range args {
		if value != nil && value != "" {
			return value, nil
		}
	}
	return nil, nil
}

func concatTexts(args []any) (any, error) {
	size := 0
	for _, value := range args {
		size += len(value.(string))
	}
	if size > maxRendered {
		return nil, errTooLong
	}
	var out strings.Builder
	out.Grow(size)
	for _, value := range args {
		out.WriteString(value.(string))
	}
	return out.String(), nil
}

func lowerText(args []any) (any, error) { return strings.ToLower(args[0].(string)), nil }

func upperText(args []any) (any, error) { return strings.ToUpper(args[0].(string)), nil }

func trimText(args []any) (any, error) { return strings.TrimSpace(args[0].(string)), nil }

func sameValue(args []any) (any, error) { return args[0], nil }

// substringOf counts characters, not bytes, and stays within the text.
func substringOf(args []any) (any, error) {
	runes := []rune(args[0].(string))
	bounds := []int{0, len(runes)}
	for i, arg := range args[1:] {
		n, err := wholeNumber(arg)
		if err != nil {
			return nil, err
		}
		bounds[i] = int(min(max(n, 0), int64(len(runes))))
	}
	return string(runes[bounds[0]:max(bounds[0], bounds[1])]), nil
}

func replaceText(args []any) (any, error) {
	from, old, replacement := args[0].(string), args[1].(string), args[2].(string)
	if old == "" {
		return from, nil
	}
	if len(from)+strings.Count(from, old)*(len(replacement)-len(old)) > maxRendered {
		return nil, errTooLong
	}
	return strings.ReplaceAll(from, old, replacement), nil
}

const maxElements = 10_000

func splitText(args []any) (any, error) {
	from, separator := args[0].(string), args[1].(string)
	if from == "" {
		return []any{}, nil
	}
	if separator == "" {
		return nil, errors.New("the separator is empty")
	}
	if strings.Count(from, separator) >= maxElements {
		return nil, fmt.Errorf("more than %d elements", maxElements)
	}
	var out []any
	for element := range strings.SplitSeq(from, separator) {
		out = append(out, element)
	}
	return out, nil
}

func joinTexts(args []any) (any, error) {
	elements, separator := args[0].([]any), args[1].(string)
	var out strings.Builder
	first := true
	for _, element := range elements {
		if element == nil {
			continue
		}
		written, err := Text(element)
		if err != nil {
			return nil, err
		}
		if out.Len()+len(separator)+len(written) > maxRendered {
			return nil, errTooLong
		}
		if !first {
			out.WriteString(separator)
		}
		first = false
		out.WriteString(written)
	}
	return out.String(), nil
}

func regexFind(args []any) (any, error) {
	from, pattern := args[0].(string), args[1].(*regexp.Regexp)
	if len(from) > maxRegexText {
		return nil, fmt.Errorf("the text is longer than %d bytes", maxRegexText)
	}
	group := int64(0)
	if len(args) == 3 {
		var err error
		if group, err = wholeNumber(args[2]); err != nil {
			return nil, err
		}
	}
	if group < 0 || group > int64(pattern.NumSubexp()) {
		return nil, fmt.Errorf("the pattern has no group %d", group)
	}
	at := pattern.FindStringSubmatchIndex(from)
	if at == nil || at[2*group] < 0 {
		return nil, nil
	}
	return from[at[2*group]:at[2*group+1]], nil
}

func base64Encode(args []any) (any, error) {
	return base64.StdEncoding.EncodeToString([]byte(args[0].(string))), nil
}

func base64Decode(args []any) (any, error) {
	from := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(args[0].(string)), "=")
	decoded, err := base64.RawStdEncoding.DecodeString(from)
	if err != nil {
		return nil, errors.New("not base64")
	}
	if !utf8.Valid(decoded) {
		return nil, errors.New("what was encoded is not text")
	}
	return string(decoded), nil
}

func sha256Hex(args []any) (any, error) {
	sum := sha256.Sum256([]byte(args[0].(string)))
	return hex.EncodeToString(sum[:]), nil
}

func urlEncode(args []any) (any, error) { return url.QueryEscape(args[0].(string)), nil }

func containsText(args []any) (any, error) {
	return args[1] != "" && strings.Contains(args[0].(string), args[1].(string)), nil
}

func startsWith(args []any) (any, error) {
	return args[1] != "" && strings.HasPrefix(args[0].(string), args[1].(string)), nil
}

func endsWith(args []any) (any, error) {
	return args[1] != "" && strings.HasSuffix(args[0].(string), args[1].(string)), nil
}

// quoteValue writes a value, or each value of a list, as a text of a query language.
func quoteValue(args []any) (any, error) {
	all := []any{args[0]}
	if list, err := toList(args[0]); err == nil {
		all = list
	}
	var out strings.Builder
	for i, value := range all {
		text, err := Text(value)
		if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, fmt.Errorf("%.60q has a control character, which cannot stand in quotes", text)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`)
	}
	return out.String(), nil
}
