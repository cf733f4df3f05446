package tmpl

// AtomVars are the values a template of a query rule may name: one atom of an
// expression, written as text.
type AtomVars struct {
	Field   string `expr:"field"`
	V       string `expr:"v"`
	Quoted  string `expr:"quoted"`
	Match   string `expr:"match"`
	Case    string `expr:"case"`
	From    string `expr:"from"`
	To      string `expr:"to"`
	Items   string `expr:"items"`
	Type    string `expr:"type"`
	Token   string `expr:"token"`
	Exists  bool   `expr:"exists"`
	Negated bool   `expr:"negated"`
}

var atomVariables = map[string]any{
	"field": "", "v": "", "quoted": "", "match": "", "case": "", "from": "", "to": "",
	"items": "", "type": "", "token": "", "exists": false, "negated": false,
}

func (v *AtomVars) variableValue(name string) (any, error) {
	switch name {
	case "field":
		return v.Field, nil
	case "v":
		return v.V, nil
	case "quoted":
		return v.Quoted, nil
	case "match":
		return v.Match, nil
	case "case":
		return v.Case, nil
	case "from":
		return v.From, nil
	case "to":
		return v.To, nil
	case "items":
		return v.Items, nil
	case "type":
		return v.Type, nil
	case "token":
		return v.Token, nil
	case "exists":
		return v.Exists, nil
	}
	return v.Negated, nil
}

// AtomTemplate is a compiled template of a query rule. It is safe for concurrent use.
type AtomTemplate struct{ parts }

// CompileAtom checks a template of a query rule against every function.
func CompileAtom(text string) (*AtomTemplate, error) { return CompileAtomWith(text, Config{}) }

// CompileAtomWith checks a template of a query rule against the functions a source may use.
func CompileAtomWith(text string, c Config) (*AtomTemplate, error) {
	compiled, err := compileText(text, newScope(atomScope, c))
	if err != nil {
		return nil, err
	}
	return &AtomTemplate{compiled}, nil
}

// Render writes one atom.
func (t *AtomTemplate) Render(vars AtomVars) (string, error) {
	out, _, err := t.appendTo(nil, &vars, AppendText)
	return string(out), err
}

// Names returns the variables the template reads.
func (t *AtomTemplate) Names() []string { return t.variableNames() }

func (t *AtomTemplate) String() string { return t.text }
