package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// wholeText uses every table, and values that fit no column.
const wholeText = `source: tiny
name: "Whole: näme 😀"
docs: https://tiny.example/LONG
http: {baseUrl: "https://tiny.example", headers: {Accept: text/xml, "x y ": " "}, timeout: PT0.0005S, allowHttp: false}
contact: {email: ops@tiny.example}
credentials:
  key: {type: API_KEY, in: QUERY, name: api_key, value: "env:TINY_KEY"}
  login: {type: BASIC, username: "env:TINY_USER", password: "file:/run/secrets/tiny"}
  token: {type: OAUTH2, tokenUrl: "https://tiny.example/token", clientId: "env:A", clientSecret: "exec:print secret LONG", scope: read, audience: tiny}
  refreshed: {type: OAUTH2, grant: REFRESH_TOKEN, tokenUrl: /token, clientId: "env:A", clientAuth: BODY, refreshToken: "file:/run/refresh", renewOn: [401, 403]}
  rotating: {type: OAUTH2, grant: REFRESH_TOKEN, rotates: true, tokenUrl: /token, clientId: "env:A", refreshToken: "file:/run/secrets/refresh"}
  asserted: {type: OAUTH2, grant: JWT_BEARER, tokenUrl: /token, params: {resource: [one, two]}, secrets: {pin: "env:A"}, jwt: {alg: EDDSA, key: "file:/run/secrets/key.pem", keyId: "env:A", claims: {iss: "${pin}", aud: [one, two]}, lifetime: PT10M}}
  aws: {type: CUSTOM, signing: aws-sigv4, sign: {key: "env:A", keyId: "env:A", token: "env:A", region: eu-central-1, service: execute-api}}
  opened: {type: SESSION, in: QUERY, name: sid, username: "env:TINY_USER", password: "env:TINY_PASSWORD", login: {url: /login, form: {"odd. name ": "${username}"}, token: "$.session['a.b']", lifetime: PT30M}}
  custom: {type: CUSTOM, signing: hmac-sha256, sign: {key: "env:TINY_KEY", keyId: "env:TINY_ID", parts: [METHOD, KEY_ID], encoding: BASE64}}
  other: {type: API_KEY, in: QUERY, name: api_key, value: "env:TINY_OTHER"}
  keys: {type: POOL, members: [key, other]}
  "odd name ": {type: BEARER, value: "env:ODD"}
auth: {credential: key, required: false}
rate: {perSecond: 0.3333333333333333, burst: 9007199254740993, concurrency: 2, obeyHeaders: false}
retry: {maxAttempts: 1, initialDelay: PT0.1S, jitter: 0.1, retryStatus: [429], giveUpStatus: []}
templates: {functions: [lower, jsonPath], nullPolicy: EMPTY}
query:
  where: phrase(title, "heart failure") and not oneOf(type, "letter", "it's")
  maxLength: 4000
  maxParams: 20
  fields:
    title: {name: Title, description: Words of the title, type: TEXT, cardinality: MULTI, ops: [TERM, IN], not: false, matches: [PHRASE], minLen: 0, maxLen: 90, pattern: ".*"}
    year: {type: NUMBER, ops: [RANGE], range: NUMBER, openStart: false, min: "-12345678901234567890123456.789", max: "9", whole: true}
    bare: {type: KEYWORD}
  rules:
    title-phrase: {field: title, op: TERM, match: PHRASE, negated: true, emit: QUERY, template: "ti:${quoted}", group: true}
    title.list: {field: title, op: IN, itemTemplate: "ti:${v}", joiner: " OR ", valueType: STRING}
    years: {field: year, op: RANGE, emit: PARAMS, params: {from: "${from}", "odd. key": "${to}"}, bounds: HALF_OPEN, precision: MONTH, format: yyyy}
    "odd rule\n": {field: title, op: EXISTS}
params:
  query: {name: term, in: BODY, default: "", required: false, transform: LOWER}
  "odd param ": {name: x}
operations:
  UPDATE: {http: {baseUrl: "https://update.tiny.example"}, contact: {email: "update@tiny.example"}, params: {query: {required: true}}}
endpoints:
  works:
    role: SEARCH
    supports: [HARVEST, UPDATE]
    request: {method: GET, path: /works, query: {rows: 20, "a.b": ""}}
    filter: {field: updated, precision: MONTH, from: EXCLUSIVE, to: INCLUSIVE}
    paging: {type: PAGE, base: 0, size: 50}
    window: {mode: CALENDAR, size: PT90M, align: DAY, safetyLag: PT0S, earliest: 2000-01-01}
    slicing: {strategy: TIME, step: P1D}
    details: {endpoint: byid, batchSize: 100, maxIds: 200}
    response:
      format: XML
      items: $.items
      id: ${lower(jsonPath('$.id'))}
      zone: Europe/London
      errorWhen: [$.error]
      mustHave: [$.status]
      fields: {title: "$.title", "odd field ": "$.x"}
      required: []
    query: {fields: {title: {maxLen: 7}}}
    operations:
      BACKFILL: {auth: {credential: login}, query: {rules: {years: {group: true}}}, templates: {nullPolicy: FAIL}}
  byid:
    role: DETAIL
    request: {path: /ids}
`

func (s suite) wholeSources(t *testing.T) {
	s.test(t, "every part of a file comes back", func(w *world) {
		src, _, err := registry.Decode("whole.yaml", []byte(strings.ReplaceAll(wholeText, "LONG", fixture.Long("x", 600))))
		w.Must(err)
		w.Apply(src)
		w.loads(src)
		for _, table := range registry.RowTables() {
			if w.Number("SELECT COUNT(*) FROM "+table) == 0 {
				w.Errorf("%s stayed empty", table)
			}
		}
		w.Clock.Advance(fixture.Day)
		w.Unchanged("again", func() { w.Apply(src) })
		loaded, _, err := w.Store.LoadSource(w.Ctx, "tiny")
		w.Must(err)
		w.Unchanged("what was loaded", func() { w.Apply(loaded) })
	})
	s.test(t, "thousands of values of partitions come back", func(w *world) {
		src := w.Source()
		for name, e := range src.Endpoints {
			var values []string
			for i := range sector.Most {
				values = append(values, fmt.Sprintf("%06d %s", i, fixture.Long("ü", 30)))
			}
			e.Partitions = map[string]sector.Config{"journal": {Values: values}}
			src.Endpoints[name] = e
		}
		w.Apply(src)
		w.loads(src)
	})
	s.test(t, "every part of a scheduled version outlives another one before it", func(w *world) {
		text := strings.ReplaceAll(wholeText, "LONG", fixture.Long("x", 600))
		first, _, err := registry.Decode("whole.yaml", []byte(text))
		w.Must(err)
		later, _, err := registry.Decode("later.yaml", []byte(strings.Replace(text, "Whole: ", "Later: ", 1)))
		w.Must(err)
		w.Apply(first)
		w.ApplyFrom(later, fixture.Noon.Add(2*fixture.Day))
		w.Clock.Advance(fixture.Day)
		w.Apply(w.Source())
		w.loads(w.Source())
		w.loadsAt(fixture.Noon, first)
		w.loadsAt(fixture.Noon.Add(2*fixture.Day), later)
		w.oneRowInForceEach()
		w.Clock.Advance(fixture.Day)
		w.Unchanged("it is what was scheduled", func() { w.Apply(later) })
	})
}
