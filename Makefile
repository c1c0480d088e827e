# SPDX-License-Identifier: Apache-2.0
# What a person types. meson and ninja do the work; tools/ holds the scripts.
#
#   make              build/cloche
#   make demo         a two-minute tour in a scratch project
#   make check        lint, unit tests and a choice of live ones: under 2 minutes
#   make test         everything that must hold, as root and as a user
#   make stats        lines of each folder, and what it may have
#   make check-long   the same with the long runs (an hour or so)
#   make check-kernel verify on Debian's kernel, under qemu (some minutes)
#   make bench        start-up time against other sandboxes
#   make node-package, make python-package
#                     the bindings as files for npm and pip, in build/
#   make install      PREFIX=/usr/local, DESTDIR= for packagers
#   make deb          Debian packages, in build/packages
#   make tarball      programs for any Linux, in build/packages
#   make sbom         what it is made of (SPDX), in build/packages
#   make check-packages   install them in a fresh Debian; build them twice
#   make format       clang-format over our own files
#   make clean        remove the build directories

BUILD	?= build
PREFIX	?= /usr/local
DESTDIR	?=

# tools/setup repeats it after the command that installs what is missing
export GOALS := $(MAKECMDGOALS)

.PHONY: all programs everything check demo stats test check-long check-kernel bench install node-package \
	python-package deb tarball sbom check-packages format clean setup

all: programs
	@tools/next-step built '$(BUILD)' '$(PREFIX)'

programs: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(NINJAFLAGS) $$(tools/installed-targets $(BUILD))

# Tests and benchmarks as well
everything: programs
	@ninja -C $(BUILD) $(NINJAFLAGS)

setup:
	@tools/setup build

$(BUILD)/build.ninja: | setup
	@meson setup --prefix '$(PREFIX)' $(BUILD) >/dev/null

demo: NINJAFLAGS = --quiet
demo: programs
	@tools/demo $(BUILD)/cloche

stats:
	@tools/check-layers --stats

check:
	@tools/setup build test
	@$(MAKE) --no-print-directory everything NINJAFLAGS=--quiet
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --quiet \
		--suite lint --suite unit --suite fuzz-corpus --suite check

test:
	@tools/setup build test
	@tools/test $(BUILD)

check-long:
	@tools/setup build test long
	@CLOCHE_LONG=1 tools/test $(BUILD)

check-kernel: everything
	@tools/setup build kernel
	@tests/kernel/run $(BUILD) tests/kernel/RESULTS.md

bench: everything
	@tools/setup build bench
	@bench/startup $(BUILD)

node-package: programs
	@tools/pack-node $(BUILD)

python-package: programs
	@tools/pack-python $(BUILD)

install:
	@tools/install $(BUILD) '$(PREFIX)' '$(DESTDIR)'

deb:
	@tools/setup build package
	@tools/make-deb $(BUILD)/packages

tarball:
	@tools/setup build
	@tools/make-tarball $(BUILD)/packages

sbom:
	@mkdir -p $(BUILD)/packages
	@tools/make-sbom >$(BUILD)/packages/sbom.spdx.json
	@echo $(BUILD)/packages/sbom.spdx.json

check-packages: deb
	@tools/setup check-packages
	@lintian --fail-on error,warning $(BUILD)/packages/*.deb
	@tools/check-deb $(BUILD)/packages
	@tools/check-reproducible

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan
