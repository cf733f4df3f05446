// Package reason tells whoever watches work why it stands still or starts over, while it
// does. Sentences about values alone are in core/wording.
package reason
