// Package source holds the commands about source files: write, check, try, apply,
// explain, export, pause and resume them.
package source
