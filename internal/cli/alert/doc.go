// Package alert holds the commands that show what people were told of findings, keep
// alerts silent, and try receivers.
package alert
