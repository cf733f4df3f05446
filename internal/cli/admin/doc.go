// Package admin holds the commands that look after an installation: the database, its
// archives, what is kept for how long, and the audit log.
package admin
