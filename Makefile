# What each command does is in CONTRIBUTING.md. CI runs "make test".

# Runs a command against one DynamoDB Local.
WITH_DYNAMODB = go run ./local/cmd/dynamodblocal --
STATICCHECK   = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT     = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
ACTIONLINT    = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
MODULES       = . postgres redis tools examples infra proof local/sqslocal cmd/once
# What is tested with the race detector, and the packages with files that it leaves out.
RACED         = $(patsubst %,./%/...,$(filter-out infra,$(MODULES)))
PARTLY_RACED  = $(sort $(dir $(shell grep -rl --include='*.go' '^//go:build !race' .)))
# How packages are compiled for the tests: each at most twice. With the race detector,
# inlining would take a third longer to compile than it saves. The tag leaves out a codec of
# gin, which takes longer to compile than the AWS SDK.
RACE          = -race -tags=nomsgpack -gcflags=all=-l -gcflags=std=
# As functions are compiled.
PLAIN         = env CGO_ENABLED=0 "GOFLAGS=$$GOFLAGS -trimpath" go
# For a program that compiles packages: it takes them from the tests.
AS_RACED      = -exec "env CGO_ENABLED=1 'GOFLAGS=$$GOFLAGS $(RACE)'"
FUZZTIME     ?= 2m

# The architecture of the functions: arm64 or amd64.
ARCH         ?= arm64

# Compiles an example for Lambda: $(call compile,<example>,<absolute path of the bootstrap>).
# The binary contains neither the folder nor the commit, so that an unchanged
# function is not deployed again.
compile       = CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go -C examples build -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w' -o "$(2)" ./$(1)

# Compiles an example for SAM. Without ARTIFACTS_DIR, it would write /bootstrap.
artifact      = $(if $(filter /%,$(firstword $(ARTIFACTS_DIR))),,$(error ARTIFACTS_DIR must be an absolute path: run "sam build", which sets it, or make $@ ARTIFACTS_DIR=$(CURDIR)/build/$(1)))$(call compile,$(1),$(ARTIFACTS_DIR)/bootstrap)

.PHONY: demo crash-matrix queue-kills once once-large test test-short check check-windows mutants torture bench bench-compare fuzz version tidy release-check binaries workflows build synth build-PaymentsFunction build-OrdersFunction build-TransferFunction build-SharedFunction build-CheckoutFunction build-RelayFunction build-RefundsFunction site

demo:
	@local/needs.sh demo
	@go run ./local/cmd/demo

# Plays every point; make test plays fewer.
crash-matrix:
	@env ONCE_MATRIX=whole go -C proof test -count=1 -timeout 0 -v -run '^TestShortMatrix$$' ./crashmatrix

# Kills 300 processes that send messages, within 10 minutes. make test kills a dozen.
queue-kills:
	@env ONCE_KILLS=300 go -C examples test -count=1 -timeout 10m -v -run '^TestKilledProcessesLoseNoNoticeAndHaveEachEffectOnce$$' ./queue

# Writes bin/once and bin/oncevet.
once:
	@go build -C cmd/once -o $(CURDIR)/bin/ . ./cmd/oncevet

# Measures the figures of docs/operate.md with a table of 100,000 records. CI uses a
# smaller one.
once-large:
	@$(WITH_DYNAMODB) env ONCE_RECORDS=100000 go -C cmd/once test -count=1 -run '^TestLargeTable$$' -v .

# Looks for what it needs, and tests every module: two steps at a time, as most wait for
# servers and processes. The output of each stays together where make can do that. check
# has vetted the packages. The end names the parts that did not run.
test:
	@local/needs.sh test
	@$(MAKE) --no-print-directory check
	@ONCE_NOT_RUN=$$(mktemp); export ONCE_NOT_RUN; code=0; \
		$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) $(TESTS) || code=$$?; \
		if [ -s "$$ONCE_NOT_RUN" ]; then echo "== these parts did not run here"; sort -u "$$ONCE_NOT_RUN"; fi; \
		rm -f "$$ONCE_NOT_RUN"; exit $$code

# The longest steps first.
TESTS   = test-proof test-infra test-root test-examples test-postgres test-sqslocal test-once test-mutants test-bench test-explore test-redis test-tools
# go test repeats a result for which nothing has changed. By itself it sees no change outside
# of the module of a test, nor in what the test runs or compiles: OF_TREE has such tests run
# again after any change, as go test compares its flags. No test has the skipped name.
GO_TEST = test $(RACE) -vet=off
TREE    = $(shell index=$$(mktemp -u); GIT_INDEX_FILE=$$index git add -A && GIT_INDEX_FILE=$$index git write-tree; rm -f $$index)
OF_TREE = $(if $(TREE),-skip '^$(TREE)$$',-count=1)

.PHONY: $(TESTS)

