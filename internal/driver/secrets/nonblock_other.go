//go:build !unix

package secrets

const nonblock = 0
