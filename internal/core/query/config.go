package query

// DataType is the type of a query field.
type DataType string

// Data types.
const (
	TypeDate     DataType = "DATE"
	TypeDateTime DataType = "DATETIME"
	TypeNumber   DataType = "NUMBER"
	TypeText     DataType = "TEXT"
	TypeKeyword  DataType = "KEYWORD"
	TypeBoolean  DataType = "BOOLEAN"
	TypeToken    DataType = "TOKEN"
)

// Cardinality says how many values a field or a standard key takes.
type Cardinality string

// Cardinalities.
const (
	Single Cardinality = "SINGLE"
	Multi  Cardinality = "MULTI"
)

// Emit is what a rule yields.
type Emit string

// Emits: text of the query, or standard parameters.
const (
	EmitQuery  Emit = "QUERY"
	EmitParams Emit = "PARAMS"
)

// Bounds says which ends of a range the texts of a rule are.
type Bounds string

// Kinds of bounds: both belong to the range, or the upper one does not.
const (
	InclusiveBounds Bounds = "INCLUSIVE"
	HalfOpenBounds  Bounds = "HALF_OPEN"
)

// Config is the `query` section of an endpoint: the conditions its harvest
// always has, the fields conditions may name and what the upstream can do with
// them, and the rules that write them in the upstream's own language.
type Config struct {
	Where     Expr             `json:"where,omitempty" doc:"conditions every request has, such as phrase(title, \"heart failure\") and not oneOf(type, \"letter\")"`
	Fields    map[string]Field `json:"fields,omitempty" doc:"query fields by key (lower case letters, digits and _)"`
	Rules     map[string]Rule  `json:"rules,omitempty" doc:"how conditions are written, by a name of your choice"`
	MaxLength int              `json:"maxLength,omitempty" doc:"characters the query text may have (default no limit)"`
	MaxParams int              `json:"maxParams,omitempty" doc:"standard parameters a request may have (default no limit)"`
}

// Field is one query field and what the upstream can do with it.
type Field struct {
	Name        string      `json:"name,omitempty" doc:"display name"`
	Description string      `json:"description,omitempty" doc:"what the field holds"`
	Type        DataType    `json:"type" required:"true" enum:"DATE,DATETIME,NUMBER,TEXT,KEYWORD,BOOLEAN,TOKEN" doc:"type of the field"`
	Cardinality Cardinality `json:"cardinality,omitempty" enum:"SINGLE,MULTI" doc:"MULTI: several conditions may write the same standard key (default SINGLE)"`

	Ops              []string  `json:"ops,omitempty" enum:"TERM,IN,RANGE,EXISTS,TOKEN" doc:"operators the upstream takes; none: the field cannot be asked for"`
	Not              *bool     `json:"not,omitempty" doc:"conditions may be negated (default true)"`
	NegatableOps     []string  `json:"negatableOps,omitempty" enum:"TERM,IN,RANGE,EXISTS,TOKEN" doc:"operators that may be negated (default all of ops)"`
	Matches          []string  `json:"matches,omitempty" enum:"PHRASE,EXACT,ANY" doc:"ways of matching a term (default all)"`
	CaseSensitive    bool      `json:"caseSensitive,omitempty" doc:"a term may ask for upper and lower case"`
	AllowBlank       bool      `json:"allowBlank,omitempty" doc:"a term may be blank"`
	MinLen           int       `json:"minLen,omitempty" doc:"characters a text has at least"`
	MaxLen           int       `json:"maxLen,omitempty" doc:"characters a text has at most"`
	Pattern          string    `json:"pattern,omitempty" doc:"RE2 expression the whole text must match"`
	InMax            int       `json:"inMax,omitempty" doc:"values a list has at most"`
	InCaseSensitive  bool      `json:"inCaseSensitive,omitempty" doc:"a list may ask for upper and lower case"`
	Range            RangeType `json:"range,omitempty" enum:"NONE,DATE,DATETIME,NUMBER" doc:"kind of ranges (default by type where ops has RANGE)"`
	OpenStart        *bool     `json:"openStart,omitempty" doc:"a range may lack its lower bound (default true)"`
	OpenEnd          *bool     `json:"openEnd,omitempty" doc:"a range may lack its upper bound (default true)"`
	ClosedAtInfinity bool      `json:"closedAtInfinity,omitempty" doc:"a range without a bound may be written as closed there"`
	Min              string    `json:"min,omitempty" doc:"lowest date, instant or number of a range"`
	Max              string    `json:"max,omitempty" doc:"highest date, instant or number of a range"`
	Whole            bool      `json:"whole,omitempty" doc:"NUMBER: only whole numbers occur, so an open bound can be written as the next closed one"`
	Exists           bool      `json:"exists,omitempty" doc:"EXISTS is supported"`
	TokenKinds       []string  `json:"tokenKinds,omitempty" doc:"token types, lower case (default all)"`
	TokenPattern     string    `json:"tokenPattern,omitempty" doc:"RE2 expression the whole token must match"`
}