# The compiler spends a fifth of its time on collecting garbage.
check $(TESTS): export GOGC = 400

# The server's client is compiled for the tests.
$(TESTS): WITH_DYNAMODB = go run $(RACE) ./local/cmd/dynamodblocal --

# Their tests run one call after the other, and hardly anything but computes: the race
# detector would only take minutes.
SEQUENTIAL = ./idempotent/powertools ./idempotent/storetest ./internal/canonical ./internal/jmespath

# The race detector would take minutes, and allocates. It has the schedules of the store in
# memory in short.
test-explore:
	@echo "== the explored schedules, the orders of small events, and the allocations of a duplicate"
	@$(PLAIN) test -vet=off -run '^(TestExploreSchedules|TestDuplicateAllocations|TestPromisesHoldInEveryOrderOfSmallEvents)$$' ./idempotent ./handlers/internal/lanes
	@$(PLAIN) test -vet=off ./idempotent/memory $(SEQUENTIAL)

test-root:
	@echo "== the library, against DynamoDB Local"
	@$(WITH_DYNAMODB) go $(GO_TEST) $$(go list ./... | grep -vxF "$$(go list ./idempotent/memory ./internal/... ./local/... $(SEQUENTIAL))")
	@$(WITH_DYNAMODB) go $(GO_TEST) $(OF_TREE) $$(go list ./internal/... ./local/... | grep -vxF "$$(go list $(SEQUENTIAL))")
	@go $(GO_TEST) -short ./idempotent/memory

test-postgres:
	@echo "== the store in PostgreSQL"
	@go -C postgres $(GO_TEST) ./...

test-redis:
	@echo "== the store on Redis, against a real server, a replica and a cluster"
	@go -C redis $(GO_TEST) $(OF_TREE) ./...

test-tools:
	@echo "== the tools of models"
	@go -C tools $(GO_TEST) $(OF_TREE) ./...

test-examples:
	@echo "== the examples, compiled, and the pages, against DynamoDB Local"
	@$(WITH_DYNAMODB) go -C examples $(GO_TEST) $(OF_TREE) ./...

test-sqslocal:
	@echo "== the queue, and what survives kills behind it: a minute"
	@$(WITH_DYNAMODB) go -C local/sqslocal $(GO_TEST) $(OF_TREE) ./...

test-once:
	@echo "== the operator's command, against DynamoDB Local"
	@$(WITH_DYNAMODB) go -C cmd/once $(GO_TEST) $(OF_TREE) -timeout 20m $$(go -C cmd/once list ./... | grep -v '/oncevet$$')
	@$(PLAIN) -C cmd/once test -vet=off $(OF_TREE) $(AS_RACED) ./oncevet

test-proof:
	@echo "== the proof: faults, crash matrix, and 300 concurrent histories of all stores, each linearizable"
	@$(WITH_DYNAMODB) go -C proof $(GO_TEST) $(OF_TREE) -timeout 30m $$(go -C proof list ./... | grep -Ev "/(bench|mutants)$$")

# The compiler's own checks, hundreds of times: the race detector would make them minutes.
test-mutants:
	@echo "== the mutants fit the code and compile"
	@$(PLAIN) -C proof test -vet=off $(OF_TREE) $(AS_RACED) ./mutants

test-bench:
	@echo "== the bench, in its short form"
	@go -C proof test $(RACE) -vet=off -count=1 -short -bench . -benchtime 1x ./bench

test-infra:
	@echo "== the deployment, synthesized"
	@$(PLAIN) -C infra test -vet=off $(OF_TREE) ./...

# For the daily loop: the root module alone, with the deep explorations cut short.
test-short:
	@$(WITH_DYNAMODB) go test -short ./...

# With the race detector, vet and staticcheck compile what the tests link.
check:
	@echo "== gofmt, vet, staticcheck, oncevet"
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	@go vet $(RACE) $(RACED)
	@$(PLAIN) vet ./infra/... $(PARTLY_RACED)
	@$(PLAIN) run $(AS_RACED) $(STATICCHECK) $$(go list $(RACED) | grep -vxF "$$(go list $(PARTLY_RACED))")
	@$(PLAIN) run $(STATICCHECK) ./infra/... $(PARTLY_RACED)
	@mkdir -p build && $(PLAIN) build -o build/oncevet ./cmd/once/cmd/oncevet && go vet $(RACE) -vettool=$(CURDIR)/build/oncevet ./examples/...

# Compiles all dependencies once more, so CI has a job of its own for it.
check-windows:
	@for module in . postgres tools local/sqslocal cmd/once; do GOOS=windows go -C $$module vet ./... || exit 1; done

mutants:
	@$(WITH_DYNAMODB) go -C proof run ./cmd/mutants

