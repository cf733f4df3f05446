// Package data holds the commands that read stored records: get, list, export and
// verify.
package data
