# Each target first installs what this machine lacks, or prints what to install; see
# tools/need.

.DEFAULT_GOAL := help
SHELL := /bin/bash
export CARGO ?= cargo

# The demo's server (the path of its program), `no` to drain without the module, and a
# queue library to show, by its name in docs/libraries.md.
SERVER ?=
MODULE ?= yes
LIBRARY ?=
# Part of a test's name: run only the tests whose names contain it.
TEST ?=
# Arguments for the benchmark, and the doctor's server.
BENCH ?=
URL ?= redis://127.0.0.1/
# Where `make install` puts the module, and the root it is staged under when a
# package is built.
PREFIX ?= /usr
DESTDIR ?=

# The path is not resolved: a server may decide by its own name what it is.
demo_arguments = $(if $(SERVER),--server '$(SERVER)') $(if $(filter no,$(MODULE)),--no-module) $(if $(LIBRARY),--library '$(LIBRARY)')

.PHONY: help demo test libraries build lint servers bench doctor deb install

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## fill a Redis until it refuses, and drain it (LIBRARY=celery, SERVER=path, MODULE=no)
	@tools/need rust compiler libclang $(if $(SERVER),,server)
	@$(if $(LIBRARY),tools/libraries '$(LIBRARY)' >&2)
	@tools/build --quiet
	@$(CARGO) run --release --quiet --package wurk-demo -- $(demo_arguments)

test: ## all tests, on every installed server (TEST='part of a name')
	@tools/need rust compiler libclang server $(if $(wildcard $(or $(WURK_SERVERS),target/servers)/valkey-9.1),valgrind)
	$(CARGO) build --package wurk-doctor
	$(CARGO) build --package wurk-client --examples
	$(CARGO) test --workspace $(if $(TEST),-- '$(TEST)')

libraries: ## queue libraries into target/libraries, and their tests in full size
	@tools/need rust compiler libclang server
	@tools/libraries
	WURK_LIBRARIES=full WURK_REQUIRE_LIBRARIES=all $(CARGO) test --test it -- libraries:: --test-threads 2 --nocapture

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

bench: ## what a claim costs, beside the alternatives (BENCH='--help')
	@tools/need rust compiler libclang server
	@tools/build --quiet
	@$(CARGO) build --release --quiet --package wurk-bench --example empty_filter
	@$(CARGO) run --release --quiet --package wurk-bench -- $(BENCH)

doctor: ## check whether a server's workers keep running when it is full (URL=redis://...)
	@tools/need rust compiler
	@$(CARGO) run --release --quiet --package wurk-doctor -- '$(URL)'

deb: build ## a package for Debian 12 and newer, in target/debian
	@tools/need rust deb
	$(CARGO) install --quiet --locked --no-track --force --path doctor --root target/debian
	install -D -m 755 target/release/libwurk.so target/debian/wurk.so
	$(CARGO) deb --no-build --package wurk --output target/debian
	tools/check-deb

# Built as who you are, installed as root: `make build && sudo make install`.
target/release/libwurk.so: Cargo.toml Cargo.lock .cargo/config.toml $(shell find src build.rs)
	@[ -z "$$SUDO_USER" ] || { echo "$@ is older than its source or missing: run 'make build' as $$SUDO_USER first" >&2; exit 1; }
	@$(MAKE) --no-print-directory build

install: target/release/libwurk.so ## the module, into PREFIX/lib/redis/modules (DESTDIR= for packages)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' tools/install
