# Everything here finds out first what is missing on this machine, and installs
# it where it may; see tools/need.

.DEFAULT_GOAL := help
SHELL := /bin/bash
export CARGO ?= cargo

# The demo's server (a program's path), and `no` to drain without the module.
SERVER ?=
MODULE ?= yes
# Part of a test's name: only tests with that in it.
TEST ?=
# Arguments for the benchmark, and whom to ask.
BENCH ?=
URL ?= redis://127.0.0.1/
# Where `make install` puts the module, and what stands in front of that while a
# package is made.
PREFIX ?= /usr
DESTDIR ?=

# The path as it is: a server may read from its own name what it is.
demo_arguments = $(if $(SERVER),--server '$(SERVER)') $(if $(filter no,$(MODULE)),--no-module)

.PHONY: help demo test build lint servers bench doctor deb install

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: ## fill a Redis until it refuses, and drain it (SERVER=path, MODULE=no)
	@tools/need rust compiler libclang $(if $(SERVER),,server)
	@tools/build --quiet
	@$(CARGO) run --release --quiet --package wurk-demo -- $(demo_arguments)

test: ## all tests, on every server that is there (TEST='part of a name')
	@tools/need rust compiler libclang server $(if $(wildcard $(or $(WURK_SERVERS),target/servers)/valkey-9.1),valgrind)
	$(CARGO) build --package wurk-client --features doctor --bins --examples
	$(CARGO) test --workspace --features wurk-client/doctor $(if $(TEST),-- '$(TEST)')

build: ## the module, as target/release/libwurk.so
	@tools/need rust compiler libclang
	@tools/build

lint: ## formatting, clippy and docs, warnings are errors
	@tools/need rust compiler libclang clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --workspace --no-deps --document-private-items --all-features

servers: ## the servers that the tests run on, into target/servers
	@tools/servers

bench: ## what a claim costs, side by side with all else (BENCH='--help')
	@tools/need rust compiler libclang server
	@tools/build --quiet
	@$(CARGO) run --release --quiet --package wurk-bench -- $(BENCH)

doctor: ## ask a server whether it would let its workers go on (URL=redis://...)
	@tools/need rust compiler
	@$(CARGO) run --release --quiet --package wurk-client --features doctor --bin wurk-doctor -- '$(URL)'

deb: build ## a package for Debian 12 and newer, in target/debian
	@tools/need rust deb
	install -D -m 755 target/release/libwurk.so target/debian/wurk.so
	$(CARGO) deb --no-build --package wurk --output target/debian
	tools/check-deb

# Built as who you are, installed as root: `make build && sudo make install`.
target/release/libwurk.so: Cargo.toml Cargo.lock .cargo/config.toml $(shell find src build.rs)
	@[ -z "$$SUDO_USER" ] || { echo "$@ is older than its source or missing: run 'make build' as $$SUDO_USER first" >&2; exit 1; }
	@$(MAKE) --no-print-directory build

install: target/release/libwurk.so ## the module, into PREFIX/lib/redis/modules (DESTDIR= for packages)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' tools/install
