# Run "make" for the list of targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULE  := github.com/patra-ingest/patra
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Recorded answers of real sources are an extra check where a folder of them lies
# beside the repository; without one these tests are skipped.
PATRA_FIXTURES ?= $(abspath $(wildcard ../shared/fixtures))
export PATRA_FIXTURES

# One set of flags for building, checking and testing: Go then compiles each package
# once, not once per target.
export CGO_ENABLED ?= 0
export GOFLAGS     := $(GOFLAGS) -trimpath

# The module that holds our events against the SDK of CloudEvents: so the SDK stays out
# of go.mod.
ENVELOPE := internal/testkit/cloudevents

BENCHTIME ?= 1s
FUZZTIME  ?= 10s

# Run by version, so that the tools and their dependencies stay out of go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE    := golang.org/x/tools/cmd/deadcode@v0.51.0

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build the static binary bin/patra
	@[[ -x bin/patra ]] || echo 'building bin/patra: the first time Go fetches and compiles the modules, which can take some minutes'
	go build -buildvcs=false \
		-ldflags "-s -w -X $(MODULE)/internal/cli/term.Version=$(VERSION)" -o bin/patra ./cmd/patra

.PHONY: test
test: ## Run all tests beside a private MariaDB and Redis (installs them if missing)
	scripts/with-servers --in-memory scripts/test

.PHONY: race
race: ## Run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 scripts/with-servers --in-memory scripts/test -race

.PHONY: check
check: ## Cheap checks: gofmt, go.mod, go vet, functions that only tests reach
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; \
	fi
	go mod tidy -diff
	go -C $(ENVELOPE) mod tidy -diff
	go vet ./...
	go -C $(ENVELOPE) vet ./...
	@scripts/deadcode $(DEADCODE)

.PHONY: lint
lint: check ## All checks: those of check, and staticcheck
	go run $(STATICCHECK) ./...

.PHONY: bench
bench: ## Run the benchmarks (BENCHTIME=1s)
	scripts/with-servers go test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 60m \
		./internal/testkit/bench/... ./internal/driver/store/ledger ./internal/core/generation ./internal/daemon

.PHONY: fuzz
fuzz: ## Run every fuzz target (FUZZTIME=10s each)
	FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: proof
proof: ## Run the full-size proofs (long, up to 80 minutes)
	PATRA_PROOF=1 scripts/with-servers go test -count=1 -timeout 80m -v -run Proof ./...

.PHONY: demo
demo: build ## Build bin/patra and run its demo against the built-in upstream simulator
	bin/patra demo

.PHONY: clean
clean: ## Remove what the build made
	rm -rf bin