# Eight times the histories of make test.
torture:
	@$(WITH_DYNAMODB) env ONCE_HISTORIES=2400 go -C proof test -count=1 -timeout 60m -v ./linearizability

# Writes docs/performance.md and its plots, in about 25 minutes. The machine should be idle.
# A short round warms up the servers. All results are in build/bench.txt, for benchstat.
bench:
	@mkdir -p build && go -C proof test -vet=off -c -o $(CURDIR)/build/bench.test ./bench
	@cd proof/bench && go run ../../local/cmd/dynamodblocal -- go run ../../local/cmd/postgreslocal -- sh -c '\
		../../build/bench.test -test.short -test.bench . -test.benchtime 50x -test.run "^$$" >/dev/null && \
		for round in 1 2 3; do ../../build/bench.test -test.bench . -test.run "^$$" -test.timeout 1h || exit 1; done' \
		>$(CURDIR)/build/bench.txt
	@go -C proof test -count=1 ./bench -args -results $(CURDIR)/build/bench.txt
	@sed -n '/^| what /,$$p' docs/performance.md

bench-compare:
	@go run $(BENCHSTAT) $(OLD) $(NEW)

# The version at which the modules require each other, here, in each go.mod and in docs.
version:
	@go -C proof run ./cmd/release version $(VERSION)

# "go mod tidy" ignores go.work, and would not find our own modules.
tidy:
	@go -C proof run ./cmd/release tidy

# Uses the modules from empty folders, through a module proxy on disk. CI does it in a
# short form.
release-check:
	@go -C proof run ./cmd/release check

# The operator's command for every system, in build/release.
binaries:
	@mkdir -p build/release
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		os=$${target%/*}; arch=$${target#*/}; ending=; [ $$os != windows ] || ending=.exe; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -C cmd/once -trimpath -ldflags '-s -w' \
			-o $(CURDIR)/build/release/once-$$os-$$arch$$ending . || exit 1; \
	done
	@ls build/release

# They run elsewhere, so this is all that finds their mistakes here.
workflows:
	@go run $(ACTIONLINT) .github/workflows/*.yml

# FUZZTIME for each target.
fuzz:
	@for target in FuzzCanonicalEquality FuzzCanonicalIdempotent; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./internal/canonical || exit 1; done
	@for target in FuzzCanonical FuzzSelection; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./internal/jmespath || exit 1; done
	@go test -run '^$$' -fuzz '^FuzzCanonicalText$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./idempotent/powertools
	@go test -run '^$$' -fuzz '^FuzzPreimage$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./idempotent/internal/ids
	@go test -run '^$$' -fuzz '^FuzzOpen$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./idempotent/seal
	@go test -run '^$$' -fuzz '^FuzzBatchEvent$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./handlers
	@go test -run '^$$' -fuzz '^FuzzOutbox$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./handlers/relay
	@go test -run '^$$' -fuzz '^FuzzDurable$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./handlers/durablefunc
	@for target in FuzzHTTPKey FuzzHTTPEvent FuzzResumedRequest; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./handlers/httpapi || exit 1; done
	@for target in FuzzDecode FuzzResult; do \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./dynamo/internal/recorditem || exit 1; done

# One folder a function: build/<function>/bootstrap.zip, for provided.al2023 on ARCH.
build:
	@for main in examples/*/main.go; do \
		name=$$(basename $$(dirname $$main)); mkdir -p build/$$name; \
		$(call compile,$$name,$(CURDIR)/build/$$name/bootstrap) || exit 1; \
		go run ./local/cmd/lambdazip build/$$name/bootstrap.zip build/$$name/bootstrap || exit 1; \
		ls -l build/$$name/bootstrap.zip; done

# The pages as a static site, with one page to print, in build/site/.vitepress/dist. Needs
# Node, and npm's registry.
site:
	@rm -rf build/site && mkdir -p build && cp -R docs build/site
	@cd build/site && npm install --no-save --no-audit --no-fund vitepress@1.6.4 vitepress-plugin-mermaid@2.0.17 mermaid@11.17.2
	@cd build/site && npx vitepress build

# The CDK app without the CDK's command line, which only deploying needs.
synth: build
	@rm -rf build/cdk.out
	@cd infra && CDK_OUTDIR=$(CURDIR)/build/cdk.out go run ./cmd/examples
	@ls build/cdk.out/*.template.json

# What SAM calls for a function of template.yaml, with ARTIFACTS_DIR.
build-PaymentsFunction:
	@$(call artifact,payments)

build-OrdersFunction:
	@$(call artifact,orders)

build-TransferFunction:
	@$(call artifact,transfer)

build-SharedFunction:
	@$(call artifact,shared)

build-CheckoutFunction:
	@$(call artifact,checkout)

build-RefundsFunction:
	@$(call artifact,refunds)

build-RelayFunction:
	@$(call artifact,relay)
