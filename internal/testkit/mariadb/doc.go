// Package mariadb gives a test a fresh, empty database on a real MariaDB
// server. The server is the one scripts/with-servers started; its address comes
// from the environment variable PATRA_TEST_MYSQL.
//
// It must never start or install a server, never hand one database to two
// tests, and never let a missing server pass unnoticed: with CI=true that is a
// failure.
package mariadb
