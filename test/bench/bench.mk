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
$(call program,bench/bench,$(BENCH_SOURCES) libbaton.a,$$(PEER_LIBS) -lm)

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

build/bench/counts: $(patsubst %.c,build/counts/%.o,$(SOURCES) $(COUNTS_SOURCES))
	$(call link,$(LIBS) -lm,$(COUNTS_WRAP))

$(call program,bench/steps,test/bench/steps/main.c libbaton.a)

check-budget: build/bench/counts build/bench/steps ## atomics, instructions, system calls per task
	$(Q)timeout 60 build/bench/counts
	$(Q)timeout 60 build/bench/steps
