package upsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const maxFormBody = 1 << 20

// The bounds of a window that has none.
const (
	openStart = math.MinInt64
	openEnd   = math.MaxInt64
)

// call is a request below /forms/ or for a token, as it came.
type call struct {
	method, path, host string
	rawQuery           string
	query              url.Values
	header             http.Header
	body               []byte
	inBody             url.Values // parameters of a form or JSON body
	bodyErr            error
	pathKey            string // that stood in the path, decoded
}

func readCall(r *http.Request, query url.Values) call {
	c := call{method: r.Method, path: r.URL.EscapedPath(), host: r.Host, rawQuery: r.URL.RawQuery, query: query, header: r.Header, inBody: url.Values{}}
	if c.body, c.bodyErr = io.ReadAll(io.LimitReader(r.Body, maxFormBody)); c.bodyErr != nil || len(c.body) == 0 {
		return c
	}
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/x-www-form-urlencoded":
		c.inBody, c.bodyErr = url.ParseQuery(string(c.body))
	case "application/json":
		c.inBody, c.bodyErr = membersOf(c.body)
	default:
		c.bodyErr = fmt.Errorf("the content type is %q; send a form or JSON", kind)
	}
	return c
}

// membersOf reads a flat JSON object. A list of texts is joined by commas.
func membersOf(body []byte) (url.Values, error) {
	var members map[string]any
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber() // a large number must keep its digits
	if err := in.Decode(&members); err != nil {
		return nil, err
	}
	out := url.Values{}
	for name, value := range members {
		switch value := value.(type) {
		case nil:
		case []any:
			parts := make([]string, len(value))
			for i := range value {
				parts[i] = fmt.Sprint(value[i])
			}
			out.Set(name, strings.Join(parts, ","))
		case map[string]any:
			return nil, fmt.Errorf("the member %s is an object", name)
		default:
			out.Set(name, fmt.Sprint(value))
		}
	}
	return out, nil
}

// formQuery is a checked request for a page or for records.
type formQuery struct {
	form     form
	from, to int64 // unix seconds, half-open
	size     int
	start    int // position of the page, where the client counts
	token    string
	after    key
	ids      []string
	params   url.Values // as they came, for the address of the next page
	host     string
}

// key is where a page by key begins: behind it.
type key struct {
	given bool
	stamp int64
	id    string
}

func parseForm(f form, c call, auth Auth, opts FormOptions) (formQuery, error) {
	q := formQuery{form: f, from: openStart, to: openEnd, params: url.Values{}, host: c.host}
	if c.bodyErr != nil {
		return q, &refusal{"body-not-valid", "", c.bodyErr.Error()}
	}
	if err := f.checkExact(&c); err != nil {
		return q, err
	}
	if c.method == http.MethodGet && f.tokenIn == tokenInBody && !f.getBody {
		return q, &refusal{"method-not-valid", c.method, "This list is asked by POST."}
	}
	if err := q.gatherParameters(c, auth); err != nil {
		return q, err
	}
	if f.how == byRecords {
		return q, q.parseIDs(opts)
	}
	if err := q.parseWindow(); err != nil {
		return q, err
	}
	if err := q.parseShelf(opts); err != nil {
		return q, err
	}
	if err := q.parseSize(opts); err != nil {
		return q, err
	}
	return q, q.parsePosition()
}

// gatherParameters takes the parameters from the places where they may stand. One that
// stands elsewhere is refused: a token in the wrong place must not look like
// the beginning of the list.
func (q *formQuery) gatherParameters(c call, auth Auth) error {
	known := q.form.parameterNames()
	for where, values := range map[string]url.Values{tokenInQuery: c.query, tokenInBody: c.inBody} {
		for name, given := range values {
			switch {
			case auth.carriesCredential(where, name):
			case !slices.Contains(known, name) || name == "token" && q.form.tokenIn != where:
				return &refusal{"parameter-not-allowed", name, "This list does not take the parameter " + name + " in the " + where + "."}
			case len(given) > 1 || q.params.Has(name):
				return &refusal{"parameter-repeated", name, "The parameter " + name + " is given more than once."}
			case given[0] != "":
				q.params.Set(name, given[0])
			}
		}
	}
	if token := c.header.Get(pageTokenHeader); token != "" {
		if q.form.tokenIn != tokenInHeader {
			return &refusal{"header-not-allowed", pageTokenHeader, "This list takes no token in a header."}
		}
		q.params.Set("token", token)
	}
	return nil
}

