package history

import (
	"fmt"
	"strings"
)

// words is how a database says what both can.
type words struct {
	hash    string // 64 random digits
	bytes32 string // 32 random bytes
	bytes16 string
	instant string // %s microseconds as text
	before  []string
	indexes func(*filler, string) (drop, create []string, err error)
}

func wordsOf(dialect string) (words, error) {
	switch dialect {
	case "sqlite":
		return words{
			hash: "lower(hex(randomblob(32)))", bytes32: "randomblob(32)", bytes16: "randomblob(16)",
			instant: "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', (%s) / 1000000, 'unixepoch')",
			before:  []string{"PRAGMA cache_size = -262144", "PRAGMA temp_store = FILE"},
			indexes: indexesOfSQLite,
		}, nil
	case "mysql":
		return words{
			hash: "SHA2(CONCAT(RAND(), x.n), 256)", bytes32: "UNHEX(SHA2(CONCAT(RAND(), x.n), 256))", bytes16: "UNHEX(MD5(CONCAT(RAND(), x.n)))",
			instant: "DATE_FORMAT(FROM_UNIXTIME((%s) / 1000000), '%%Y-%%m-%%dT%%H:%%i:%%sZ')",
			before:  []string{"SET SESSION unique_checks = 0", "SET SESSION foreign_key_checks = 0"},
			indexes: indexesOfServer,
		}, nil
	}
	return words{}, fmt.Errorf("no history for the dialect %q", dialect)
}

// indexesOfSQLite returns how the indexes of a table are dropped and made again.
func indexesOfSQLite(f *filler, table string) (drop, create []string, err error) {
	rows, err := f.db.QueryContext(f.ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", table)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, nil, err
		}
		drop, create = append(drop, "DROP INDEX "+name), append(create, text)
	}
	return drop, create, rows.Err()
}

// indexesOfServer makes the indexes of a table one by one: all at once, those of ten million
// rows take longer than a connection waits for an answer.
func indexesOfServer(f *filler, table string) (drop, create []string, err error) {
	rows, err := f.db.QueryContext(f.ctx, `SELECT index_name, non_unique, GROUP_CONCAT(CONCAT(column_name, COALESCE(CONCAT('(', sub_part, ')'), '')) ORDER BY seq_in_index)
  FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name <> 'PRIMARY' GROUP BY index_name, non_unique`, table)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var drops []string
	for rows.Next() {
		var name, columns string
		var many bool
		if err := rows.Scan(&name, &many, &columns); err != nil {
			return nil, nil, err
		}
		kind := "UNIQUE INDEX"
		if many {
			kind = "INDEX"
		}
		drops, create = append(drops, "DROP INDEX "+name), append(create, fmt.Sprintf("ALTER TABLE %s ADD %s %s (%s)", table, kind, name, columns))
	}
	if len(drops) == 0 {
		return nil, nil, rows.Err()
	}
	return []string{"ALTER TABLE " + table + " " + strings.Join(drops, ", ")}, create, rows.Err()
}
