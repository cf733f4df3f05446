// Package rate holds the commands that show rate keys and quotas, and lift holds.
package rate