func (f form) parameterNames() []string {
	if f.how == byRecords {
		return []string{"ids"}
	}
	names := []string{"from", "until", "through", "size", "limit"}
	switch {
	case f.day:
		names = []string{"day", "size", "limit"}
	case f.feed:
		names = []string{"size", "limit"}
	case f.shelf:
		names = append(names, "shelf")
	}
	switch f.how {
	case byOffset:
		return append(names, "offset")
	case byPage:
		return append(names, "page")
	case byToken:
		return append(names, "token")
	case byKey:
		return append(names, "after_id")
	case byStampKey:
		return append(names, "after_stamp", "after_id")
	}
	return names
}

// parseWindow reads the window of a query: from is included, until is not, through is.
func (q *formQuery) parseWindow() error {
	if q.form.day {
		return q.parseDay(q.params)
	}
	if q.params.Has("until") && q.params.Has("through") {
		return &refusal{"parameter-conflict", "through", "until and through cannot be used together."}
	}
	for name, set := range map[string]func(int64){
		"from":    func(at int64) { q.from = at },
		"until":   func(at int64) { q.to = at },
		"through": func(at int64) { q.to = at + 1 },
	} {
		if text := q.params.Get(name); text != "" {
			at, err := parseStamp(name, text)
			if err != nil {
				return err
			}
			set(at)
		}
	}
	return nil
}

func parseStamp(name, text string) (int64, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Nanosecond() != 0 {
		return 0, &refusal{"date-not-valid", text, name + " must be an instant in whole seconds such as 2024-03-01T00:00:00Z."}
	}
	return at.Unix(), nil
}

func (q *formQuery) parseSize(opts FormOptions) (err error) {
	if q.params.Has("size") && q.params.Has("limit") {
		return &refusal{"parameter-conflict", "limit", "size and limit are two names of one thing."}
	}
	most := opts.MaxSize
	if opts.CutSize {
		most = math.MaxInt32
	}
	unset := min(defaultRows, opts.MaxSize)
	if q.size, err = parseCount(q.params, "limit", unset, most); err == nil && q.params.Has("size") {
		q.size, err = parseCount(q.params, "size", unset, most)
	}
	if err == nil && q.size == 0 {
		err = &refusal{"integer-not-valid", "0", "A page has at least one item."}
	}
	q.size = min(q.size, opts.MaxSize)
	return err
}

func (q *formQuery) parsePosition() (err error) {
	q.token = q.params.Get("token")
	switch q.form.how {
	case byOffset:
		q.start, err = parseCount(q.params, "offset", 0, math.MaxInt32)
	case byPage:
		var page int
		if page, err = parseCount(q.params, "page", q.form.base, math.MaxInt32); err != nil {
			return err
		}
		if page < q.form.base {
			return &refusal{"integer-not-valid", q.params.Get("page"), "The first page is 1."}
		}
		q.start = (page - q.form.base) * q.size
	case byKey:
		q.after = key{given: q.params.Has("after_id"), id: q.params.Get("after_id")}
	case byStampKey:
		if q.params.Has("after_id") != q.params.Has("after_stamp") {
			return &refusal{"parameter-missing", "after_id", "after_stamp and after_id belong together."}
		}
		if q.after = (key{given: q.params.Has("after_id"), id: q.params.Get("after_id")}); q.after.given {
			q.after.stamp, err = parseStamp("after_stamp", q.params.Get("after_stamp"))
		}
	}
	return err
}

func (q *formQuery) parseIDs(opts FormOptions) error {
	if text := q.params.Get("ids"); text != "" {
		q.ids = strings.Split(text, ",")
	}
	switch {
	case len(q.ids) == 0:
		return &refusal{"parameter-missing", "ids", "Name at least one id."}
	case opts.MaxIDs > 0 && len(q.ids) > opts.MaxIDs:
		return &refusal{"ids-too-many", fmt.Sprint(len(q.ids)), fmt.Sprintf("At most %d ids are taken at once.", opts.MaxIDs)}
	}
	return nil
}
