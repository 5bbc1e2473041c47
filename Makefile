TOOL := go tool -modfile=tools/go.mod
TEST := go run ./internal/redistest/summary
FUZZTIME ?= 10s

.NOTPARALLEL:
.PHONY: help setup fmt lint test race cover fuzz examples demo bench faults ci

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' Makefile

setup: ## Install a Redis for the tests if there is none and it can be done
	@tools/setup

fmt: ## Format all Go files
	$(TOOL) gofumpt -w .

lint: ## Check format, vet, staticcheck, and that no test sleeps
	@files=$$($(TOOL) gofumpt -l .) && { test -z "$$files" || { echo "run make fmt for:" $$files; exit 1; }; }
	go vet ./...
	$(TOOL) staticcheck ./...
	@tools/nosleep

test: setup ## Run the tests on a real Redis; tell what was skipped, and why
	$(TEST) ./...

race: setup ## The same with the race detector
	$(TEST) -race ./...

cover: setup ## The same, with the coverage of lock, renewal and signal; fails under 90 %
	@tools/cover 90 lock renewal signal

fuzz: setup ## Run each fuzz target for FUZZTIME (10s)
	@tools/fuzz $(FUZZTIME)

examples: ## Run every program under examples
	@set -e; for d in examples/*/; do echo "== $$d"; go run ./$$d </dev/null; done

demo: ## Show locks at work
	@go run ./cmd/holdfast demo

bench: setup ## Measure, as ratios to hand-written redigo
	cd bench && go vet ./... && go run .

faults: setup ## A short run of the fault tests
	$(TEST) -race -run Fault ./...

ci: lint cover examples faults ## All that must pass; the demo last, without a terminal
	$(MAKE) demo </dev/null
