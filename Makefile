# SPDX-License-Identifier: MIT
# baton. `make help` lists the targets.
#
# Yours: CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS; PREFIX, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DESTDIR;
# V=1 shows the commands; WERROR=1 (or CI set) makes warnings errors; T='name ...' tests
# test_name.c alone, and TEST_ARGS='--filter suite/name*' some of its tests;
# BENCH_ARGS='--only W2' for the benchmark.

# ---- The library's folders are its layers, lowest first: none includes a later one ----
FOLDERS := base thread future core hooks wait call executor queue pool timer module inspect
# Programs: each above all layers.
PROGRAM_FOLDERS := top
# What libbaton-checked has above all layers.
CHECKING_FOLDERS := checked
# Libraries of their own beside libbaton, below src/companion, lowest first; they are above its
# folders. Each has HEADERS_NAME in include/baton, and a .mk, which says what it needs.
COMPANIONS := mainloop admission redis
HEADERS_mainloop := mainloop
HEADERS_admission := admission rules
HEADERS_redis := redis redis_stats remote
# These need libbaton alone, and are tested with it.
PLAIN_COMPANIONS := mainloop admission
# So are the broker's; the files at its top are above all folders.
BROKER_FOLDERS := mqtt common store net session topic

CC ?= cc
CXX ?= g++
# CC=aarch64-linux-gnu-gcc has an ar of its own.
ifeq ($(origin AR),default)
AR := $(or $(shell command -v $(patsubst %-gcc,%-ar,$(filter %-gcc,$(lastword $(CC))))),ar)
endif
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
# What has neither a dot nor a slash in its name is no file.
.PHONY: FORCE $(shell grep -hoE '^[a-z-]+:' Makefile */*.mk */*/*.mk \
	*/*/*/*.mk | tr -d :)
MAKEFLAGS += --no-builtin-rules

Q := $(if $(filter-out 0,$(V)),,@)
say = $(if $(filter-out 0,$(V)),,@printf '  %-7s %s\n' '$1' '$2')
# Does the compiler find a header? $2, if given: and the linker these libraries, of its machine?
has = $(shell printf '\043include <$1>\nint main(void) {return 0;}\n' | \
	$(CC) $(if $2,$(CFLAGS) $(LDFLAGS),-E) -o /dev/null -x c - $2 >/dev/null 2>&1 && echo yes)

# Does the C++ compiler find Asio?
HAVE_ASIO := $(shell printf '\043if __has_include(<boost/asio.hpp>)\nyes\n\043endif\n' | \
	$(CXX) -E -P -x c++ - 2>/dev/null)
HAVE_STANDALONE_ASIO := $(shell printf '\043if __has_include(<asio.hpp>)\nyes\n\043endif\n' | \
	$(CXX) -E -P -x c++ - 2>/dev/null)

# ---- Version: include/baton/version.h holds it; the manual's date is that of the last commit ----
version_part = $(shell awk '$$2 == "BATON_VERSION_$1" {print $$3}' include/baton/version.h)
MAJOR := $(call version_part,MAJOR)
MINOR := $(call version_part,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version_part,PATCH)
# Before 1.0 each minor version may break programs.
SOVERSION := $(if $(filter 0,$(MAJOR)),$(MAJOR).$(MINOR),$(MAJOR))
# That touches what the manual is made of; without git, the day of the newest such file.
DATE = $(shell LC_ALL=C date -u '+%B %-d, %Y' -d "@$${SOURCE_DATE_EPOCH:-$$( \
	git log -1 --format=%ct -- include src/man 2>/dev/null | grep . || \
	stat -c %Y include/baton/*.h src/man/* | sort -n | tail -n 1)}")

# ---- Flags ----
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla $(if $(filter-out 0,$(CI) $(WERROR)),-Werror)
BASE_FLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -Iinclude -MMD -MP -pthread
# -fexceptions: a task that is left by unwinding is found out (src/core/bracket.h).
# Probes for bpftrace (src/base/probe.h) where there is sys/sdt.h.
LIB_FLAGS := $(BASE_FLAGS) -DBATON_BUILDING -iquote src -fPIC -fvisibility=hidden -fexceptions \
	$(if $(call has,sys/sdt.h),,-DBATON_NO_PROBES)
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

# Of Concurrency Kit's, what is not in its headers: ck_epoch, ck_hs (epoch.c, nameset.c).
LIBS := -lck

# ---- Variants: folders below which everything is compiled in its own way ----
# FLAGS_VARIANT are added to compiling and linking; TEST_FLAGS_, TEST_LIBS_, TEST_OBJECTS_ to tests.
VARIANTS := build build/asan build/tsan build/checked build/qemu build/musl build/coverage
# Warnings that instrumentation brings about are no errors.
INSTRUMENTED := -O1 -g -fno-omit-frame-pointer -Wno-error
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all

# One build for both sanitizers.
FLAGS_build/asan := $(INSTRUMENTED) $(ASAN)
FLAGS_build/tsan := $(INSTRUMENTED) -fsanitize=thread
FLAGS_build/checked := -DBATON_CHECKED
FLAGS_build/qemu := -isystem build/arm64/include
FLAGS_build/musl := -isystem build/musl/root/include
# A program is compiled as ever, and linked to the checked library.
PROGRAM_OBJECTS_build/checked := build

TEST_LIBS_build := -lcriterion
TEST_LIBS_build/checked := -lcriterion
TEST_FLAGS_build/checked := -DBATON_TEST_SCALE=4
# Criterion does not start under ThreadSanitizer: there, and where it is not, test/shim stands in
# for it.
define shimmed
TEST_FLAGS_$1 := -isystem test/shim -Wno-pedantic
TEST_OBJECTS_$1 := $1/test/shim/main.o
TEST_LIBS_$1 := -lm
endef
$(foreach v,build/asan build/tsan build/qemu build/musl,$(eval $(call shimmed,$v)))
TEST_FLAGS_build/qemu += -DSHIM_TIMEOUT_SCALE=6 -DBATON_TEST_SCALE=20
TEST_LIBS_build/qemu += -Lbuild/arm64/lib
# The compiler's unwinder, which is glibc's, asks that libc for a function that musl lacks; nothing
# unwinds here.
TEST_LIBS_build/musl += -Lbuild/musl/root/lib -Wl,--defsym=_dl_find_object=0

FLAGS_build/coverage := -O0 -g --coverage -fprofile-update=atomic
TEST_FLAGS_build/coverage := -O0
TEST_LIBS_build/coverage := -lcriterion -Wl,--wrap=abort -Wl,--wrap=_exit
TEST_OBJECTS_build/coverage := build/coverage/test/shim/coverage.o

# ---- How things are made; a list with commas is given to these as $$(NAME) ----
# $1: flags; $2: another compiler.
define compile
$(call say,CC,$@)
$(Q)mkdir -p $(@D)
$(Q)$(or $2,$(CC) $(CFLAGS)) $1 -c -o $@ $<
endef

# Of objects and archives, by LINKER if a target has one. $1: further libraries; $2: flags.
LINKER :=
define link
$(call say,LD,$@)
$(Q)mkdir -p $(@D)
$(Q)$(or $(LINKER),$(CC) $(CFLAGS)) $2 -o $@ $(filter %.o %.simo,$^) $(filter %.a,$^) \
	$(LDFLAGS) $(if $(filter %.a %.simo,$^),$(LIBS)) $1 -pthread
endef

# Written anew only if it changes; by several makes at once, too. $1: a command that prints it.
define keep
$(Q)mkdir -p $(@D)
$(Q)new=$@.$$$$; $1 >$$new || { rm $$new; exit 1; }; \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
endef

PROGRAMS :=
# $(call program,NAME,SOURCES AND ARCHIVES,LIBRARIES,FLAGS,VARIANTS): VARIANT/NAME, in build alone
# where no variants are given.
define program_in
$1/$2: $(foreach f,$3,$(if $(filter %.a,$f),$1/$f,$(or $(PROGRAM_OBJECTS_$1),$1)/$(basename $f).o))
	$$(call link,$4,$$(FLAGS_$1) $5)
endef
program = $(foreach v,$(or $5,build),$(eval PROGRAMS += $v/$1) \
	$(eval $(call program_in,$v,$1,$2,$3,$4)))

# $(call archive,NAME,SOURCES,VARIANTS)
define archive_in
$1/$2: $(3:%.c=$1/%.o)
	$$(call say,AR,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$(filter %.o,$$^)
endef
archive = $(foreach v,$3,$(eval $(call archive_in,$v,$1,$2)))

# $(call shared,PATH,OBJECTS,MAP,FLAGS,LIBRARIES): PATH.so, its links and soname.
define shared_of
$1.so.$(VERSION): $2 $3
	$$(call link,$5,-shared $4 $$(shared_flags))
$1.so.$(SOVERSION) $1.so: $1.so.$(VERSION)
	$$(Q)ln -sf $$(<F) $$@
endef
shared_flags = -Wl,-soname,$(@F:%.$(VERSION)=%.$(SOVERSION)) \
	-Wl,--version-script=$(filter %.map,$^)
shared = $(eval $(call shared_of,$1,$2,$3,$4,$5))
shared_files = $1.so.$(VERSION) $1.so.$(SOVERSION) $1.so
# The library's threads, and what is called at a thread's end and in a fork, cannot be taken back.
NODELETE := -Wl,-z,nodelete

# $(call companion,NAME,SOURCES,LIBRARIES,COMPANIONS): libbaton-NAME, the archive in all variants.
# COMPANIONS: the ones that it uses. COMPANIONS_MADE are those that `all` makes.
companion = $(call archive,libbaton-$1.a,$2,$(VARIANTS))$(call shared,build/libbaton-$1,\
	$(2:%.c=build/%.o) $(4:%=build/libbaton-%.so) build/libbaton.so,src/companion/$1/$1.map,\
	$$(DEFINED),-Lbuild $(4:%=-lbaton-%) -lbaton $3)
DEFINED := -Wl,-z,defs
COMPANIONS_MADE :=
companion_made = $(foreach c,$1,build/libbaton-$c.a $(call shared_files,build/libbaton-$c))

# $(call needs,GROUP,SOURCES,VARIANTS): they are compiled once .ci/deps.sh has looked for GROUP.
needs = $(if $2,$(eval $(foreach v,$(or $3,build),$(2:%.c=$v/%.o)): | build/deps/$1))

# A check that needs what not every machine has. $1: a command that looks for it; $2: its name for
# the message; $3: the check.
define where
$(Q)if $1 >/dev/null; then $3; else echo '$@: skipped: no $2'; \
	mkdir -p build/results; echo 0 0 >build/results/$@; fi
endef

# ---- Files ----
SOURCES := $(wildcard $(FOLDERS:%=src/%/*.c))
# What tests look into, and link.
TESTED_SOURCES := $(SOURCES) $(wildcard $(PLAIN_COMPANIONS:%=src/companion/%/*.c))
TESTED := $(PLAIN_COMPANIONS:%=libbaton-%.a) libbaton.a
companion_headers = $(foreach c,$1,$(HEADERS_$c:%=include/baton/%.h))
HEADERS := $(sort $(filter-out $(call companion_headers,$(COMPANIONS)),\
	$(wildcard include/*.h include/baton/*.h)))
TEST_FOLDERS := test/unit $(addprefix test/unit/,$(notdir $(FOLDERS)) $(PLAIN_COMPANIONS)) \
	test/broker/unit
CXX_HEADERS := $(wildcard include/*.hpp include/baton/*.hpp)
TESTS := $(patsubst %.c,%,$(sort $(wildcard \
	$(foreach t,$(or $(T),*),$(TEST_FOLDERS:%=%/test_$t.c)))))
TEST_SUPPORT := $(filter-out test/unit/test_%,$(wildcard test/unit/*.c test/support/*.c))
SHARED := $(call shared_files,build/libbaton)

# What is installed, and where to: install and uninstall both go by this list.
PC_FILES = build/pkgconfig/baton.pc $(COMPANIONS_MADE:%=build/pkgconfig/baton-%.pc)
CMAKE_FILES = $(addprefix build/cmake/,baton-config.cmake baton-config-version.cmake \
	$(COMPANIONS_MADE:%=components/%.cmake))
MAN_PAGES = $(addprefix man,$(shell \
	awk -v list=1 $(patsubst %,-f src/man/%.awk,pages header types text errors) \
	include/baton/*.h) $(foreach s,1 7,$(patsubst src/man/%,$s/%,$(wildcard src/man/*.$s))) \
	$(patsubst include/baton/%.hpp,7/baton-cxx-%.7,$(filter-out %/callable.hpp,\
	$(filter include/baton/%,$(CXX_HEADERS)))))
EXAMPLES_OF_ONE_FILE := $(filter-out examples/minimq%,$(wildcard examples/check.h \
	examples/*.c examples/features/*.c examples/features/README.md examples/tutorial/*.c))
# $1: files; $2: the folder that they lie below; $3: the folder that they are installed below.
into = $(foreach f,$1,$f:$(f:$2/%=$3/%))
INSTALLED = $(call into,$(HEADERS) $(CXX_HEADERS),include,$(INCLUDEDIR)) \
	$(call into,$(TOP),build,$(BINDIR)) \
	$(call into,$(BATON_QUEUE),build/examples/queue,$(BINDIR)) \
	$(call into,$(call companion_headers,$(COMPANIONS_MADE)),include,$(INCLUDEDIR)) \
	$(call into,build/libbaton.a $(SHARED),build,$(LIBDIR)) \
	$(call into,$(call companion_made,$(COMPANIONS_MADE)),build,$(LIBDIR)) \
	$(call into,$(PC_FILES),build,$(LIBDIR)) \
	$(call into,$(CMAKE_FILES),build/cmake,$(LIBDIR)/cmake/baton) \
	$(call into,src/gdb/baton-gdb.py,src/gdb,$(DATADIR)) \
	$(call into,src/upgrade/to-0.3.sh,src/upgrade,$(DATADIR)) \
	$(call into,$(wildcard src/bpftrace/*.bt),src/bpftrace,$(DATADIR)) \
	$(call into,$(EXAMPLES_OF_ONE_FILE),examples,$(DATADIR)/examples) \
	$(call into,$(MAN_PAGES:%=build/man/%),build/man,$(MANDIR))

# ---- Library ----
all: build/libbaton.a $(SHARED) \
	build/man/made ## the libraries, their .pc and CMake files, the manual, the tools

$(call archive,libbaton.a,$(SOURCES),$(filter-out build/checked,$(VARIANTS)))
$(call shared,build/libbaton,$(SOURCES:%.c=build/%.o),src/baton.map,$$(NODELETE),$(LIBS))

# @NAME@ in FILE.in is the variable's value.
SUBSTITUTED := VERSION SOVERSION PREFIX INCLUDEDIR LIBDIR CHECKEDDIR TSANDIR LIBS REDIS_LIBS
substitute = sed $(foreach v,$(SUBSTITUTED),-e 's|@$v@|$(strip $($v))|g') $(@:build/%=src/%.in)
# Below ${prefix} where they are: a program may set it by --define-variable, or --define-prefix.
build/pkgconfig/%: FORCE
	$(call keep,$(substitute) | sed 's|^\([a-z]*\)=$(PREFIX)/|\1=$${prefix}/|')
build/cmake/%: FORCE
	$(call keep,$(substitute))

man: build/man/made ## the manual: man -M build/man baton
# Pages name the folders that are installed to.
MAN_WORDS = '$(VERSION)' '$(DATE)' '$(DATADIR)' '$(CHECKEDDIR)'
build/man-words: FORCE
	$(call keep,echo $(MAN_WORDS))

build/man/made: $(wildcard src/man/* include/baton/*.h include/baton/*.hpp examples/tutorial/*) \
	src/base/error.c test/faults/contract_rows.inc build/man-words
	$(call say,MAN,$(@D))
	$(Q)src/man/make.sh $(@D) $(MAN_WORDS)
	$(Q)touch $@

html: build/man/made | build/deps/test ## the manual as HTML: build/html/baton.7.html
	$(Q)src/man/html.sh build/man build/html

check-man: build/man/made html ## each function has a page; pages are well formed; no dead links
	$(Q)test/man.sh build/man build/html

# ---- The products that are more than a folder of the library; what goes beyond unit tests ----
include src/top/top.mk examples/broker/broker.mk \
	examples/examples.mk $(foreach c,$(COMPANIONS),src/companion/$c/$c.mk) \
	src/checked/checked.mk src/packaging/packaging.mk test/bench/bench.mk test/checks.mk \
	test/fuzz/fuzz.mk
all: $(TOP) $(BATON_QUEUE) $(PC_FILES) $(CMAKE_FILES) $(call companion_made,$(COMPANIONS_MADE))

# ---- What all variants have ----
define variant
# Changes when the compiler or its flags do, and then everything is built again; but not for
# `make install`, which takes what was built.
$1/flags: $(if $(filter install,$(MAKECMDGOALS)),,FORCE)
	$$(call keep,echo '$$(CC) $$(CFLAGS) $$(LDFLAGS) $$(FLAGS_$1) $$(LIB_FLAGS) \
		$$(TEST_FLAGS_$1)')

$1/src/%.o: src/%.c $1/flags | build/deps/build
	$$(call compile,$$(LIB_FLAGS) $$(FLAGS_$1))

# What is generated.
$1/redis/%.o: build/redis/%.c $1/flags
	$$(call compile,$$(LIB_FLAGS) $$(FLAGS_$1))

$1/test/%.o: test/%.c $1/flags | build/deps/$(if $(TEST_OBJECTS_$1),build,test)
	$$(call compile,$$(TEST_FLAGS) $$(FLAGS_$1) $$(call quick,$$<) $$(TEST_FLAGS_$1))

# The examples see the public headers alone; the broker's own are found as "folder/name.h".
$1/examples/%.o: examples/%.c $1/flags | build/deps/build
	$$(call compile,$$(BASE_FLAGS) $$(BROKER_INCLUDE) $$(FLAGS_$1))

$1/examples/%.o: examples/%.cc $1/flags | build/deps/build
	$$(call compile,-std=c++20 $$(CXX_WARNINGS) -Iinclude -MMD -MP -pthread $$(FLAGS_$1),\
		$$(CXX) $$(CXXFLAGS))

$(or $(TESTS:%=$1/%),$1/none): $1/%: $1/%.o $(TEST_SUPPORT:%.c=$1/%.o) $(TEST_OBJECTS_$1) \
		$(TESTED:%=$1/%)
	$$(call link,$$(TEST_LIBS_$1),$$(FLAGS_$1) $$(GOLD))
endef
$(foreach v,$(VARIANTS),$(eval $(call variant,$v)))

# What test_settings.c looks at: all structs by which a program sets something.
build/options.inc: test/options.awk $(wildcard include/baton/*.h) | build/deps/build
	$(Q)LC_ALL=C awk -f $< $(filter %.h,$^) >$@
$(VARIANTS:%=%/test/unit/core/test_settings.o) \
	build/semantic/test/unit/core/test_settings.o: build/options.inc

# What the compiler found to be included. Mutants have .d files, too, of no concern here.
MADE_BELOW := $(wildcard $(filter build/%,$(VARIANTS)) $(addprefix build/,src test examples redis \
	counts sim fuzz ablate))
-include $(if $(MADE_BELOW),$(shell find $(MADE_BELOW) -name '*.d'))

# ---- Tests ----
# Side by side, the long ones first. check-install makes the manual for other folders.
STEPS := check-asan check-tsan check check-mutants-quick check-redis check-broker check-models \
	check-sim check-top check-install+check-man check-faults check-sessions check-headers \
	check-fuzz-corpus check-checked-examples check-examples check-chat check-minimq \
	check-symbols check-abi check-budget check-commit check-sanitizer check-probes tidy \
	check-readme check-shared check-upgrade check-cxx check-deps check-load check-dist
# Alone: they search for so many seconds.
STEPS_ALONE := check-stress check-checked check-admission

test: | build/deps/build build/deps/test ## every check; sets up what it needs
	$(Q)MAKE='$(MAKE)' test/all.sh $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) \
		--first setup+built $(STEPS) --together $(STEPS_ALONE)

# Looked for before `built` is: its makefile asks which of these are there.
setup: | $(addprefix build/deps/,demo corpus models commit redis abi bench)

quick: | build/deps/build build/deps/test ## tidy, headers, unit tests, scenarios beside the change
	$(Q)MAKE='$(MAKE)' test/all.sh $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) \
		--first built-quick check check-changed tidy+check-headers --together
built-quick: $(TESTS:%=build/%) build/sim/sim

# What `make test` runs. In the sanitizers' builds that is not each program.
UNTESTED := build/asan/% build/tsan/% build/coverage/% build/bench/bench build/redis/bench \
	build/redis_bench/% $(foreach d,broker queue sessions,build/checked/examples/$d/%) \
	$(if $(HAVE_REDIS),,build/redis/% build/examples/queue/% build/examples/sessions/%) \
	$(if $(call has,sqlite3.h),,%/group_commit build/redis/tests)
built: all $(foreach v,build build/asan build/tsan,$(TESTS:%=$v/%) $v/stress/stress) \
	$(filter-out $(UNTESTED),$(PROGRAMS)) $(CHECKED_MADE) $(TSAN_MADE) build/bench/counts \
	build/sim/sim $(FUZZERS:%=build/fuzz/corpus_%) build/test/unit/cxx_smoke \
	build/test/unit/cxx_unwinding $(CXX_TESTS)

check: $(TESTS:%=build/%) ## the tests
	$(Q)TEST_ARGS='-j1 $(TEST_ARGS)' test/run.sh check $(sort $^)

check-asan: $(TESTS:%=build/asan/%) ## the tests under AddressSanitizer, leaks included, and UBSan
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-asan $(sort $^)

check-tsan: $(TESTS:%=build/tsan/%) ## the tests under ThreadSanitizer
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-tsan $(sort $^)

# The C++ headers' tests, each compiled in several ways: its flags, and the archives that it links.
# bare: without exceptions. clang, where it is: optimised.
CXX_WAYS := 17 asan tsan bare clang
CXX_FLAGS_17 := -std=c++17 $(HAVE_STANDALONE_ASIO:yes=-DBATON_ASIO_STANDALONE)
CXX_FLAGS_asan := -std=c++20 $(ASAN)
CXX_FLAGS_tsan := -std=c++20 -fsanitize=thread
CXX_FLAGS_bare := -std=c++2b -fno-exceptions
CXX_FLAGS_clang := -std=c++20 -O2
CXX_LIBS_asan := build/asan
CXX_LIBS_tsan := build/tsan
CXX_WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror
# gcc's alone.
CXX_ONLY_GCC = $(if $(findstring clang,$1),,-Wuseless-cast)
CLANGXX ?= clang++
HAVE_CLANGXX := $(shell command -v $(CLANGXX))
# asio: by two of the ways, since Asio takes long to compile: the standalone Asio, and Boost's.
CXX_FILES := callables futures modules coroutines
CXX_FILES_17 := callables futures modules $(if $(HAVE_STANDALONE_ASIO),asio)
CXX_FILES_asan := $(CXX_FILES) $(if $(HAVE_ASIO),asio)
CXX_TESTS = $(foreach w,$(filter-out $(if $(HAVE_CLANGXX),,clang),$(CXX_WAYS)),\
	$(foreach t,$(or $(CXX_FILES_$w),$(CXX_FILES)),build/cxx/$w/$t))

# $1: the way
define cxx_way
build/cxx/$1/%: test/unit/cxx_%.cc $(TESTED:%=$(or $(CXX_LIBS_$1),build)/%) | build/deps/test
	$$(call say,CXX,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(if $(filter clang,$1),$$(CLANGXX),$$(CXX)) $$(CXX_WARNINGS) -g1 $(CXX_FLAGS_$1) \
		$$(call CXX_ONLY_GCC,$(if $(filter clang,$1),clang,$$(CXX))) -Iinclude -MMD -MP \
		-o $$@ $$< $$(filter %.a,$$^) $$(LDFLAGS) $$(LIBS) -pthread
endef
$(foreach w,$(CXX_WAYS),$(eval $(call cxx_way,$w)))
-include $(wildcard build/cxx/*/*.d)

