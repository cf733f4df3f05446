package archtest

import (
	"regexp"
	"slices"
	"strings"
)

// schemaColumns are the columns of each table.
type schemaColumns map[string]map[string]bool

// columnUse tells where code writes and reads a column.
type columnUse struct{ writers, readers map[string]bool }

// columnUses are those of each table.column.
type columnUses map[string]columnUse

func (u columnUses) note(column, at string, write bool) {
	use, ok := u[column]
	if !ok {
		use = columnUse{map[string]bool{}, map[string]bool{}}
		u[column] = use
	}
	if write {
		use.writers[at] = true
	} else {
		use.readers[at] = true
	}
}

// sqlToken matches a text in quotes, a name with or without its table, a hole, or a sign.
var sqlToken = regexp.MustCompile(`'[^']*'|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?|\x00|\d+|[^\s\w]`)

// sqlReader reads one text of SQL, whole or a part.
type sqlReader struct {
	schema  schemaColumns
	around  []string            // tables that the code around the text names
	aliases map[string][]string // what the package calls its tables
	found   func(table, column string, write bool)
	scope   *sqlScope
	tokens  []string
	insert  bool   // within the list of columns of an INSERT
	setting int    // depth of the assignments of an UPDATE; 0 outside of them
	target  string // the column that is assigned
}

// sqlScope is a SELECT or a statement: names without a table are of its tables first.
type sqlScope struct {
	outer  *sqlScope
	tables map[string][]string // by alias and by name
	depth  int
}

// readSQL reports what a text writes and reads. A text without a table is a part of
// a statement that the code around it makes.
func readSQL(schema schemaColumns, x sqlText, around []string, aliases map[string][]string, found func(table, column string, write bool)) {
	r := &sqlReader{schema: schema, around: around, aliases: aliases, found: found, tokens: sqlToken.FindAllString(x.text, -1), insert: x.role == insertList}
	scopes := r.findScopes()
	r.scope = scopes[0]
	if isAssignments(r.tokens) {
		r.setting = 1
	}
	r.readTokens(scopes)
}

// findScopes finds the tables of each SELECT, keyed by the token that opens it.
func (r *sqlReader) findScopes() map[int]*sqlScope {
	now := &sqlScope{tables: map[string][]string{}, depth: 0}
	scopes := map[int]*sqlScope{0: now}
	depth := 0
	for i, token := range r.tokens {
		switch {
		case token == "(":
			depth++
			if r.tokenAt(i+1) == "SELECT" {
				now = &sqlScope{now, map[string][]string{}, depth}
				scopes[i+1] = now
			}
		case token == ")":
			if now.depth == depth && now.outer != nil {
				now = now.outer
			}
			depth--
		case r.schema[token] != nil:
			r.addTables(now, i, []string{token})
		case token == hole && opensTable(r.tokenAt(i-1)):
			r.addTables(now, i, r.around)
		}
	}
	return scopes
}

func (r *sqlReader) addTables(s *sqlScope, at int, tables []string) {
	alias := r.tokenAt(at + 1)
	if alias == "AS" {
		alias = r.tokenAt(at + 2)
	}
	for _, name := range append([]string{alias}, tables...) {
		s.tables[name] = append(s.tables[name], tables...)
	}
}

func opensTable(before string) bool {
	return before == "FROM" || before == "JOIN" || before == "INTO" || before == "UPDATE"
}

func (r *sqlReader) tokenAt(i int) string {
	if i < 0 || i >= len(r.tokens) {
		return ""
	}
	return r.tokens[i]
}

// readTokens walks through the text and reports every column.
func (r *sqlReader) readTokens(scopes map[int]*sqlScope) {
	depth := 0
	if r.setting == 1 {
		depth = 1 // as if it stood behind SET
	}
	for i, token := range r.tokens {
		if s := scopes[i]; s != nil {
			r.scope = s
		}
		switch token {
		case "(":
			depth++
			r.insert = r.insert || i >= 2 && r.tokens[i-2] == "INTO"
		case ")":
			r.insert = false
			if r.scope.depth == depth && r.scope.outer != nil {
				r.scope = r.scope.outer
			}
			depth--
		case "SET":
			r.setting = depth + 1
			depth++ // until the next clause
		case "WHERE", "ORDER":
			if r.setting != 0 && depth == r.setting {
				r.setting, r.target = 0, ""
				depth--
			}
		default:
			r.readName(token, r.tokenAt(i-1), r.tokenAt(i+1), depth)
		}
	}
}

// readName reports a name if it is a column. What an assignment reads of its own
// column, as version = version + 1 does, is no use of it.
func (r *sqlReader) readName(token, before, after string, depth int) {
	if c := token[0]; c == '\'' || c == '\x00' || strings.ToUpper(token[:1]) == strings.ToLower(token[:1]) && c != '_' {
		return
	}
	if r.setting != 0 && depth == r.setting && after == "=" && (before == "SET" || before == "," || before == "" || before == hole) {
		r.target = token
		r.report(token, true)
		return
	}
	if token != r.target || r.setting == 0 {
		r.report(token, r.insert)
	}
}

// report names the tables that a column may be of: those of the nearest SELECT that has it.
func (r *sqlReader) report(token string, write bool) {
	alias, column, qualified := strings.Cut(token, ".")
	if !qualified {
		alias, column = "", token
	}
	for s := r.scope; s != nil; s = s.outer {
		hit := false
		for _, table := range s.namedTables(alias) {
			if r.schema[table][column] {
				hit = true
				r.found(table, column, write)
			}
		}
		if hit {
			return
		}
	}
	for _, table := range r.tablesAround(alias) {
		if r.schema[table][column] {
			r.found(table, column, write)
		}
	}
}

// tablesAround are the tables of a part of a statement: those that the code around it
// names, of these those that the package calls so, else all that it calls so.
func (r *sqlReader) tablesAround(alias string) (out []string) {
	known := r.aliases[alias]
	for _, table := range r.around {
		if len(known) == 0 || slices.Contains(known, table) {
			out = append(out, table)
		}
	}
	if len(out) == 0 {
		return known
	}
	return out
}

// namedTables are the tables of an alias, or all.
func (s *sqlScope) namedTables(alias string) (out []string) {
	if alias != "" {
		return s.tables[alias]
	}
	for _, tables := range s.tables {
		out = append(out, tables...)
	}
	return out
}

// assignments match what stands behind SET: two or more with commas between them.
var assignments = regexp.MustCompile(`^(\x00 = \? , )?\w+ = [^=]+ , \w+ = `)

// isAssignments tells whether a part of a statement is what stands behind SET.
func isAssignments(tokens []string) bool {
	for _, token := range tokens {
		if token == "SET" || token == "SELECT" || token == "AND" {
			return false
		}
	}
	return assignments.MatchString(strings.Join(tokens, " "))
}
