// Package token is the command `token`: access tokens of the HTTP interface.
//
// It shows a token once, where the person asked for it, and never in a table, a hint or an
// error.
package token
