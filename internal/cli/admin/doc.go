// Package admin holds the commands that look after an installation: the database, its
// archives, what is kept for how long, the audit log, and its file patra.yaml.
package admin
