package config

import "github.com/patra-ingest/patra/internal/core/registry"

// Schema returns the JSON Schema (draft 2020-12) of patra.yaml, for editors. It is read from
// the types, as the decoder is. What two keys say together it cannot see: Decode does.
func Schema() []byte {
	return registry.SchemaOf[Config]("urn:patra:installation", "patra.yaml", "What the person who runs an installation decides for all of it.")
}
