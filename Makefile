# make demo   the main job, on parts that this machine starts for itself (make demo APPROVE=ask waits for you)
# make test   all tests, on the same parts
# Both set up what they need first and say what they do; see setup.
# make test-fast   the tests that need no control plane and no containers: no root, no setup

CARGO ?= cargo
BIN = $(shell $(CARGO) metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug

.PHONY: demo demo-down test test-fast lint crds bench fuzz setup build

demo: setup build
	@$(BIN)/demo up $(if $(filter ask,$(APPROVE)),--ask)

demo-down:
	@test ! -d target/demo || { test -x $(BIN)/demo || $(CARGO) build --quiet --package testbed --bins; $(BIN)/demo down; }

test: setup build
	@tests/slowest.sh $(CARGO) test --workspace --no-fail-fast

# Units of all crates, the classifier's tables, the agent against the scripted model, the layout. With cargo-nextest
# when it is installed, which runs them side by side.
test-fast:
	@if $(CARGO) nextest --version >/dev/null 2>&1; then run='nextest run'; else run=test; fi; \
	$(CARGO) $$run --workspace --lib --test layout --test agent --test taxonomy --test scripted_model --no-fail-fast

# The same checks as .ci/run makes before the tests.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# Writes crds/ from src/api; a test fails when they differ.
crds:
	$(CARGO) run --quiet -- crds --dir crds

bench:
	$(CARGO) bench -p oikos-risk

# Random texts for the classifier, for FUZZ_SECONDS (60).
fuzz:
	@fuzz/run.sh

# Packages; the control plane and the container template, kept in ~/.cache/oikos; the Rust programs.
setup:
	@tests/setup.sh

build:
	$(CARGO) build --workspace --bins
