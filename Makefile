MODULES := $(shell tools/modules)
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod
TEST := go run ./internal/testing/redistest/summary $(MODULES) --
CHAOSTEST := go test ./internal/testing/chaos -count=1 -v -timeout 0
CHAOSFLAGS = -seed $(or $(SEED),0) -clients $(or $(CLIENTS),8) -names $(or $(NAMES),2) -ttl $(or $(TTL),0s) $(CHAOS)
FUZZTIME ?= 10s

.NOTPARALLEL:
.PHONY: help setup fmt lint test race cover fuzz examples demo bench faults chaos chaos-nightly soak mutants sim sim-nightly ci

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Install a Redis for the tests if there is none and it can be done
	@tools/setup

fmt: ## Format all Go files
	$(TOOL) gofumpt -w .

lint: ## Check format, vet, staticcheck, and that no test sleeps
	@files=$$($(TOOL) gofumpt -l .) && { test -z "$$files" || { echo "run make fmt for:" $$files; exit 1; }; }
	@set -e; for m in $(MODULES); do echo "== vet and staticcheck in $$m"; \
		(cd $$m && go vet ./... && $(TOOL) staticcheck ./...); done
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
	@go run ./internal/anyredis/with sh -ec 'for d in examples/*/; do echo "== $$d"; go run ./$$d </dev/null; done'

demo: ## Show locks at work
	@go run ./cmd/holdfast demo

bench: setup ## Measure, as ratios to hand-written redigo
	cd bench && go vet ./... && go run .

faults: setup ## A short run of the fault tests
	$(TEST) -race -run Fault ./...

chaos: setup ## Random programs under random faults, checked: SEED=, DURATION=, CLIENTS=, NAMES=, TTL=, CHAOS=-operator
	$(CHAOSTEST) -run '^TestFaultChaos$$' -args -duration $(or $(DURATION),1m) $(CHAOSFLAGS)

chaos-nightly: setup ## The same for 30 minutes, and the proof that it finds bugs: NIGHTLY= for each TTL
	$(MAKE) chaos DURATION=$(or $(NIGHTLY),6m)
	$(MAKE) chaos DURATION=$(or $(NIGHTLY),6m) CHAOS=-operator
	$(CHAOSTEST) -run '^TestMutants$$' -args -mutants

soak: setup ## The same for hours, and each minute a look at what piles up: DURATION=8h
	$(CHAOSTEST) -run '^TestSoak$$' -args -soak $(or $(DURATION),8h) $(CHAOSFLAGS)

mutants: setup ## Break the library on purpose, and see each break noticed
	go run ./internal/testing/mutants

sim: ## Simulate 10,000 random programs in virtual time
	go test ./internal/testing/sim -count=1 -run TestSim -programs 10000 -timeout 10m

sim-nightly: ## Simulate 1,000,000 more
	go test ./internal/testing/sim -count=1 -run TestSim -programs 1000000 -from 10001 -timeout 24h

ci: lint cover examples faults sim ## All that must pass; the demo last, without a terminal
	$(MAKE) demo </dev/null