check-cxx: build/test/unit/cxx_smoke build/test/unit/cxx_unwinding \
		$(CXX_TESTS) ## the headers in C++17; exceptions; baton.hpp in C++17 to 23
	$(Q)timeout 300 build/test/unit/cxx_smoke
	$(Q)timeout 300 build/test/unit/cxx_unwinding
	$(Q)for program in $(CXX_TESTS); do timeout 300 $$program || exit 1; done

build/test/unit/cxx_%: test/unit/cxx_%.cc $(TESTED:%=build/%) | build/deps/test
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS) -std=c++17 -Wall -Wextra -Wpedantic -Wold-style-cast -Werror \
		-Iinclude -MMD -MP \
		-o $@ $< $(TESTED:%=build/%) $(LDFLAGS) $(LIBS) -pthread

check-headers: | build/deps/test ## each header compiles alone, as C11 and as C++17
	$(Q)CC='$(CC)' CXX='$(CXX)' test/headers.sh $(HEADERS)

check-symbols: all ## exported: what maps and headers say
	$(Q)for library in libbaton $(COMPANIONS_MADE:%=libbaton-%); do CC='$(CC)' \
		test/symbols.sh build/$$library.so.$(VERSION) build/$$library.a || exit 1; done

# Of the last release with this soname.
ABI_RELEASED := test/abi/$(SOVERSION).txt
ABI_LIBRARIES = build/libbaton.so $(COMPANIONS_MADE:%=build/libbaton-%.so)
NO_ABIDW := abidw (Debian: abigail-tools)
check-abi: all | build/deps/abi ## the binary interface: what the last release had is there
	$(call where,command -v abidw,$(NO_ABIDW),export CC='$(CC)' && \
		test/abi/check.sh $(VERSION) $(ABI_RELEASED) $(ABI_LIBRARIES) && \
		test/abi/selftest.sh $(VERSION) build)

