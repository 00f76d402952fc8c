# Short names for the everyday commands; CMake does the work (see CMakePresets.json).
# Each first installs what is missing: silent and instant when nothing is.
.NOTPARALLEL:
.PHONY: build demo test check-long bench fuzz format lint install clean deps deps-long deps-bench deps-lint

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local

build: deps
	@tools/build release heed

# The built-in example: trains a translator within a minute and talks with you.
demo: build
	@build/heed demo

test: deps
	@tools/build release
	@tools/build asan
	@tools/run-tests release asan

check-long: deps-long
	@for preset in release debug asan tsan clang; do tools/build $$preset || exit 1; done
	@tools/run-tests release debug asan tsan clang
	@HEED_KILLS=100 build/cli_test --gtest_filter='*Training.Killed*'
	@tools/check-demo build/heed
	@tools/check-memory build/heed
	@$(MAKE) --no-print-directory lint fuzz bench

bench: deps-bench
	@tools/build bench
	@tools/run-benchmarks build-bench

fuzz: deps-long
	@tools/build fuzz fuzzers
	@tools/run-fuzzers build-fuzz $(FUZZ_SECONDS)

format: deps-lint
	@files=$$(tools/sources) && clang-format-14 -i $$files

lint: deps-lint
	@tools/lint

install: build
	@cmake --install build --prefix $(PREFIX)

clean:
	@rm -rf build build-asan build-bench build-clang build-debug build-fuzz build-lint build-tsan

deps:
	@tools/install-deps build
deps-long:
	@tools/install-deps build bench lint long
deps-bench:
	@tools/install-deps build bench
deps-lint:
	@tools/install-deps build bench lint
export JOBS
