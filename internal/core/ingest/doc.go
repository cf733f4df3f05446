// Package ingest is the shared vocabulary of the program: operations, the
// chain schedule → plan → slice → task → run → batch with its lineage, and the
// status machines of D§5.3.
//
// It holds values and rules about them. It must never import a service, a
// driver or the snapshot compiler; everything else may import it.
package ingest
