// Package access says who may do what through the HTTP interface and the dashboard (§14.10):
// roles, the sources a token is limited to, and the form of tokens. It is pure: tokens and
// sessions are kept by the store, and checked at the entrance of the surface.
package access
