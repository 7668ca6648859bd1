# SPDX-License-Identifier: MIT
# baton. `make help` lists the targets.
#
# Yours: CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS; PREFIX, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DESTDIR;
# V=1 shows the commands; WERROR=1 (or CI set) makes warnings errors; T='name ...' tests
# test_name.c alone, and TEST_ARGS='--filter suite/name*' some of its tests;
# BENCH_ARGS='--only W2' for the benchmark.

# ---- The library's folders are its layers, lowest first: none includes a later one ----
FOLDERS := base thread future core hooks wait call executor queue pool timer module \
	mainloop admission inspect
# Programs: each above all layers.
PROGRAM_FOLDERS := top
# What libbaton-checked has above all layers.
CHECKING_FOLDERS := checked
# Libraries of their own beside libbaton, which need more than it does; they are above its folders.
BESIDE := redis
BESIDE_HEADERS := redis remote
# So are the broker's; the files at its top are above all folders.
BROKER_FOLDERS := mqtt common net session topic

# Checks that `make test` runs besides those below: names of targets.
EXTRA_CHECKS := check-shared check-deps \
	check-examples check-chat check-budget check-sim check-models check-mutants-quick \
	check-faults check-stress check-fuzz-corpus check-load check-commit check-admission \
	check-broker check-top check-redis check-sessions check-checked check-checked-examples \
	check-sanitizer check-probes

CC ?= cc
CXX ?= g++
CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
PREFIX ?= /usr/local
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/baton

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

Q := $(if $(filter-out 0,$(V)),,@)
comma := ,
say = $(if $(filter-out 0,$(V)),,@printf '  %-7s %s\n' '$1' '$2')

# ---- Version: include/baton/version.h holds it ----
version_part = $(shell awk '$$2 == "BATON_VERSION_$1" {print $$3}' include/baton/version.h)
MAJOR := $(call version_part,MAJOR)
MINOR := $(call version_part,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version_part,PATCH)
# Before 1.0 each minor version may break programs.
# The manual's date.
DATE := November 22, 2026
SOVERSION := $(if $(filter 0,$(MAJOR)),$(MAJOR).$(MINOR),$(MAJOR))