// Rule says how one kind of condition is written. Of the rules that fit a
// condition the more specific one is taken.
type Rule struct {
	Field     string    `json:"field" required:"true" doc:"field of the condition"`
	Op        Op        `json:"op" required:"true" enum:"TERM,IN,RANGE,EXISTS,TOKEN" doc:"operator of the condition"`
	Match     Match     `json:"match,omitempty" enum:"PHRASE,EXACT,ANY" doc:"TERM: only for this match (default any)"`
	Negated   *bool     `json:"negated,omitempty" doc:"true: writes the negation; false: never used for a negated condition (default both, NOT is added)"`
	ValueType ValueType `json:"valueType,omitempty" enum:"STRING,DATE,DATETIME,NUMBER" doc:"only for values of this type (default any)"`

	Emit         Emit              `json:"emit,omitempty" enum:"QUERY,PARAMS" doc:"text of the query or standard parameters (default QUERY)"`
	Template     string            `json:"template,omitempty" doc:"QUERY: the text, with ${v} ${quoted} ${from} ${to} ${items} ${field} ${type} ${token} ${exists} ${match}"`
	ItemTemplate string            `json:"itemTemplate,omitempty" doc:"IN: the text of one value (default ${v})"`
	Joiner       string            `json:"joiner,omitempty" doc:"IN: what stands between values (default ' OR ')"`
	Group        bool              `json:"group,omitempty" doc:"QUERY: parentheses around the text"`
	Params       map[string]string `json:"params,omitempty" doc:"PARAMS: standard key to value template"`
	Bounds       Bounds            `json:"bounds,omitempty" enum:"INCLUSIVE,HALF_OPEN" doc:"RANGE: which bounds ${from} and ${to} are to the upstream (default INCLUSIVE)"`
	Precision    Precision         `json:"precision,omitempty" enum:"SECOND,MINUTE,HOUR,DAY,MONTH,YEAR" doc:"RANGE of dates: finest instant the upstream can name (default DAY for dates, SECOND for instants)"`
	Format       string            `json:"format,omitempty" doc:"RANGE of dates: how a bound is written: yyyy MM dd HH mm ss, or M d H without leading zeros, and digits, punctuation, blanks, T and Z as they stand (default by precision)"`
	OpenFrom     *string           `json:"openFrom,omitzero" doc:"RANGE: what ${from} is where a range has no lower bound, such as *; may be empty (default such a range is refused)"`
	OpenTo       *string           `json:"openTo,omitzero" doc:"RANGE: what ${to} is where a range has no upper bound, such as *; may be empty (default such a range is refused)"`
}

// ValueType is the type of the value a rule is for.
type ValueType string

// Value types. Everything but a range is a STRING.
const (
	ValueString   ValueType = "STRING"
	ValueDate     ValueType = "DATE"
	ValueDateTime ValueType = "DATETIME"
	ValueNumber   ValueType = "NUMBER"
)

// WithDefaults fills what the source left open. It changes no map in place.
func (c Config) WithDefaults() Config {
	fields := make(map[string]Field, len(c.Fields))
	for key, f := range c.Fields {
		fields[key] = f.withDefaults()
	}
	rules := make(map[string]Rule, len(c.Rules))
	for key, r := range c.Rules {
		rules[key] = r.withDefaults()
	}
	if len(fields) > 0 {
		c.Fields = fields
	}
	if len(rules) > 0 {
		c.Rules = rules
	}
	return c
}

func (f Field) withDefaults() Field {
	if f.Cardinality == "" {
		f.Cardinality = Single
	}
	if f.Range == "" {
		f.Range = RangeNone
		if acceptsOp(f.Ops, OpRange) && f.Type != "" {
			f.Range = defaultRange(f.Type)
		}
	}
	f.Not, f.OpenStart, f.OpenEnd = orTrue(f.Not), orTrue(f.OpenStart), orTrue(f.OpenEnd)
	return f
}

func defaultRange(t DataType) RangeType {
	switch t {
	case TypeDate, TypeDateTime, TypeNumber:
		return RangeType(t)
	}
	return RangeNone
}

func (r Rule) withDefaults() Rule {
	if r.Emit == "" {
		r.Emit = EmitQuery
	}
	if r.Op == OpIn {
		r = r.listDefaults()
	}
	if r.Op == OpRange && r.Bounds == "" {
		r.Bounds = InclusiveBounds
	}
	return r
}

// listDefaults leaves a rule that says nothing about its values to Validate.
func (r Rule) listDefaults() Rule {
	if r.Joiner == "" {
		r.Joiner = " OR "
	}
	switch {
	case r.ItemTemplate == "" && (r.Template != "" || r.Emit == EmitParams):
		r.ItemTemplate = "${v}"
	case r.ItemTemplate != "" && r.Template == "" && r.Emit == EmitQuery:
		r.Template = "${items}"
	}
	return r
}

func orTrue(b *bool) *bool {
	if b == nil {
		yes := true
		return &yes
	}
	return b
}
