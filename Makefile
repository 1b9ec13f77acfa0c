# SPDX-License-Identifier: Apache-2.0
# A thin front for meson and ninja. `make help` lists what there is.
#
# build/        release            build/check   test hooks, musl programs
# build/asan    ASan + UBSan       build/clang   clang, warnings as errors       build/fuzz   libFuzzer
# build/vm      what the test machine boots from
# build/deb     the Debian package and its own build

BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
FUZZ_SECONDS ?= 30
RUNS ?= 200
SANDBOXES ?= 10000
SOAK_SECONDS ?= 600
export FUZZ_SECONDS

# Meson configures a folder once; ninja does it again by itself when a meson.build changes.
define configure
@test -f $(1)/build.ninja || { echo "configure $(1)"; mkdir -p $(1); \
        $(2) meson setup $(1) $(3) >$(1)/configure.log 2>&1 || { cat $(1)/configure.log; exit 1; }; }
endef

.PHONY: all help run demo test check check-style format tidy bench fuzz install uninstall deb clean
.PHONY: sdk test-images test-vm test-vm-small soak soak-long
.PHONY: build build-programs build-check build-asan build-clang build-deb build-fuzz

all: build

help:
	@echo "make              build into build/ (build/cay runs in place)"
	@echo "make run          install what is missing, build, start the daemon and say how to use it (Ctrl-C ends it)"
	@echo "make demo         the same for runs without a daemon: a few boxes at work"
	@echo "make test         install what is missing, run every test (plain and sanitizer build)"
	@echo "make test-images  builds images/sandbox on a Debian made here, and the Dockerfile on this machine's packages, and tries both"
	@echo "make test-vm      the tests on Debian's kernel with cgroup v2 alone, in qemu (test-vm-small: what CI runs of it)"
	@echo "make check-style  formatting, layers, headers that stand alone"
	@echo "make format       let clang-format decide"
	@echo "make tidy         clang-tidy over src/"
	@echo "make bench        cay against its peers, and which rows of the design hold (RUNS=$(RUNS) SANDBOXES=$(SANDBOXES) PARTS=…)"
	@echo "make soak         mixed load on a daemon for SOAK_SECONDS=$(SOAK_SECONDS) (soak-long: 100,000 sandboxes)"
	@echo "make fuzz         every fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS)"
	@echo "make sdk          the client libraries as packages, in build/sdk"
	@echo "make install      PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) DESTDIR=$(DESTDIR)"
	@echo "make uninstall    the same, removed"
	@echo "make deb          build/deb/cay_VERSION_ARCH.deb"
	@echo "make clean        remove build/"

build:
	@command -v meson >/dev/null || { echo "meson is missing: scripts/bootstrap installs it"; exit 1; }
	$(call configure,build,,)
	@ninja --quiet -C build

# The programs alone, without tests and benches; a terminal is shown how far it is.
build-programs:
	$(call configure,build,,)
	@if [ -t 1 ]; then NINJA_STATUS='build [%f/%t] ' ninja -C build programs; \
		else echo "build the programs (about a minute the first time)"; ninja --quiet -C build programs; fi

build-check:
	$(call configure,build/check,,-Dtest_hooks=true --werror)
	@ninja --quiet -C build/check

build-asan:
	$(call configure,build/asan,,-Dtest_hooks=true --werror -Dsmall=disabled -Dbuildtype=debug -Doptimization=1 \
		-Db_sanitize=address$(comma)undefined)
	@ninja --quiet -C build/asan

build-clang:
	$(call configure,build/clang,CC=clang,-Dtest_hooks=true --werror -Dsmall=disabled)
	@ninja --quiet -C build/clang

# What the test of the package builds, for it to find.
build-deb:
	@mkdir -p build/check/install
	@flock build/check/install packaging/make_deb build/check/install >/dev/null

build-fuzz:
	$(call configure,build/fuzz,CC=clang,-Dfuzz=true -Db_lundef=false -Doptimization=1)
	@ninja --quiet -C build/fuzz

comma := ,

# build/run keeps its data folder. The recipe becomes the daemon: Ctrl-C reaches it alone.
run:
	@scripts/bootstrap build
	@$(MAKE) --no-print-directory build-programs
	@exec scripts/run_daemon build

demo:
	@scripts/bootstrap build
	@$(MAKE) --no-print-directory build-programs
	@scripts/demo build

# What is built while the first tests run (CI adds build-deb and build-clang).
MEANWHILE := build-asan
test check:
	@scripts/bootstrap build check
	@$(MAKE) --no-print-directory build-check
	@scripts/run_tests $(MEANWHILE:%=--meanwhile %)

# build/vm keeps the kernel and the root file system.
test-vm:
	@scripts/bootstrap build check vm
	@$(MAKE) --no-print-directory build-check
	@scripts/test_vm all

# build/images keeps the Debian that the image is built on.
test-images:
	@scripts/bootstrap build check images
	@$(MAKE) --no-print-directory build-check
	@scripts/test_images build/check

test-vm-small:
	@scripts/bootstrap build check vm
	@$(MAKE) --no-print-directory build-check
	@scripts/test_vm small

check-style:
	@scripts/bootstrap build style
	@scripts/check_style

format:
	@find src tests tools bench examples -name '*.[ch]' -exec clang-format -i {} +
	@tools/wrap_text

tidy:
	@scripts/bootstrap build style
	@$(MAKE) --no-print-directory build-clang
	@scripts/run_tidy build/clang

# Client libraries, built and packed.
sdk:
	@python3 -B sdk/python/tools/backend.py build/sdk
	@sdk/typescript/tools/build build/sdk
	@ls build/sdk/*.tgz

bench:
	@scripts/bootstrap build bench
	@$(MAKE) --no-print-directory build
	@RUNS=$(RUNS) SANDBOXES=$(SANDBOXES) scripts/bench build $(PARTS)

# Needs root. `run_isolated` compares what the test has before and after.
soak:
	@scripts/bootstrap build
	@$(MAKE) --no-print-directory build
	@CAY_BUILD_DIR=$(CURDIR)/build build/tests/isolated/run_isolated \
		python3 tests/integration/serve/soak.py --seconds $(SOAK_SECONDS)

soak-long:
	@scripts/bootstrap build bench
	@$(MAKE) --no-print-directory build
	@build/bench/bench_daemon --only steady --sandboxes 100000 build

fuzz:
	@scripts/bootstrap build check
	@$(MAKE) --no-print-directory build-fuzz
	@scripts/run_fuzz build/fuzz

# The loader looks into a cache for what is in the system's own folders.
define refresh-loader
@case "$(DESTDIR)$(PREFIX)" in /usr|/usr/local) [ "$$(id -u)" -ne 0 ] || ldconfig ;; esac
endef

# The prefix is compiled into libcay, which finds its programs by it; another one compiles one file again.
install:
	@packaging/set_prefix $(BUILD) "$(PREFIX)" "$(LIBDIR)"
	@ninja --quiet -C $(BUILD) installed
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild --strip --quiet
	$(refresh-loader)

uninstall:
	@packaging/set_prefix $(BUILD) "$(PREFIX)" "$(LIBDIR)"
	@packaging/uninstall $(BUILD) "$(DESTDIR)"
	$(refresh-loader)

deb:
	@scripts/bootstrap build deb
	@packaging/make_deb build/deb

clean:
	rm -rf build
