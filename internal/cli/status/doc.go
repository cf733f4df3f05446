// Package status is the status command: how all sources stand, and what a person
// should look at.
package status