abi-dump: all ## writes down the binary interface: at a release
	$(Q)CC='$(CC)' test/abi/check.sh --dump $(VERSION) $(ABI_RELEASED) $(ABI_LIBRARIES)

check-shared: $(SHARED) build/test/shared/dlclose build/test/shared/copies ## dlclose; two copies
	$(Q)timeout 300 build/test/shared/dlclose $<
	$(Q)cp $< build/test/shared/copy.so
	$(Q)timeout 300 build/test/shared/copies $< build/test/shared/copy.so

$(foreach p,dlclose copies,$(call program,test/shared/$p,test/shared/$p.c,-ldl))

check-deps: ## what is said where something is missing
	$(Q)test/deps.sh

check-readme: build/libbaton.a | build/deps/build ## the README's pieces of code run
	$(Q)CC='$(CC)' test/readme/check.sh $(EXAMPLES:build/%=%.c)

check-upgrade: | build/deps/build ## programs of 0.2: what changes does not compile; the script
	$(Q)CC='$(CC)' test/upgrade/forms.sh
	$(Q)test/upgrade/names.sh
	$(Q)CC='$(CC)' test/upgrade/check.sh

check-install: all | build/deps/test ## install, build the README's example, uninstall
	$(Q)MAKE='$(MAKE)' CC='$(CC)' CXX='$(CXX)' test/install/check.sh

