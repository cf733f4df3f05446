// Package mysql opens a MySQL-compatible server (MariaDB 10.6 or newer, MySQL 8)
// as a store, for many planners and executors at once.
//
// It holds nothing but what is special about such a server: the session
// settings and their verification, column types, the claim statement and
// error codes.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Open connects to mysql://user:password@host:port/database. The schema is not
// touched. A connection that leaves this machine is encrypted.
func Open(ctx context.Context, address string, o store.Options) (*store.Store, error) {
	d, db, err := Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	return store.New(d, db, db, o), nil
}

// Connect opens the pool of a server.
func Connect(ctx context.Context, address string) (d kernel.Dialect, db *sql.DB, err error) {
	config, err := parseAddress(address)
	if err != nil {
		return d, nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return d, nil, fmt.Errorf("open database: %w", err)
	}
	db = sql.OpenDB(verified{connector})
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(time.Minute)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		if why := explainMistrust(err); why != "" {
			return d, nil, fmt.Errorf("%w: open database at %s: %s", fault.ErrInvalid, config.Addr, why)
		}
		return d, nil, fmt.Errorf("open database %s at %s: %w%s", config.DBName, config.Addr, translateError(err), adviseOpening(err))
	}
	return dialect(), db, nil
}

// adviseOpening returns what to do about a database that cannot be opened.
func adviseOpening(err error) string {
	var e *mysql.MySQLError
	switch {
	case errors.As(err, &e) && e.Number == unknownDatabase:
		return ": there is no such database on this server: name another with --db or PATRA_DB, or create an empty one (CREATE DATABASE), then `patra db migrate`"
	case errors.As(err, &e) && (e.Number == accessDenied || e.Number == databaseDenied):
		return ": look at the user, the password and the rights; --db or PATRA_DB names them"
	case isOfLine(err):
		return ": is the server running, and is the address in --db or PATRA_DB right?"
	}
	return ""
}

// session is what every connection must have (D§5.21). Without it the same
// statement means different things on different servers.
var session = map[string]string{
	"time_zone":                "'+00:00'",
	"sql_mode":                 "'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
	"innodb_strict_mode":       "1",
	"collation_connection":     "utf8mb4_bin",
	"innodb_lock_wait_timeout": "10",
	// Arguments travel as bytes: the server would otherwise look at every one of
	// them, packed payloads too, letter by letter. A text column still checks what
	// is stored in it, and a comparison is made by the column's collation.
	"character_set_client": "binary",
}

// verified checks the session of every new connection: a proxy or an init
// script may have changed what we asked for, and then we must not write.
type verified struct{ driver.Connector }

