// Package quarantine holds the commands about items that could not be stored.
package quarantine