tidy: ## layers, lengths, ordering tags, names, tests of the headers' claims: what can be checked
	$(Q)test/tidy.sh
	$(Q)test/tidy_selftest.sh
	$(Q)test/claims.sh
	$(Q)test/broker/musts.sh

# $1: a map; $2: the headers of its library.
define write_map
	$(Q)awk -f src/map.awk $1 $2 >build/map
	$(Q)cp build/map $1

endef
map: ## writes src/baton.map and the companions' anew: what the public headers declare
	$(call write_map,src/baton.map,$(filter include/baton/%,$(HEADERS)))
	$(foreach c,$(COMPANIONS),$(call write_map,src/companion/$c/$c.map,\
		$(call companion_headers,$c)))

FORMATTED = $(shell find include src examples test -name '*.[ch]' -o -name '*.cc' -o \
	-name '*.hpp')
tidy-format: ## is everything formatted as clang-format would?
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

format: ## runs clang-format over everything
	$(Q)clang-format -i $(FORMATTED)

# ---- Installing ----
install: all ## to PREFIX (/usr/local), below DESTDIR
	$(Q)set -e; for pair in $(INSTALLED); do \
		from=$${pair%%:*}; to="$(DESTDIR)$${pair#*:}"; mkdir -p "$${to%/*}"; \
		if [ -h "$$from" ]; then ln -sf "$$(readlink "$$from")" "$$to"; \
		else install -m $$(case $$to in */bin/* | *.sh) echo 755 ;; *) echo 644 ;; esac) \
			"$$from" "$$to"; fi; done

uninstall: ## the same list, backwards
	$(Q)set -e; for pair in $(INSTALLED); do rm -f "$(DESTDIR)$${pair#*:}"; done; \
		rmdir "$(DESTDIR)$(INCLUDEDIR)/baton" \
			"$(DESTDIR)$(LIBDIR)/cmake/baton/components" \
			"$(DESTDIR)$(LIBDIR)/cmake/baton" \
			"$(DESTDIR)$(CHECKEDDIR)" "$(DESTDIR)$(TSANDIR)" \
			"$(DESTDIR)$(DATADIR)"/examples/* "$(DESTDIR)$(DATADIR)/examples" \
			"$(DESTDIR)$(DATADIR)" \
		2>/dev/null || true

# ---- Source release ----
# Of the commit, not of what is changed since: the same wherever, and whenever, it is made.
DIST := build/baton-$(VERSION).tar.gz
dist: ## a tarball of the last commit: build/baton-VERSION.tar.gz
	$(Q)test -e .git || { echo 'dist: no git repository, which has the files'; exit 1; }
	$(Q)mkdir -p build
	$(Q)git -c tar.umask=0022 archive --format=tar --prefix=baton-$(VERSION)/ HEAD \
		>build/dist.tar
	$(Q)env -u GZIP gzip -9 -n <build/dist.tar >$(DIST) && rm build/dist.tar
	$(Q)git diff --quiet HEAD || echo 'dist: of the last commit, without what is changed since'
	@echo $(DIST)

# In the unpacked tree: all tests for deep-dist, some for check-dist.
DIST_TESTS := T='submit call future'
check-dist: | build/deps/test ## the tarball is reproducible, and passes some tests by itself
	$(call where,test -e .git,git repository,\
		MAKE='$(MAKE)' test/dist.sh $(VERSION) all check $(DIST_TESTS))

deep-dist: | build/deps/test ## the same with all unit tests
	$(call where,test -e .git,git repository,\
		MAKE='$(MAKE)' test/dist.sh $(VERSION) tidy all check)

# ---- What must be there before anything is built ----
# Targets that promise to work on a fresh machine install what they need; the others only say so.
INSTALLING := deps setup test quick check check-% demo demo-queue demo-sessions bench bench-quick \
	bench-short bench-plots bench-broker bench-remote bench-redis explore \
	stress% fuzz coverage
DEPS_MODE := $(if $(filter $(INSTALLING),$(MAKECMDGOALS)),--install,--check)

deps: ## installs what the library, tests, demo and benchmark need (Debian, apt-get)
	$(Q)CC='$(CC)' CXX='$(CXX)' .ci/deps.sh $(DEPS_MODE) $(filter-out qemu deb,$(DEPS_GROUPS))

# Looked at once; `make deps` looks again. One after the other: apt-get does not like company.
DEPS_GROUPS := build test demo corpus fuzz models coverage bench commit qemu redis abi deb
$(DEPS_GROUPS:%=build/deps/%): build/deps/%:
	$(Q)mkdir -p $(@D)
	$(Q)CC='$(CC)' CXX='$(CXX)' FUZZ_CC='$(FUZZ_CC)' flock build/deps \
		.ci/deps.sh $(DEPS_MODE) $* $(if $(filter bench abi,$*),|| echo 'Going on without.')
	$(Q)touch $@

clean: ## removes build/
	$(Q)rm -rf build

help: ## this list
	@awk '{line = line $$0} sub(/\\$$/, "", line) {next} \
		line ~ /^[a-z-]+:.*## / {split(line, part, /:.*## /); \
		printf "  %-18s %s\n", part[1], part[2]} {line = ""}' \
		$(filter %Makefile %.mk,$(MAKEFILE_LIST))
	@awk '/^# Yours/ {on = 1; print ""} !NF {on = 0} on {sub(/^#/, " "); print}' Makefile
