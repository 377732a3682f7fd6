# Everything here finds out first what is missing on this machine, and installs
# it where it may; see tools/need.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

# The demo's server (a program's path), and `no` to drain without the module.
SERVER ?=
MODULE ?= yes
# Arguments for the benchmark, and whom to ask.
BENCH ?=
URL ?= redis://127.0.0.1/
# Where `make install` puts the module.
PREFIX ?=

demo_arguments = $(if $(SERVER),--server $(abspath $(SERVER))) $(if $(filter no,$(MODULE)),--no-module)

.PHONY: help demo test build lint servers bench doctor deb install

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: ## fill a Redis until it refuses, and drain it (SERVER=path, MODULE=no)
	@tools/need compiler libclang server
	@$(CARGO) build --release --quiet --package wurk --package wurk-demo
	@target/release/wurk-demo $(demo_arguments)

test: ## all tests, on every server that is there
	@tools/need compiler libclang server $(if $(wildcard target/servers/valkey-9.1),valgrind)
	$(CARGO) build --package wurk-client --features doctor --bins --examples
	$(CARGO) test --workspace --features wurk-client/doctor

build: ## the module, as target/release/libwurk.so
	@tools/need compiler libclang
	$(CARGO) build --release --package wurk

lint: ## formatting, clippy and docs, warnings are errors
	@tools/need compiler libclang clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --workspace --no-deps --document-private-items --all-features

servers: ## the servers that the tests run on, into target/servers
	@tools/need pip
	@tools/servers

bench: ## what a claim costs, side by side with all else (BENCH='--help')
	@tools/need compiler libclang server
	@$(CARGO) build --release --quiet --package wurk --package wurk-bench
	@target/release/wurk-bench $(BENCH)

doctor: ## ask a server whether it would let its workers go on (URL=redis://...)
	@$(CARGO) run --release --quiet --package wurk-client --features doctor --bin wurk-doctor -- '$(URL)'

deb: build ## a package for Debian 12 and newer, in target/debian
	@tools/need deb
	$(CARGO) deb --no-build --package wurk
	tools/check-deb

# Built as who you are, installed as root: `make build && sudo make install`.
target/release/libwurk.so: Cargo.toml Cargo.lock $(shell find src -name '*.rs')
	$(MAKE) build && touch $@

install: target/release/libwurk.so ## the module, to the server's folder or PREFIX/lib/redis/modules
	@folder=$(if $(PREFIX),$(PREFIX)/lib/redis/modules,/usr/lib/redis/modules); \
	install -D -m 755 target/release/libwurk.so "$$folder/wurk.so" && \
	echo "now put into the server's main configuration file, not an included one, for CONFIG REWRITE: loadmodule $$folder/wurk.so"
