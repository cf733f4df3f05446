// Package cursor holds the commands that show, verify, repair and set watermarks.
package cursor
