package storetest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Catalogue lists what a schema consists of, one line each, in words that two
// kinds of database share: tables, columns in order with their nullability, and
// keys with their columns. Two dialects built from one file must give the same
// lines.
func Catalogue(t *testing.T, db *sql.DB, dialect string) (lines []string) {
	t.Helper()
	for _, table := range tableNames(t, db, dialect) {
		if dialect == "sqlite" {
			lines = append(lines, sqliteTable(t, db, table)...)
		} else {
			lines = append(lines, serverTable(t, db, table)...)
		}
	}
	return lines
}

func sqliteTable(t *testing.T, db *sql.DB, table string) (lines []string) {
	t.Helper()
	lines = column(t, db, `SELECT '`+table+`.' || name || CASE WHEN "notnull" OR pk THEN ' NOT NULL' ELSE '' END FROM pragma_table_info('`+table+`') ORDER BY cid`)
	primary := column(t, db, "SELECT name FROM pragma_table_info('"+table+"') WHERE pk > 0 ORDER BY pk")
	keys := []string{fmt.Sprintf("%s PRIMARY (%s)", table, strings.Join(primary, ","))}
	for _, unique := range []int{0, 1} {
		for _, name := range column(t, db, `SELECT name FROM pragma_index_list('`+table+`') WHERE origin = 'c' AND "unique" = ?`, unique) {
			columns := column(t, db, "SELECT name FROM pragma_index_info('"+name+"') ORDER BY seqno")
			keys = append(keys, fmt.Sprintf("%s %s%s (%s)", table, []string{"", "unique "}[unique], name, strings.Join(columns, ",")))
		}
	}
	slices.Sort(keys)
	return append(lines, keys...)
}

func serverTable(t *testing.T, db *sql.DB, table string) (lines []string) {
	t.Helper()
	lines = column(t, db, `SELECT CONCAT(table_name, '.', column_name, IF(is_nullable = 'NO', ' NOT NULL', '')) FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position`, table)
	keys := column(t, db, `SELECT CONCAT(table_name, ' ', IF(MAX(non_unique) = 0 AND index_name <> 'PRIMARY', 'unique ', ''), index_name,
  ' (', GROUP_CONCAT(column_name ORDER BY seq_in_index), ')') FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = ? GROUP BY table_name, index_name`, table)
	slices.Sort(keys)
	return append(lines, keys...)
}
