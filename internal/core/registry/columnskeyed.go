package registry

import (
	"regexp"
	"slices"
)

// entries is a map of a level whose values are rows of their own, one per key.
type entries struct {
	path   Path     // of the map
	key    string   // column of the map's key
	tables []string // an entry may be spread; the last keeps what has no column
}

func keyedParts() []entries {
	return []entries{
		{Path{"credentials"}, "credential_name", []string{tableCredential}},
		{Path{"params"}, "std_key", []string{tableParam}},
		{Path{"query", "fields"}, "field_key", []string{tableField, tableCapability}},
		{Path{"query", "rules"}, "rule_name", []string{tableRule}},
	}
}

func entriesOf(table string) (entries, bool) {
	for _, e := range keyedParts() {
		if slices.Contains(e.tables, table) {
			return e, true
		}
	}
	return entries{}, false
}

// KeyColumn returns the column of a table that names the entry a row is for, or ""
// if a level has one row in the table.
func KeyColumn(table string) string {
	e, _ := entriesOf(table)
	return e.key
}

// rowKey is what a key column takes. Databases differ in whether blanks at the
// end of a key matter, so an entry with an odd key is kept in extra_json.
var rowKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// pickLeaves sorts the leaves of entries by their key, with paths below the entry,
// and returns what is left over.
func (e entries) pickLeaves(leaves []Leaf) (picked map[string][]Leaf, rest []Leaf) {
	picked = map[string][]Leaf{}
	depth := len(e.path)
	for _, l := range leaves {
		if len(l.Path) < depth+2 || !slices.Equal(l.Path[:depth], e.path) || !rowKey.MatchString(l.Path[depth]) {
			rest = append(rest, l)
			continue
		}
		key := l.Path[depth]
		l.Path = l.Path[depth+1:]
		picked[key] = append(picked[key], l)
	}
	return picked, rest
}

func (e entries) entryColumns() []column {
	return layout().entries[e.key]
}

// extraColumn returns where a value of an entry without a column is kept.
func (e entries) extraColumn() string { return e.tables[len(e.tables)-1] }

// entryColumns returns those of tables with a key.
func entryColumns() []column {
	return []column{
		{"type", tableCredential, "auth_type", asText, 32},
		{"in", tableCredential, "inbound_location_code", asText, 16},
		{"name", tableCredential, "credential_field_name", asText, 128},
		{"prefix", tableCredential, "credential_value_prefix", asText, 64},
		{"value", tableCredential, "credential_value_ref", asText, 256},
		{"username", tableCredential, "basic_username_ref", asText, 256},
		{"password", tableCredential, "basic_password_ref", asText, 256},
		{"tokenUrl", tableCredential, "oauth_token_url", asText, 512},
		{"clientId", tableCredential, "oauth_client_id_ref", asText, 256},
		{"clientSecret", tableCredential, "oauth_client_secret_ref", asText, 256},
		{"scope", tableCredential, "oauth_scope", asText, 512},
		{"audience", tableCredential, "oauth_audience", asText, 512},

		{"name", tableParam, "provider_param_name", asText, 64},
		{"in", tableParam, "param_location_code", asText, 16},
		{"default", tableParam, "default_value", asText, 512},
		{"required", tableParam, "is_required", asFlag, 0},
		{"transform", tableParam, "transform_code", asText, 64},

		{"name", tableField, "display_name", asText, 128},
		{"description", tableField, "description", asText, 255},
		{"type", tableField, "data_type_code", asText, 32},
		{"cardinality", tableField, "cardinality_code", asText, 16},

		{"ops", tableCapability, "ops", asJSON, 0},
		{"not", tableCapability, "supports_not", asFlag, 0},
		{"negatableOps", tableCapability, "negatable_ops", asJSON, 0},
		{"matches", tableCapability, "term_matches", asJSON, 0},
		{"caseSensitive", tableCapability, "term_case_sensitive_allowed", asFlag, 0},
		{"allowBlank", tableCapability, "term_allow_blank", asFlag, 0},
		{"minLen", tableCapability, "term_min_len", asInteger, 0},
		{"maxLen", tableCapability, "term_max_len", asInteger, 0},
		{"pattern", tableCapability, "term_pattern", asText, 255},
		{"inMax", tableCapability, "in_max_size", asInteger, 0},
		{"inCaseSensitive", tableCapability, "in_case_sensitive_allowed", asFlag, 0},
		{"range", tableCapability, "range_kind_code", asText, 16},
		{"openStart", tableCapability, "range_allow_open_start", asFlag, 0},
		{"openEnd", tableCapability, "range_allow_open_end", asFlag, 0},
		{"closedAtInfinity", tableCapability, "range_allow_closed_at_infty", asFlag, 0},
		{"min", tableCapability, "range_min", asText, 64},
		{"max", tableCapability, "range_max", asText, 64},
		{"whole", tableCapability, "whole_numbers", asFlag, 0},
		{"exists", tableCapability, "exists_supported", asFlag, 0},
		{"tokenKinds", tableCapability, "token_kinds", asJSON, 0},
		{"tokenPattern", tableCapability, "token_value_pattern", asText, 255},

		{"field", tableRule, "field_key", asText, 64},
		{"op", tableRule, "op_code", asText, 16},
		{"match", tableRule, "match_type_code", asText, 16},
		{"negated", tableRule, "negated", asFlag, 0},
		{"valueType", tableRule, "value_type_code", asText, 16},
		{"emit", tableRule, "emit_type_code", asText, 8},
		{"template", tableRule, "template", asText, 0},
		{"itemTemplate", tableRule, "item_template", asText, 0},
		{"joiner", tableRule, "joiner", asText, 32},
		{"group", tableRule, "wrap_group", asFlag, 0},
		{"params", tableRule, "params", asJSON, 0},
		{"bounds", tableRule, "bounds_code", asText, 16},
		{"precision", tableRule, "bound_precision_code", asText, 16},
		{"format", tableRule, "bound_format", asText, 64},
	}
}
