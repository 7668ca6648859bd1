# SPDX-License-Identifier: MIT
# The benchmark beside its peers, and the counts of hot paths.
BENCH_SOURCES := $(wildcard $(foreach d,test/bench test/bench/peers,$d/*.c $d/*.cc))

# The peers are looked for when the benchmark is built, once; a missing one becomes a stub. Their
# headers are system headers: their warnings are not ours. PKG_CONFIG=false: without those it finds.
PKG_CONFIG ?= pkg-config
PEER_PACKAGES := tbb:TBB glib-2.0:GLIB libuv:UV liburcu-cds:URCU liburcu-memb:URCU_MEMB
peer_flags = $(foreach p,$(PEER_PACKAGES),$(shell $(PKG_CONFIG) --$1 $(word 1,$(subst :, ,$p)) \
	2>/dev/null || echo $2$(word 2,$(subst :, ,$p))))
PEER_FLAGS = $(eval PEER_FLAGS := $(patsubst -I%,-isystem %,$(call peer_flags,cflags,\
	-DBENCH_NO_)))$(PEER_FLAGS)
PEER_LIBS = $(filter-out NO_%,$(call peer_flags,libs,NO_))
BENCH_CXXFLAGS := -std=c++17 -D_GNU_SOURCE $(filter-out -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla,$(WARNINGS)) -Iinclude -MMD -MP -pthread

# Changes when a peer comes or goes, or the C++ compiler changes.
BENCH_ASKS := '\#if __has_include(<boost/asio.hpp>)\nasio\n\#endif\n'
BENCH_FLAGS = echo '$(CXX) $(CXXFLAGS) $(BENCH_CXXFLAGS) $(PEER_FLAGS) $(PEER_LIBS)' \
	"$$(printf $(BENCH_ASKS) | $(CXX) $(CXXFLAGS) -E -P -x c++ - 2>/dev/null)"
build/bench/flags: FORCE | build/deps/bench
	$(call keep,$(BENCH_FLAGS))

build/test/bench/%.o: test/bench/%.c build/flags build/bench/flags | build/deps/build
	$(call compile,$(TEST_FLAGS) $(PEER_FLAGS))

build/test/bench/%.o: test/bench/%.cc build/flags build/bench/flags | build/deps/build
	$(call say,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS) $(BENCH_CXXFLAGS) $(PEER_FLAGS) -c -o $@ $<

build/bench/bench: LINKER = $(CXX) $(CXXFLAGS)
$(call program,bench/bench,$(BENCH_SOURCES) $(TESTED),$$(PEER_LIBS) -lm)

BENCH = BATON_COMMIT="$$(git describe --always --dirty 2>/dev/null || echo unknown)" \
	build/bench/bench --json build/bench/figures.json --data build/bench/data $(BENCH_ARGS)
bench: build/bench/bench build/bench/counts ## the benchmark, against its peers in the same run
	$(Q)$(BENCH)

bench-quick: build/bench/bench build/bench/counts ## the same with shorter samples
	$(Q)$(BENCH) --quick

# What README.md quotes, with whole samples.
BENCH_SHORT := W1: one;one resource, 2 threads;Zipf 0.99, 2 threads;W5: idle;topics, 2 p;topics, 8 p
bench-short: build/bench/bench ## the tables that README.md quotes: two to three minutes
	$(Q)$(BENCH) --only '$(BENCH_SHORT)'

bench-age: ## how old the figures are that the READMEs quote; AGE_MAX=commits
	$(Q)test/bench/age.sh README.md test/bench/README.md examples/broker/README.md

bench-plots: | build/deps/bench ## pictures of the last run's figures: build/bench/plots/*.svg
	$(Q)test/bench/plots/plots.sh build/bench/data build/bench/plots

# ---- Counts: the library built with counting atomics; its libc calls go to the counters ----
COUNTS_SOURCES := $(wildcard test/bench/counts/*.c)
COUNTING := -DBATON_ATOMIC_BACKEND='"counting_atomic.h"' -iquote test/bench \
	-include counting_atomic.h
COUNTS_WRAP := $(foreach f,malloc calloc realloc aligned_alloc mmap syscall sched_yield eventfd \
	read write,-Wl,--wrap=$f)

build/counts/%.o: %.c build/flags | build/deps/build
	$(call compile,$(if $(filter src/%,$<),$(LIB_FLAGS),$(TEST_FLAGS)) $(COUNTING))

build/bench/counts: $(patsubst %.c,build/counts/%.o,$(TESTED_SOURCES) $(COUNTS_SOURCES))
	$(call link,$(LIBS) -lm,$(COUNTS_WRAP))

build/test/bench/cxx/%.o build/test/bench/w28_switch.o: BENCH_CXXFLAGS += -std=c++20
# Instructions are counted: none are to be there for an address alone.
build/test/bench/cxx/ways.o: BENCH_CXXFLAGS += -fno-align-labels -fno-align-jumps -fno-align-loops
build/bench/steps build/bench/allocations: LINKER = $(CXX) $(CXXFLAGS)
$(call program,bench/steps,test/bench/steps/main.c test/bench/cxx/ways.cc libbaton.a)
# Allocations of a C++ program, and of the library that it links.
ALLOCATIONS_WRAP := $(foreach f,malloc calloc realloc aligned_alloc mmap,-Wl,--wrap=$f)
$(call program,bench/allocations,test/bench/cxx/allocations.cc libbaton.a,$$(ALLOCATIONS_WRAP))

check-budget: build/bench/counts build/bench/steps \
		build/bench/allocations ## atomics, instructions, system calls per task
	$(Q)timeout 60 build/bench/counts
	$(Q)timeout 60 build/bench/steps
	$(Q)timeout 60 build/bench/allocations

# ---- What each remedy of core/contention.h is worth: the benchmark without it ----
REMEDIES := STAND_BACK:1 STAND_BACK_CALL:2 BACK_OFF:4 HOT:8 LOAN:16 DEBT:32 RECALL:64 AHEAD:128
ABLATED := $(foreach r,$(REMEDIES),$(firstword $(subst :, ,$r)))
REMEDY_SOURCES := $(shell grep -l '"core/contention.h"' src/*/*.c)

define ablated
build/ablate/$1.objects/%.o: %.c build/flags | build/deps/build
	$$(call compile,$$(LIB_FLAGS) -DBATON_ABLATE=$2U)
# The objects come before the archive, whose own are then not taken.
build/ablate/$1: LINKER = $$(CXX) $$(CXXFLAGS)
build/ablate/$1: $(REMEDY_SOURCES:%.c=build/ablate/$1.objects/%.o) \
		$(patsubst %,build/%.o,$(basename $(BENCH_SOURCES))) \
		$(TESTED:%=build/%)
	$$(call link,$$(PEER_LIBS) -lm)
endef
$(foreach r,all:0 $(REMEDIES),$(eval $(call ablated,$(firstword $(subst :, ,$r)),$(lastword \
	$(subst :, ,$r)))))

# ROUNDS=3, ONLY='W3: 1;W6: broker', REMEDY='LOAN HOT'
bench-ablate: REMEDY = $(ABLATED)
bench-ablate: $(patsubst %,build/ablate/%,all $(ABLATED)) ## the worth of each remedy for contention
	$(Q)ROUNDS='$(ROUNDS)' ONLY='$(ONLY)' test/bench/ablate.sh $(REMEDY)