func (v verified) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := v.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := setIsolation(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// idleTransaction is how many seconds a transaction may wait for its next
// statement before the server undoes it. Ours take milliseconds; a third of the
// default lease leaves time for a busy machine, and for others to take over.
const idleTransaction = "20"

func unknownVariable(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == noSuchVariable
}

// setIsolation sets the isolation, whose variable has different names on different
// servers, and reads back all that the store relies on.
func setIsolation(ctx context.Context, conn driver.Conn) error {
	execer, canExec := conn.(driver.ExecerContext)
	queryer, canQuery := conn.(driver.QueryerContext)
	if !canExec || !canQuery {
		return errors.New("driver cannot query")
	}
	if _, err := execer.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return err
	}
	// A process that is stopped inside a transaction keeps its rows locked, and
	// nobody could take over. MySQL has no such setting: there it is left to the
	// server's timeouts.
	if _, err := execer.ExecContext(ctx, "SET SESSION idle_transaction_timeout = "+idleTransaction, nil); err != nil && !unknownVariable(err) {
		return err
	}
	rows, err := queryer.QueryContext(ctx, `SHOW SESSION VARIABLES WHERE Variable_name IN
  ('time_zone', 'sql_mode', 'collation_connection', 'tx_isolation', 'transaction_isolation')`, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := map[string]string{}
	row := make([]driver.Value, 2)
	for {
		switch err := rows.Next(row); err {
		case nil:
			found[valueText(row[0])] = valueText(row[1])
			continue
		case io.EOF:
			return checkSettings(found)
		default:
			return err
		}
	}
}

func checkSettings(found map[string]string) error {
	isolation := found["transaction_isolation"]
	if isolation == "" {
		isolation = found["tx_isolation"] // MariaDB before 11.1
	}
	switch {
	case found["time_zone"] != "+00:00":
		return fmt.Errorf("session time zone is %q, need +00:00: does a proxy or init script change it?", found["time_zone"])
	case !strings.Contains(found["sql_mode"], "STRICT_ALL_TABLES"):
		return fmt.Errorf("session sql_mode is %q, need STRICT_ALL_TABLES", found["sql_mode"])
	case found["collation_connection"] != "utf8mb4_bin":
		return fmt.Errorf("session collation is %q, need utf8mb4_bin", found["collation_connection"])
	case isolation != "READ-COMMITTED":
		return fmt.Errorf("session isolation is %q, need READ-COMMITTED", isolation)
	}
	return nil
}

func valueText(v driver.Value) string {
	if raw, ok := v.([]byte); ok {
		return string(raw)
	}
	return fmt.Sprint(v)
}

func dialect() kernel.Dialect {
	return kernel.Dialect{
		Name:          "mysql",
		ForUpdate:     " FOR UPDATE",
		ByIndex:       " FORCE INDEX (%s)",
		SkipLocked:    " FOR UPDATE SKIP LOCKED",
		InsertMany:    "INSERT INTO",
		RowsPerInsert: []int{500, 100, 50, 10},
		// The driver and the server keep buffers up to about this size from one
		// statement to the next.
		BytesPerInsert: 192 << 10,
		Types: kernel.Types{
			ID: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", Int: "BIGINT", Bool: "TINYINT", Double: "DOUBLE",
			JSON: "LONGTEXT", LongText: "LONGTEXT", Blob: "LONGBLOB",
			Text:    func(_ string, n int) string { return fmt.Sprintf("VARCHAR(%d)", n) },
			Bytes:   func(_ string, n int) string { return fmt.Sprintf("VARBINARY(%d)", n) },
			Binary:  func(_ string, n int) string { return fmt.Sprintf("BINARY(%d)", n) },
			OfTable: true, Server: true,
			Table: "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", Clustered: "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
		},
		// An UPDATE takes its order from an index only if ORDER BY names all of the
		// index's columns, the fixed ones too, and the optimizer prefers another
		// index where a partition is large. Otherwise every queued task of the
		// partition is read, sorted and locked for one claim.
		ClaimSQL: `UPDATE ing_task FORCE INDEX (idx_task_queue) SET status_code = 'DISPATCHED', claim_token = ?, lease_owner = ?, leased_until = ?,
  lease_epoch = lease_epoch + 1, lease_count = lease_count + 1, idle_leases = idle_leases + 1, last_heartbeat_at = ?, updated_at = ?
WHERE status_code = 'QUEUED' AND partition_id = ? ORDER BY status_code, partition_id, priority, scheduled_at, id LIMIT ?`,
		Clock:     "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
		Translate: translateError,
		Check:     checkTables,
		Sizes:     measure,
		Columns:   readColumns, NextIDs: readNextIDs, SetNextIDs: setNextIDs,
		DoneAlready: func(err error) bool {
			var e *mysql.MySQLError
			return errors.As(err, &e) && slices.Contains(doneAlready, e.Number)
		},
		Lock: func(ctx context.Context, conn *sql.Conn) (func(), error) {
			var got sql.NullInt64
			if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('patra_migrate_', DATABASE()), 60)").Scan(&got); err != nil {
				return nil, err
			}
			if got.Int64 != 1 {
				return nil, fmt.Errorf("%w: another program is migrating this database", fault.ErrBusy)
			}
			return func() {
				_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(CONCAT('patra_migrate_', DATABASE()))")
			}, nil
		},
		TableCount: func(ctx context.Context, q kernel.Querier) (n int, err error) {
			return n, q.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&n)
		},
		TableExists: func(ctx context.Context, q kernel.Querier, name string) (bool, error) {
			var n int
			err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", name).Scan(&n)
			return n > 0, err
		},
	}
}

// Error numbers of the server.
const (
	lockWaitTimeout = 1205
	deadlock        = 1213
	duplicateKey    = 1062
	databaseDenied  = 1044
	accessDenied    = 1045
	unknownDatabase = 1049
	noSuchVariable  = 1193
	dataTooLong     = 1406
	outOfRange      = 1264
	wrongValue      = 1366
	missingValue    = 1048
	recordChanged   = 1020 // MariaDB: snapshot moved on
	queryKilled     = 1317
	manyConnections = 1040
	manyOfUser      = 1203
	shuttingDown    = 1053
	lineKilled      = 1927 // MariaDB: what a statement hears when its server stops
	lineTimedOut    = 4031 // MySQL
	readOnlyServer  = 1290 // an operator's doing, or a server that became a replica
	readOnlyMode    = 1836
	diskFull        = 1021
	tableFull       = 1114 // what InnoDB says when its disk is full
	errorOnWrite    = 1026
	errorOfEngine   = 1030
	errorOnCreate   = 1005
	noSpaceLeft     = "28" // ENOSPC, as the server writes the errors of its system
)

// doneAlready are what the second run of a statement hears: table, column and key
// exist; nothing left to drop.
var doneAlready = []uint16{1050, 1060, 1061, 1091}

// isFull reports whether the disk of the server is full, in any of the ways servers
// say so.
func isFull(e *mysql.MySQLError) bool {
	switch e.Number {
	case diskFull, tableFull:
		return true
	case errorOnWrite, errorOfEngine, errorOnCreate:
		return strings.Contains(e.Message, "rrcode: "+noSpaceLeft) || strings.Contains(e.Message, "error "+noSpaceLeft) || strings.Contains(e.Message, "errno: "+noSpaceLeft)
	}
	return false
}

// isOfLine reports whether the server cannot be reached, or closed the connection
// while we wrote.
func isOfLine(err error) bool {
	return errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func translateError(err error) error {
	if err == nil {
		return nil
	}
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		if isFull(e) {
			return fmt.Errorf("%w: make room on the disk of the database server; what is committed stays, and the next run continues: %s", fault.ErrFull, e.Message)
		}
		switch e.Number {
		case lockWaitTimeout, deadlock, recordChanged, queryKilled, manyConnections, manyOfUser, shuttingDown, lineKilled, lineTimedOut, readOnlyServer, readOnlyMode:
			return fmt.Errorf("%w: %s", fault.ErrBusy, e.Message)
		case duplicateKey:
			return fmt.Errorf("%w: %s", fault.ErrConflict, e.Message)
		case dataTooLong, outOfRange, wrongValue, missingValue:
			return fmt.Errorf("%w: %s", fault.ErrInvalid, e.Message)
		}
		return err
	}
	// The connection broke: whether the step was committed is unknown. Steps
	// look for their own result first, so they may be redone (D§5.20).
	switch {
	case explainMistrust(err) != "": // a certificate may be renewed while we wait
		return fmt.Errorf("%w: no safe connection: %s", fault.ErrBusy, explainMistrust(err))
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("%w: connection lost: %s", fault.ErrBusy, err)
	case isOfLine(err):
		return unreached{err}
	}
	return err
}

// unreached is a server that cannot be reached. For those who can wait it is busy;
// whoever reads it should not look for what keeps it busy.
type unreached struct{ err error }

func (u unreached) Error() string   { return "the database server cannot be reached: " + u.err.Error() }
func (u unreached) Unwrap() []error { return []error{fault.ErrBusy, u.err} }