# ---- Flags ----
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla $(if $(filter-out 0,$(CI) $(WERROR)),-Werror)
BASE_FLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -Iinclude -MMD -MP -pthread
# -fexceptions: a task that is left by unwinding is found out (src/core/bracket.h).
# Probes for bpftrace (src/base/probe.h) where there is sys/sdt.h.
HAVE_SDT := $(shell echo '\#include <sys/sdt.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes)
LIB_FLAGS := $(BASE_FLAGS) -DBATON_BUILDING -iquote src -fPIC -fvisibility=hidden -fexceptions \
	$(if $(HAVE_SDT),,-DBATON_NO_PROBES)
# Tests may look into the library and the broker: their headers are found as "name.h".
BROKER_INCLUDE := -iquote examples/broker
# Their callbacks need not use all that they are given.
TEST_FLAGS := $(BASE_FLAGS) -Wno-unused-parameter -iquote src -iquote test/unit \
	-iquote test/admission $(BROKER_INCLUDE)

# Most of the time of a test is its compilation: it is hardly optimised, and has line numbers alone.
# Those that search or measure are optimised. What gcc guesses of lengths without optimising is
# wrong.
SEARCHES := test/stress/% test/admission/% test/redis/bench/%
quick = $(if $(filter $(SEARCHES),$1),,-Og -Wno-format-truncation -Wno-maybe-uninitialized) -g1
# Linked by gold where it is: there are hundreds, and it takes a third of the time.
GOLD = $(eval GOLD := $(shell $(CC) -fuse-ld=gold -Wl,--version >/dev/null 2>&1 && \
	echo -fuse-ld=gold))$(GOLD)

# Criterion does not start under ThreadSanitizer: there test/shim stands in for it.
SHIM := -isystem test/shim -Wno-pedantic
# Warnings that instrumentation brings about are no errors.
INSTRUMENTED := -O1 -g -fno-omit-frame-pointer -Wno-error
# One build for both sanitizers.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all

# Of Concurrency Kit's, what is not in its headers: ck_epoch, ck_hs (epoch.c, nameset.c).
LIBS := -lck

# ---- Files ----
SOURCES := $(wildcard $(FOLDERS:%=src/%/*.c))
HEADERS := $(sort $(filter-out $(BESIDE_HEADERS:%=include/baton/%.h),\
	$(wildcard include/*.h include/baton/*.h)))
TEST_FOLDERS := test/unit $(FOLDERS:%=test/unit/%) test/broker/unit
TESTS := $(patsubst %.c,%,$(sort $(wildcard \
	$(foreach t,$(or $(T),*),$(TEST_FOLDERS:%=%/test_$t.c)))))
TEST_SUPPORT := $(filter-out test/unit/test_%,$(wildcard test/unit/*.c test/support/*.c))
STRESS_SOURCES := $(wildcard test/stress/*.c)
BENCH_SOURCES := $(wildcard $(foreach d,test/bench test/bench/peers,$d/*.c $d/*.cc))
SHARED := build/libbaton.so.$(VERSION)
SHARED_LINKS := build/libbaton.so.$(SOVERSION) build/libbaton.so

# What is installed, and where to: install and uninstall both go by this list.
CMAKE_FILES := $(addprefix build/cmake/,baton-config.cmake baton-config-version.cmake)
MAN_PAGES = $(addprefix man,$(shell awk -v list=1 -f src/man/pages.awk -f src/man/text.awk \
	include/baton/*.h) $(foreach s,1 7,$(patsubst src/man/%,$s/%,$(wildcard src/man/*.$s))))
INSTALLED = $(foreach h,$(HEADERS),$h:$(h:include/%=$(INCLUDEDIR)/%)) \
	$(foreach f,build/libbaton.a $(SHARED) $(SHARED_LINKS),$f:$(f:build/%=$(LIBDIR)/%)) \
	build/baton.pc:$(LIBDIR)/pkgconfig/baton.pc $(TOP:build/%=build/%:$(BINDIR)/baton-top) \
	$(foreach f,$(CMAKE_FILES),$f:$(f:build/cmake/%=$(LIBDIR)/cmake/baton/%)) \
	src/gdb/baton-gdb.py:$(DATADIR)/baton-gdb.py \
	$(foreach f,$(wildcard src/bpftrace/*.bt),$f:$(DATADIR)/$(notdir $f)) \
	$(foreach f,$(MAN_PAGES),build/man/$f:$(MANDIR)/$f)

# ---- The products that are more than a folder of the library ----
include test/admission/admission.mk src/top/top.mk examples/broker/broker.mk \
	examples/examples.mk src/redis/redis.mk src/checked/checked.mk test/bench/bench.mk

# ---- Library ----
.PHONY: all
all: build/libbaton.a $(SHARED) $(SHARED_LINKS) build/baton.pc $(CMAKE_FILES) \
	build/man/made $(TOP) ## the libraries, baton.pc, the CMake files, the manual, baton-top

# Its threads, and what is called at a thread's end and in a fork, cannot be taken back: nodelete.
$(SHARED): $(SOURCES:%.c=build/%.o) src/baton.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,libbaton.so.$(SOVERSION) \
		-Wl,--version-script=src/baton.map -o $@ $(filter %.o,$^) $(LDFLAGS) $(LIBS) \
		-pthread

$(SHARED_LINKS): $(SHARED)
	$(Q)ln -sf $(<F) $@

build/baton.pc: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$(INCLUDEDIR)' 'libdir=$(LIBDIR)' '' \
		'Name: baton' 'Description: Work on resources, serialised without blocking' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
		'Libs: -L$${libdir} -lbaton -pthread' 'Libs.private: $(LIBS)' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# They lie in LIBDIR/cmake/baton.
build/cmake/%.cmake: src/cmake/%.cmake.in FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@SHARED@|$(notdir $(SHARED))|g' \
		-e 's|@SONAME@|libbaton.so.$(SOVERSION)|g' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' $< >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.PHONY: man html check-man
man: build/man/made ## the manual: man -M build/man baton
# Pages name the folders that are installed to.
MAN_FOLDERS := '$(DATADIR)' '$(CHECKEDDIR)'
build/man-folders: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo $(MAN_FOLDERS) >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/man/made: $(wildcard src/man/*) $(HEADERS) $(BESIDE_HEADERS:%=include/baton/%.h) Makefile \
		build/man-folders
	$(call say,MAN,$(@D))
	$(Q)src/man/make.sh $(@D) '$(VERSION)' '$(DATE)' $(MAN_FOLDERS)
	$(Q)touch $@

html: build/man/made | build/deps/test ## the manual as HTML: build/html/baton.7.html
	$(Q)src/man/html.sh build/man build/html

check-man: build/man/made html ## each function has a page; pages are well formed; no dead links
	$(Q)test/man.sh build/man build/html

# ---- What is the same in the plain build and in the instrumented ones ----
# $1: where its files go; $2: what it adds to compiling and linking; $3: what it adds to compiling
# tests; $4: what it adds to linking them; $5: further objects of each test.
# $6: objects of libbaton.a instead of the sources'.
define variant
# Changes when the compiler or its flags do, and then everything is built again; but not for
# `make install`, which takes what was built.
$1/flags: $(if $(filter install,$(MAKECMDGOALS)),,FORCE)
	$$(Q)mkdir -p $$(@D)
	$$(Q)echo '$$(CC) $$(CFLAGS) $$(LDFLAGS) $2 $$(LIB_FLAGS) $3' >$$@.new
	$$(Q)if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@; fi

$1/src/%.o: src/%.c $1/flags | build/deps/build
	$$(call say,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(LIB_FLAGS) $2 -c -o $$@ $$<

$1/libbaton.a: $(or $6,$(SOURCES:%.c=$1/%.o))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$1/redis/functions.o: build/redis/functions.c $1/flags
	$$(call say,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(LIB_FLAGS) $2 -c -o $$@ $$<

$(REDIS_SOURCES:%.c=$1/%.o): | build/deps/redis

$1/libbaton-redis.a: $(REDIS_SOURCES:%.c=$1/%.o) $1/redis/functions.o
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$1/test/%.o: test/%.c $1/flags | $(if $5,build/deps/build,build/deps/test)
	$$(call say,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(TEST_FLAGS) $2 $$(call quick,$$<) $3 -c -o $$@ $$<

# The examples see the public headers alone; the broker's own are found as "folder/name.h".
$1/examples/%.o: examples/%.c $1/flags | build/deps/build
	$$(call say,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(BASE_FLAGS) $(BROKER_INCLUDE) $2 -c -o $$@ $$<

# The Makefile: which ones.
$1/examples/broker/pure.a: $(BROKER_PURE:%=$1/examples/broker/%.o) Makefile
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$(filter %.o,$$^)

$(BROKER_TESTS:%=$1/%): $1/examples/broker/pure.a

$(RULES_TESTS:%=$1/%): $(RULES_MODEL:%.c=$1/%.o)

$(TESTS:%=$1/%): $1/%: $1/%.o $(TEST_SUPPORT:%.c=$1/%.o) $5 $1/libbaton.a
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS) $2 $$(GOLD) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) \
		$$(LDFLAGS) $$(LIBS) $4 -pthread

-include $(patsubst %,$1/%.d,$(SOURCES:%.c=%) $(REDIS_SOURCES:%.c=%) $(TESTS) \
	$(TEST_SUPPORT:%.c=%) \
	$(RULES_MODEL:%.c=%) test/shim/main) \
	$(BROKER_PURE:%=$1/examples/broker/%.d)
endef

$(eval $(call variant,build,,,-lcriterion,))
$(eval $(call variant,build/asan,$(INSTRUMENTED) $(ASAN),$(SHIM),-lm,build/asan/test/shim/main.o))
$(eval $(call variant,build/tsan,$(INSTRUMENTED) -fsanitize=thread,$(SHIM),-lm,\
	build/tsan/test/shim/main.o))
$(eval $(call variant,build/checked,-DBATON_CHECKED,-DBATON_TEST_SCALE=4,-lcriterion,,\
	$(SOURCES:%.c=build/checked/%.o) $(CHECKED_SOURCES:%.c=build/checked/%.o)))

# ---- Tests ----
.PHONY: test check check-asan check-tsan
STEPS := tidy check-headers check-readme check check-cxx check-symbols check-install check-man \
	check-asan check-tsan $(EXTRA_CHECKS)

test: | build/deps/build build/deps/test ## every check below; sets up what it needs
	$(Q)MAKE='$(MAKE)' test/all.sh $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) $(STEPS)

check: $(TESTS:%=build/%) ## the tests
	$(Q)TEST_ARGS='-j1 $(TEST_ARGS)' test/run.sh check $(sort $^)

check-asan: $(TESTS:%=build/asan/%) ## the tests under AddressSanitizer, leaks included, and UBSan
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-asan $(sort $^)

check-tsan: $(TESTS:%=build/tsan/%) ## the tests under ThreadSanitizer
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-tsan $(sort $^)

.PHONY: check-cxx check-headers check-symbols check-install check-readme check-shared check-deps
check-cxx: build/test/unit/cxx_smoke build/test/unit/cxx_unwinding ## headers in C++17; exceptions
	$(Q)timeout 60 build/test/unit/cxx_smoke
	$(Q)timeout 60 build/test/unit/cxx_unwinding

build/test/unit/cxx_%: test/unit/cxx_%.cc build/libbaton.a | build/deps/test
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS) -std=c++17 -Wall -Wextra -Wpedantic -Wold-style-cast -Werror \
		-Iinclude -MMD -MP \
		-o $@ $< build/libbaton.a $(LDFLAGS) $(LIBS) -pthread
-include build/test/unit/cxx_smoke.d build/test/unit/cxx_unwinding.d

check-headers: | build/deps/test ## each header compiles alone, as C11 and as C++17
	$(Q)CC='$(CC)' CXX='$(CXX)' test/headers.sh

check-symbols: $(SHARED) $(SHARED_LINKS) build/libbaton.a ## exported: what maps and headers say
	$(Q)CC='$(CC)' test/symbols.sh $(SHARED) build/libbaton.a
ifdef HAVE_REDIS
	$(Q)CC='$(CC)' test/symbols.sh $(REDIS_SHARED) build/libbaton-redis.a

check-symbols: $(REDIS_MADE)
endif

check-shared: $(SHARED) build/test/shared/dlclose build/test/shared/copies ## dlclose; two copies
	$(Q)timeout 60 build/test/shared/dlclose $(SHARED)
	$(Q)cp $(SHARED) build/test/shared/copy.so
	$(Q)timeout 60 build/test/shared/copies $(SHARED) build/test/shared/copy.so

build/test/shared/%: build/test/shared/%.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) -ldl -pthread
-include build/test/shared/dlclose.d build/test/shared/copies.d

check-deps: ## what is said where something is missing
	$(Q)test/deps.sh

check-readme: | build/deps/build ## the README's pieces of code compile
	$(Q)CC='$(CC)' test/readme/check.sh

check-install: all | build/deps/test ## install, build the README's example, uninstall
	$(Q)MAKE='$(MAKE)' CC='$(CC)' CXX='$(CXX)' test/install.sh

.PHONY: tidy tidy-format format
tidy: ## layers, lengths, ordering tags, names, tests of the headers' claims: what can be checked
	$(Q)test/tidy.sh
	$(Q)test/claims.sh

FORMATTED = $(shell find include src examples test -name '*.[ch]' -o -name '*.cc')
tidy-format: ## is everything formatted as clang-format would?
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

format: ## runs clang-format over everything
	$(Q)clang-format -i $(FORMATTED)

# ---- Beyond unit tests: explorer, models, mutants, faults, stress, fuzzing, coverage ----
include test/checks.mk test/fuzz/fuzz.mk

# ---- Installing ----
.PHONY: install uninstall
install: all ## to PREFIX (/usr/local), below DESTDIR
	$(Q)set -e; for pair in $(INSTALLED); do \
		from=$${pair%%:*}; to="$(DESTDIR)$${pair#*:}"; mkdir -p "$${to%/*}"; \
		if [ -h "$$from" ]; then ln -sf "$$(readlink "$$from")" "$$to"; \
		else install -m $$(case $$to in */bin/*) echo 755 ;; *) echo 644 ;; esac) \
			"$$from" "$$to"; fi; done

uninstall: ## the same list, backwards
	$(Q)set -e; for pair in $(INSTALLED); do rm -f "$(DESTDIR)$${pair#*:}"; done; \
		rmdir "$(DESTDIR)$(INCLUDEDIR)/baton" "$(DESTDIR)$(LIBDIR)/cmake/baton" \
			"$(DESTDIR)$(CHECKEDDIR)" "$(DESTDIR)$(TSANDIR)" "$(DESTDIR)$(DATADIR)" \
		2>/dev/null || true

# ---- What must be there before anything is built ----
# Targets that promise to work on a fresh machine install what they need; the others only say so.
INSTALLING := deps test check check-% demo demo-queue demo-sessions bench bench-quick \
	bench-short bench-plots bench-broker bench-remote bench-redis explore \
	stress% fuzz coverage
DEPS_MODE := $(if $(filter $(INSTALLING),$(MAKECMDGOALS)),--install,--check)

.PHONY: deps
deps: ## installs what the library, tests, demo and benchmark need (Debian, apt-get)
	$(Q)CC='$(CC)' CXX='$(CXX)' .ci/deps.sh $(DEPS_MODE) build test demo corpus \
		models fuzz coverage bench commit redis

# Looked at once; `make deps` looks again. One after the other: apt-get does not like company.
DEPS_GROUPS := build test demo corpus fuzz models coverage bench commit qemu redis
$(DEPS_GROUPS:%=build/deps/%): build/deps/%:
	$(Q)mkdir -p $(@D)
	$(Q)CC='$(CC)' CXX='$(CXX)' FUZZ_CC='$(FUZZ_CC)' flock build/deps \
		.ci/deps.sh $(DEPS_MODE) $* $(if $(filter bench,$*),|| echo 'Going on without.')
	$(Q)touch $@


.PHONY: clean help FORCE
clean: ## removes build/
	$(Q)rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@awk '/^# Yours/ {on = 1; print ""} !NF {on = 0} on {sub(/^#/, " "); print}' Makefile
