# The checks of the project by name. `.ci/run` runs all of them on a minimal machine.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# Tools are pinned only here. Each is built with the installed Go.
GOLANGCI_LINT_VERSION := v2.15.0
BUF_VERSION := v1.50.0
PROTOC_GEN_GO_VERSION := v1.36.12
PROTOC_GEN_GO_GRPC_VERSION := v1.6.2
GRPCURL_VERSION := v1.9.4
TELEMETRYGEN_VERSION := v0.149.0
OTELCOL_VERSION := $(TELEMETRYGEN_VERSION)
DOCKER_COMPOSE_VERSION := v5.0.2
GOVULNCHECK_VERSION := v1.9.0

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rackfab/$(shell go env GOVERSION)
GOLANGCI_LINT := $(CACHE)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
BUF := $(CACHE)/buf-$(BUF_VERSION)/buf
PROTOC_GEN_GO := $(CACHE)/protoc-gen-go-$(PROTOC_GEN_GO_VERSION)/protoc-gen-go
PROTOC_GEN_GO_GRPC := $(CACHE)/protoc-gen-go-grpc-$(PROTOC_GEN_GO_GRPC_VERSION)/protoc-gen-go-grpc
GRPCURL := $(CACHE)/grpcurl-$(GRPCURL_VERSION)/grpcurl
TELEMETRYGEN := $(CACHE)/telemetrygen-$(TELEMETRYGEN_VERSION)/telemetrygen
OTELCOL := $(CACHE)/otelcol-$(OTELCOL_VERSION)/otelcol
DOCKER_COMPOSE := $(CACHE)/docker-compose-$(DOCKER_COMPOSE_VERSION)/docker-compose
export PATH := $(dir $(PROTOC_GEN_GO)):$(dir $(PROTOC_GEN_GO_GRPC)):$(PATH)

# Each of some 35 fuzz targets runs that long, one per core at the same time. FUZZTIME=3s and
# FUZZTIME=10m are the shorter and the longer run.
FUZZTIME ?= 20s
# Command that fuzzes one target: FUZZ TIME FOLDER TARGET.
FUZZ := .ci/fuzz
# Timeout of a package's tests: those of e2e take minutes, and longer on two shared cores.
TESTTIME := 60m

# What make builds builds. CI builds one of each foreign system: all six take some 20 minutes of CPU time.
SYSTEMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build test race portable builds reproducible vulnerabilities lint generate release verify fuzz bench profile tools grpcurl telemetrygen otelcol docker-compose ci

build: ## build bin/rackfab
	CGO_ENABLED=0 go build -trimpath -o bin/rackfab ./cmd/rackfab

test:
	go test ./... -timeout $(TESTTIME)

race: ## packages with goroutines; fabric has none (fabric/arch_test.go), studies and examples only run it, imports, kubernetes and docs read and write text, e2e builds a program with the detector itself
	go test -race -short -timeout $(TESTTIME) $$(go list ./... | grep -v -e /fabric -e /study -e /kubernetes -e /docs -e /examples -e /imports -e /e2e)

portable: ## check types and go vet for Linux, macOS and Windows, on amd64 and arm64
	RACKFAB_SLOW=1 go test ./cmd/rackfab -run '^TestOtherSystemsCompile$$' -v

builds: ## build the command for SYSTEMS: Linux, macOS and Windows, on amd64 and arm64
	@for system in $(SYSTEMS); do echo "$$system"; \
	CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} go build -o /dev/null ./cmd/rackfab; done

reproducible: ## check that a build in another folder, with an empty cache, has the same bytes
	@dir=$$(mktemp -d); trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT; mkdir -p "$$dir/another/place"; \
	git ls-files -zco --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$$dir/another/place"; \
	export CGO_ENABLED=0; \
	go build -trimpath -buildvcs=false -o "$$dir/here" ./cmd/rackfab; \
	GOCACHE="$$dir/cache" go build -C "$$dir/another/place" -trimpath -buildvcs=false -o "$$dir/there" ./cmd/rackfab; \
	sha256sum "$$dir/here" "$$dir/there"; cmp "$$dir/here" "$$dir/there"

# The database, vuln.go.dev, is not reachable everywhere.
vulnerabilities: ## check the modules of the binary against the vulnerability database of Go; skip if it cannot be reached
	@status=0; out=$$(go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./cmd/rackfab 2>&1) || status=$$?; echo "$$out"; \
	if [ $$status -ne 0 ] && grep -qE 'fetching|vuln.go.dev' <<<"$$out" && ! grep -q '^Vulnerability #' <<<"$$out"; then \
		echo "SKIPPED: the vulnerability database, vuln.go.dev, cannot be reached from here"; exit 0; fi; exit $$status

lint: $(GOLANGCI_LINT)
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run ./...

