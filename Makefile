MODULES := $(shell tools/modules)
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod
TEST := go run ./internal/testing/redistest/summary $(MODULES) --
# These packages have to be covered together to COVER per cent, by the tests of all packages. One that
# has no code fails, too.
COVERED := lock renewal signal internal/engine internal/janitor internal/store internal/doctor internal/owner
COVER := 90

.NOTPARALLEL:
.PHONY: help setup fmt lint test cover fuzz examples demo bench chaos mutants sim ci

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

setup: ## Install a Redis for the tests if there is none and it can be done
	@tools/setup

fmt: ## Format all Go files
	$(TOOL) gofumpt -w .

lint: ## Check format, vet, staticcheck, and that no test sleeps
	@files=$$($(TOOL) gofumpt -l .) && { test -z "$$files" || { echo "run make fmt for:" $$files; exit 1; }; }
	@set -e; for m in $(MODULES); do echo "== vet and staticcheck in $$m"; \
		(cd $$m && go vet ./... && $(TOOL) staticcheck ./...); done
	@tools/nosleep

test: setup ## Run the tests on a real Redis, tell what was skipped, and why: RACE=1, RUN=Fault
	$(TEST) $(if $(RACE),-race) $(if $(RUN),-run '$(RUN)') ./...

cover: setup ## The same with the race detector; fails under 90 % of what has to be covered
	@tools/cover $(COVER) $(COVERED)

fuzz: setup ## Run each fuzz target for FUZZTIME=10s
	@tools/fuzz $(or $(FUZZTIME),10s)

examples: ## Run every program under examples
	@go run ./internal/anyredis/with sh -ec 'for d in examples/*/; do echo "== $$d"; go run ./$$d </dev/null; done'

demo: ## Show locks at work
	@go run ./cmd/holdfast demo

bench: setup ## Measure, as ratios to hand-written redigo
	cd bench && go vet ./... && go run .

chaos: setup ## Random programs under random faults: DURATION=1m, SEED=, CLIENTS=, NAMES=, TTL=, OPERATOR=1, SOAK=8h
	go test ./internal/testing/chaos -count=1 -v -timeout 0 -run '^$(if $(SOAK),TestSoak,TestFaultChaos)$$' -args \
		$(if $(SOAK),-soak $(SOAK),-duration $(or $(DURATION),1m)) $(if $(OPERATOR),-operator) \
		-seed $(or $(SEED),0) -clients $(or $(CLIENTS),8) -names $(or $(NAMES),2) -ttl $(or $(TTL),0s)

mutants: setup ## Break the library on purpose, and see each break noticed: CHAOS=1 for those that chaos must find
	go run ./internal/testing/mutants $(if $(CHAOS),-chaos)

sim: ## Simulate random programs in virtual time: PROGRAMS=10000, FROM=1
	go test ./internal/testing/sim -count=1 -run TestSim -timeout $(if $(PROGRAMS),24h,10m) \
		-programs $(or $(PROGRAMS),10000) -from $(or $(FROM),1)

ci: lint cover examples ## All that must pass; the demo last, without a terminal
	$(MAKE) test RUN=Fault RACE=1
	$(MAKE) sim
	$(MAKE) demo </dev/null
