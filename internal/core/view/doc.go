// Package view holds the read models: what the command line, the API and the
// dashboard show of the ledger.
//
// They are plain values with JSON names. Nothing in here may be written back.
package view
