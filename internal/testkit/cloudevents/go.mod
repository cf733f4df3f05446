module github.com/patra-ingest/patra/internal/testkit/cloudevents

go 1.26.0

require (
	github.com/cloudevents/sdk-go/v2 v2.16.2
	github.com/patra-ingest/patra v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/theory/jsonpath v0.12.0 // indirect
)

replace github.com/patra-ingest/patra => ../../..