generate: $(BUF) $(PROTOC_GEN_GO) $(PROTOC_GEN_GO_GRPC) ## write all generated files
	$(BUF) generate
	go generate ./...
	go run ./docs/internal/requirements

release: $(BUF) ## record the present API, which later versions must not break
	$(BUF) build -o proto/released.binpb

# Regenerates everything in a copy of the tree and compares.
verify: $(BUF) ## check that the committed files equal the generated ones
	go mod tidy -diff
	$(BUF) lint
	$(BUF) breaking --against proto/released.binpb
	go run ./docs/internal/requirements -check
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; mkdir "$$copy/have"; \
	git ls-files -zco --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$$copy/have"; \
	cp -r "$$copy/have" "$$copy/want"; \
	find "$$copy/want" -name '*.pb.go' -delete; \
	$(MAKE) -C "$$copy/want" generate; \
	diff -r "$$copy/have" "$$copy/want"

fuzz: ## run every fuzz target for FUZZTIME, one per core
	@grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | sed -E 's|^(.*)/[^/]*:func (.*)|\1 \2|' | \
	xargs -P "$$(nproc)" -L 1 $(FUZZ) $(FUZZTIME)

bench: ## run racks of several sizes, in memory on one core and on several, and over NATS; print the machine and the figures
	@uname -srm; nproc; go version
	go test ./cores -pgo cmd/rackfab/default.pgo -run '^$$' -bench Racks -benchtime 1x
	go test ./e2e -run '^$$' -bench Goals -benchtime 1x

profile: ## renew the profile by which `go build` optimises bin/rackfab: all schemes on the paper's rack, and large racks
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	go test ./fabric/lab -run '^$$' -bench PaperRack -benchtime 10x -o "$$dir/lab.test" -cpuprofile "$$dir/lab"; \
	go test ./cores -run '^$$' -bench '/^(star|hadoop|leaf-spine|fat-tree)/cores=1' -benchtime 1x -o "$$dir/cores.test" -cpuprofile "$$dir/cores"; \
	go tool pprof -proto "$$dir/lab" "$$dir/cores" > cmd/rackfab/default.pgo

tools: $(GOLANGCI_LINT) $(BUF) $(PROTOC_GEN_GO) $(PROTOC_GEN_GO_GRPC) $(GRPCURL) $(TELEMETRYGEN) $(OTELCOL) $(DOCKER_COMPOSE) ## build the pinned tools into the user's cache

grpcurl: $(GRPCURL) ## print the path of grpcurl: RACKFAB_GRPCURL=$$(make -s grpcurl) go test -run Grpcurl ./e2e
	@echo $(GRPCURL)

telemetrygen: $(TELEMETRYGEN) ## print the path of telemetrygen: RACKFAB_TELEMETRYGEN=$$(make -s telemetrygen) go test -run StockClient ./e2e
	@echo $(TELEMETRYGEN)

otelcol: $(OTELCOL) ## print the path of the OpenTelemetry Collector: RACKFAB_OTELCOL=$$(make -s otelcol) go test -run StockCollector ./e2e
	@echo $(OTELCOL)

docker-compose: $(DOCKER_COMPOSE) ## print the path of the plugin of `docker compose`
	@echo $(DOCKER_COMPOSE)

ci:
	bash .ci/run

$(GOLANGCI_LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(BUF):
	GOBIN=$(@D) go install github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)

$(PROTOC_GEN_GO):
	GOBIN=$(@D) go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)

$(PROTOC_GEN_GO_GRPC):
	GOBIN=$(@D) go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@$(PROTOC_GEN_GO_GRPC_VERSION)

$(TELEMETRYGEN):
	GOBIN=$(@D) go install github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen@$(TELEMETRYGEN_VERSION)

# The builder of the OpenTelemetry project generates a collector with an OTLP receiver and two exporters.
define OTELCOL_PARTS
dist: {name: otelcol, output_path: $(dir $(OTELCOL))}
receivers: [{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $(OTELCOL_VERSION)}]
exporters:
  - {gomod: go.opentelemetry.io/collector/exporter/debugexporter $(OTELCOL_VERSION)}
  - {gomod: go.opentelemetry.io/collector/exporter/otlpexporter $(OTELCOL_VERSION)}
endef
export OTELCOL_PARTS

$(OTELCOL):
	mkdir -p $(@D)
	echo "$$OTELCOL_PARTS" >$(@D)/parts.yaml
	go run go.opentelemetry.io/collector/cmd/builder@$(OTELCOL_VERSION) --config $(@D)/parts.yaml --skip-compilation
	go build -C $(@D) -o $@

$(GRPCURL):
	GOBIN=$(@D) go install github.com/fullstorydev/grpcurl/cmd/grpcurl@$(GRPCURL_VERSION)

$(DOCKER_COMPOSE):
	GOBIN=$(@D) go install github.com/docker/compose/v5/cmd@$(DOCKER_COMPOSE_VERSION)
	mv $(@D)/cmd $@
