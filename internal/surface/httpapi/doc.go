// Package httpapi is the HTTP interface /v1: what the command line shows with -o json and
// what it does, for programs. Answers have the shapes of the command line, errors its codes
// and next steps as problems (RFC 9457), and /openapi.json describes all of it.
//
// No rule stands here. Handlers ask the small interfaces of services.go, which daemon fills
// with the types that the command line uses; who calls was found out at the entrance. One
// table says which role a route needs (R4): see routes in api.go.
package httpapi
