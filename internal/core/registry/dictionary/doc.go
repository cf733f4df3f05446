// Package dictionary is the closed and open lists of codes that source files, tables
// and messages use, with the older codes that still mean the same.
//
// It must never know what a source is: the checks of the registry ask it, and the
// store keeps a copy that operators may add to.
package dictionary
