# SPDX-License-Identifier: MIT
# What goes beyond the unit tests. SECONDS=n is for how long a search that has no end goes on.

# ---- Explorer: the library on coroutines, every interleaving decided; see test/sim/sim.h ----
SIM_ENGINE := $(wildcard test/sim/*.c)
SIM_SUBJECTS := $(TESTED_SOURCES) $(wildcard test/sim/scenarios/*.c)
SIM_FLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -Wno-pedantic -Wno-unused-parameter -fno-pie \
	-U_FORTIFY_SOURCE -DBATON_NO_PROBES -iquote test/sim -iquote src -Iinclude -MMD -MP
# Instrumented by the compiler; what it calls is test/sim/races.c.
SIM_SUBJECT_FLAGS := $(SIM_FLAGS) -O1 -g -fsanitize=thread -include test/sim/redirect.h \
	-DBATON_BUILDING \
	-DBATON_ATOMIC_BACKEND='"backend.h"' -DBATON_STAND_BACK_LOOKS=2 -DBATON_STAND_BACK_FIRST=1U \
	-DBATON_STAND_BACK_HOT_LOOKS=2 -DBATON_STAND_BACK_HOT_FIRST=1U \
	-DBATON_STAND_BACK_CALL_LOOKS=2U -DBATON_STAND_BACK_CALL_HOT_LOOKS=2U -DBATON_STAND_BACK_CALL_LAST=1U \
	-DBATON_BACKOFF_MIN=1U -DBATON_BACKOFF_MAX=1U -DBATON_BACKOFF_HOT_MIN=1U \
	-DBATON_BACKOFF_HOT_MAX=1U \
	-DBATON_LOAN_SKIP_MIN=1U -DBATON_LOAN_SKIP_MAX=2U -DBATON_LOAN_EAGER=1U

build/sim/%.o: %.c build/flags | build/deps/build
	$(call compile,$(SIM_FLAGS))

build/sim/%.simo: %.c build/flags | build/deps/build
	$(call compile,$(SIM_SUBJECT_FLAGS))

SIM_LINKED := $(SIM_ENGINE:%.c=build/sim/%.o) $(SIM_SUBJECTS:%.c=build/sim/%.simo)
SIM_LAYOUT := -Wl,-T,test/sim/globals.ld
build/sim/sim: $(SIM_LINKED) test/sim/globals.ld
	$(call link,$(SIM_LAYOUT),-no-pie)

check-sim: build/sim/sim ## a quick look at the interleavings of each scenario
	$(Q)test/sim/run.sh $@ $< --seconds 0.05

check-changed: build/sim/sim ## the scenarios beside what has changed; SINCE=commit
	$(Q)test/sim/changed.sh $@ $< $(SINCE)

explore: build/sim/sim ## a long one: SECONDS=n (3) each way per scenario, SIM_ARGS='--scenario name'
	$(Q)test/sim/run.sh $@ $< --seconds $(or $(SECONDS),3) $(SIM_ARGS)

# ---- Mutants: each order weakened, each step broken; what does the explorer say? ----
SIM_LINK_FLAGS := $(LDFLAGS) $(LIBS) $(SIM_LAYOUT) -pthread
MUTANTS := COMPILE='$(CC) $(CFLAGS) $(subst ',,$(SIM_SUBJECT_FLAGS))' \
	LINK='$(CC) $(CFLAGS) -no-pie' \
	LINK_OBJECTS='$(SIM_LINKED)' LINK_FLAGS='$(SIM_LINK_FLAGS)'

check-mutants: build/sim/sim ## is every weaker order, every broken step found? T=text: some
	$(Q)$(MUTANTS) test/mutants/run.sh $@ $< $(T)

check-mutants-quick: build/sim/sim ## a dozen of them
	$(Q)$(MUTANTS) test/mutants/run.sh $@ $< quick

# ---- Models of the protocols, for spin ----
check-models: | build/deps/models ## the protocols' models, and that each of their breaks is found
	$(Q)CC='$(CC)' test/models/check.sh $@

check-models-deep: | build/deps/models ## the same with larger configurations; minutes, 5 GB
	$(Q)CC='$(CC)' test/models/check.sh $@ --deep

# ---- Faults: the n-th call of the library's to libc or the kernel fails ----
FAULTS_SOURCES := $(wildcard test/faults/*.c)
FAULTS_WRAP := $(foreach f,malloc calloc realloc aligned_alloc free strdup strndup vasprintf \
	mmap munmap __sched_cpualloc __sched_cpufree fopen getline pthread_create \
	pthread_attr_init pthread_attr_setstacksize pthread_setaffinity_np pthread_key_create \
	pthread_setspecific pthread_atfork sched_getaffinity sched_yield syscall eventfd \
	epoll_create1 epoll_ctl read write clock_gettime,-Wl,--wrap=$f)

$(call program,faults/faults,$(FAULTS_SOURCES) $(TESTED),,$$(FAULTS_WRAP),build build/asan)

check-faults: build/faults/faults ## the n-th allocation, thread, futex wait, ... fails, for every n
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-faults $<

check-faults-asan: build/asan/faults/faults ## the same under AddressSanitizer, leaks included
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh check-faults-asan $<

# ---- Small faults: does a test notice a boundary, a count, a dropped statement, a wrong member? ----
# A shared library that the unit tests are linked to once, so that a mutant is one compilation and
# one link; and the same with traces, and the explorer with traces, which tell who comes to which
# lines.
SEMANTIC_SOURCES := $(TESTED_SOURCES) $(BROKER_PURE:%=examples/broker/%.c)
SEMANTIC_FILES := $(SEMANTIC_SOURCES) include/baton/inline.h $(wildcard $(FOLDERS:%=src/%/*.h) \
	$(PLAIN_COMPANIONS:%=src/companion/%/*.h))
# Nothing is hidden, since tests look inside.
SEMANTIC_FLAGS := -fno-semantic-interposition -fvisibility=default \
	'-Dvisibility(kind)=visibility("default")'
SEMANTIC_MUTANT := $(subst ',,$(CC) $(CFLAGS) $(LIB_FLAGS) $(BROKER_INCLUDE) \
	$(wordlist 1,2,$(SEMANTIC_FLAGS))) -g0
SEMANTIC_COMPILE := $(CC) $(CFLAGS) $(LIB_FLAGS) $(BROKER_INCLUDE) $(SEMANTIC_FLAGS)
# Not optimised: the lines of a block lie together.
SEMANTIC_TRACED := -O0 -g -fsanitize-coverage=trace-pc
SEMANTIC_TESTS := $(TESTS:test/%=build/semantic/%)
SEMANTIC_SUPPORT := $(TEST_SUPPORT:%.c=build/%.o)

build/semantic/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(subst ',,$(SEMANTIC_COMPILE) $(TEST_FLAGS) $(SEMANTIC_TRACED))' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/semantic/%.o: %.c build/semantic/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SEMANTIC_COMPILE) -g0 -c -o $@ $<

build/semantic/traced/%.o: %.c build/semantic/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(SEMANTIC_COMPILE) $(SEMANTIC_TRACED) -c -o $@ $<

build/semantic/explored/%.simo: %.c build/semantic/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SIM_SUBJECT_FLAGS) $(SEMANTIC_TRACED) -c -o $@ $<

build/semantic/libtested.so: $(SEMANTIC_SOURCES:%.c=build/semantic/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libtested.so -o $@ $^ $(LDFLAGS) $(LIBS) \
		-pthread

build/semantic/traced/libtested.so: $(SEMANTIC_SOURCES:%.c=build/semantic/traced/%.o) \
		build/semantic/test/mutants/semantic_trace.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libtested.so -o $@ $^ $(LDFLAGS) $(LIBS) \
		-pthread

build/semantic/explored/sim: $(TESTED_SOURCES:%.c=build/semantic/explored/%.simo) \
		build/semantic/test/mutants/semantic_trace.o \
		$(filter-out $(TESTED_SOURCES:%.c=build/sim/%.simo),$(SIM_LINKED))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -no-pie -o $@ $^ $(SIM_LINK_FLAGS)

build/semantic/traced/faults: $(FAULTS_SOURCES:%.c=build/%.o) \
		$(TESTED_SOURCES:%.c=build/semantic/traced/%.o) \
		build/semantic/test/mutants/semantic_trace.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(FAULTS_WRAP) -o $@ $^ $(LDFLAGS) $(LIBS) -pthread

build/semantic/%.lines: build/semantic/%
	$(Q)test/mutants/semantic_lines.sh $< >$@

build/semantic/test/%.o: test/%.c build/semantic/flags
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TEST_FLAGS) $(SEMANTIC_FLAGS) -c -o $@ $<

$(SEMANTIC_TESTS): build/semantic/%: build/semantic/test/%.o $(SEMANTIC_SUPPORT) \
		build/semantic/libtested.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wl,--allow-shlib-undefined -o $@ $(filter %.o,$^) $(filter %.so,$^) \
		$(LDFLAGS) $(LIBS) -lcriterion -pthread

build/semantic/maps/%.map: build/semantic/% build/semantic/traced/libtested.so.lines
	$(call say,TRACE,$*)
	$(Q)mkdir -p $(@D)
	$(Q)LD_LIBRARY_PATH=build/semantic/traced test/mutants/semantic_trace.sh \
		build/semantic/traced/libtested.so.lines $< >$@

# A scenario of the explorer is a test whose name begins with "=", one of test/faults is in a folder.
build/semantic/maps/scenarios: build/semantic/explored/sim.lines
	$(call say,TRACE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)for name in $$(build/semantic/explored/sim --list | awk '{print $$1}'); do \
		test/mutants/semantic_trace.sh $< build/semantic/explored/sim --quiet --seed 1 \
			--seconds 0.05 --scenario "=$$name" >"$(@D)/=$$name.map"; done
	$(Q)touch $@

build/semantic/maps/faults/all: build/semantic/traced/faults.lines
	$(call say,TRACE,$@)
	$(Q)for name in $$(build/semantic/traced/faults --list); do mkdir -p "$(@D)/$${name%/*}"; \
		test/mutants/semantic_trace.sh $< build/semantic/traced/faults \
			--filter "$$name *" >"$(@D)/$$name.map"; done
	$(Q)touch $@

# A file for each source, with lines "LINE TEST SECONDS COST", and "LINE -": there is code.
build/semantic/reach/made: $(SEMANTIC_TESTS:build/semantic/%=build/semantic/maps/%.map) \
		build/semantic/maps/scenarios build/semantic/maps/faults/all
	$(Q)rm -rf $(@D)
	$(Q)mkdir -p $(@D)
	$(Q)awk -f test/mutants/semantic_reach.awk build/semantic/traced/libtested.so.lines \
		$(filter %.map,$^) build/semantic/maps/=*.map build/semantic/maps/faults/*/*.map
	$(Q)rm -rf build/semantic/mapped
	$(Q)mkdir -p build/semantic/mapped
	$(Q)cp --parents $(SEMANTIC_FILES) build/semantic/mapped
	$(Q)touch $@

-include $(TESTS:%=build/semantic/%.d) $(SEMANTIC_SOURCES:%.c=build/semantic/%.d) \
	$(SEMANTIC_SOURCES:%.c=build/semantic/traced/%.d) $(TESTED_SOURCES:%.c=build/semantic/explored/%.d)

# Of libbaton-redis, the tests are linked anew with the object that has the fault.
REDIS_WRAP := -Wl,--wrap=redisGetReply,--wrap=realloc,--wrap=baton__redis_functions_text
SEMANTIC_REDIS := $(patsubst %.c,build/%.o,$(wildcard test/redis/*.c) $(REDIS_SOURCES)) \
	build/redis/functions.o $(TESTED:%=build/%)
ifdef HAVE_REDIS
SEMANTIC_REDIS_MADE := $(if $(findstring redis,$(ONLY)$(if $(PATCH),\
	$(shell grep -r -h '^+++ .*redis' $(PATCH)))),build/redis/tests)
endif

.PHONY: check-mutants-semantic
check-mutants-semantic: build/semantic/reach/made $(SEMANTIC_REDIS_MADE) \
	$(FAULTS_SOURCES:%.c=build/%.o) build/bench/counts build/sim/sim
check-mutants-semantic: ## are small faults noticed? SEED=, SAMPLE=300, ONLY=files; FAULT=text; PATCH=file or folder
	$(Q)COMPILE='$(SEMANTIC_MUTANT)' LINK='$(CC) $(CFLAGS)' \
		TEST_COMPILE='$(CC) $(CFLAGS) $(TEST_FLAGS) $(wordlist 1,2,$(SEMANTIC_FLAGS)) -g0' \
		TEST_OBJECTS='$(SEMANTIC_SUPPORT)' \
		LINK_FLAGS='$(LDFLAGS) $(LIBS) -pthread' FILES='$(SEMANTIC_FILES)' \
		OBJECTS='$(SEMANTIC_SOURCES:%.c=build/semantic/%.o)' \
		FAULTS='$(FAULTS_WRAP) $(FAULTS_SOURCES:%.c=build/%.o)' \
		COUNTS='$(COUNTS_WRAP) $(patsubst %.c,build/counts/%.o,$(TESTED_SOURCES) $(COUNTS_SOURCES)) -lm' \
		COUNTS_COMPILE='$(CC) $(CFLAGS) $(subst ',,$(LIB_FLAGS) $(COUNTING))' \
		SIM_COMPILE='$(CC) $(CFLAGS) $(subst ',,$(SIM_SUBJECT_FLAGS))' \
		SIM_LINK='$(CC) $(CFLAGS) -no-pie' SIM_OBJECTS='$(SIM_LINKED)' \
		SIM_LINK_FLAGS='$(SIM_LINK_FLAGS)' SEED='$(SEED)' \
		REDIS_FILES='$(REDIS_SOURCES) $(REDIS_FUNCTIONS)' \
		REDIS_OBJECTS='$(SEMANTIC_REDIS)' REDIS_LINK='$(CC) $(CFLAGS) $(REDIS_WRAP)' \
		REDIS_LINK_FLAGS='$(LDFLAGS) $(LIBS) $(REDIS_LIBS) -lsqlite3 -lcriterion -pthread' \
		SAMPLE='$(SAMPLE)' ONLY='$(ONLY)' PATCH='$(PATCH)' \
		test/mutants/semantic.sh $@ $(FAULT)

# To renew the maps takes minutes: they may be of an older state of the tree.
.PHONY: affected
affected: $(if $(MAP)$(if $(wildcard build/semantic/reach/made),,1),build/semantic/reach/made) ## which tests come to what differs from a commit? SINCE=HEAD, MAP=1: new maps; RUN=1 runs them
	$(Q)MAKE='$(MAKE)' SINCE='$(SINCE)' RUN='$(RUN)' test/mutants/affected.sh

$(RULES_TESTS:test/%=build/semantic/%): $(RULES_MODEL:%.c=build/%.o)

# ---- Stress: everything at random, the history checked; see test/stress/main.c ----
SETARCH := $(shell setarch -R true 2>/dev/null && echo setarch -R)

$(call program,stress/stress,$(wildcard test/stress/*.c) $(TESTED),,,\
	build build/asan build/tsan build/checked)

stress: build/stress/stress ## SECONDS of stress (10); STRESS_ARGS='--seed 7', see --help
	$(Q)$< --seconds $(or $(SECONDS),10) $(STRESS_ARGS)

stress-asan: build/asan/stress/stress ## the same under AddressSanitizer
	$(Q)$< --seconds $(or $(SECONDS),10) $(STRESS_ARGS)

STRESS_TSAN := halt_on_error=1
# On a busy machine, too.
STRESS_QUICK := --quiet --seconds 4 --patience 120

stress-tsan: build/tsan/stress/stress ## the same under ThreadSanitizer
	$(Q)TSAN_OPTIONS="$(STRESS_TSAN) $$TSAN_OPTIONS" $(SETARCH) $< --seconds $(or $(SECONDS),10) \
		--patience 40 $(STRESS_ARGS)
# Can the checker fail? And a few seconds of each.
check-stress: build/stress/stress build/asan/stress/stress build/tsan/stress/stress ## quick stress
	$(Q)test/stress/selftest.sh $<
	$(Q)build/stress/stress $(STRESS_QUICK)
	$(Q)build/asan/stress/stress $(STRESS_QUICK)
	$(Q)TSAN_OPTIONS='$(STRESS_TSAN)' $(SETARCH) build/tsan/stress/stress $(STRESS_QUICK)

# ---- For users of sanitizers and tracers ----
check-sanitizer: $(TSAN_MADE) build/libbaton.a ## a user's program under ThreadSanitizer, valgrind
	$(Q)CC='$(CC)' test/sanitizer/check.sh $@ build/tsan/lib build

check-probes: build/test/probes/subject $(SHARED) ## the probes' notes and arguments; the bpftrace scripts
	$(Q)CC='$(CC)' test/probes/check.sh $@ $(firstword $(SHARED)) $<

$(call program,test/probes/subject,test/probes/subject.c libbaton.a)

# ---- aarch64: everything built by a cross compiler, the unit tests run by qemu ----
# All but those that ask the kernel about a thread's CPUs and stack, one that measures how long a
# yield takes, and one whose stderr is also qemu's. Without the mend of an erratum: in some programs
# gold of binutils 2.40 ends in an internal error where it makes room for it.
QEMU_TESTS := $(filter-out $(addprefix %/test_,pool_options yield print),$(TESTS:%=build/qemu/%))
QEMU_CC := aarch64-linux-gnu-gcc
QEMU_AR := aarch64-linux-gnu-ar
QEMU_ROOT := /usr/aarch64-linux-gnu

build/arm64/lib/libck.a: .ci/arm64.sh | build/deps/qemu
	$(call say,GET,$@)
	$(Q).ci/arm64.sh build/arm64

check-qemu: build/arm64/lib/libck.a | build/deps/build ## the unit tests' quick part on aarch64, by qemu
	$(Q)$(MAKE) --no-print-directory CC=$(QEMU_CC) AR=$(QEMU_AR) \
		LDFLAGS='$(LDFLAGS) -Wl,--no-fix-cortex-a53-843419' $(QEMU_TESTS)
	$(Q)RUNNER='qemu-aarch64 -L $(QEMU_ROOT)' TEST_ARGS='$(TEST_ARGS)' \
		test/run.sh $@ $(sort $(QEMU_TESTS))

# The build itself: `make CC=aarch64-linux-gnu-gcc install`. Of hiredis the library that its headers'
# package names.
build/cross/lib/libck.a: .ci/arm64.sh | build/deps/qemu
	$(call say,GET,$@)
	$(Q).ci/arm64.sh build/cross libhiredis-dev $$(apt-cache depends libhiredis-dev 2>&1 | \
		sed -n 's/.*Depends: \(libhiredis[0-9.]*\)$$/\1/p')

check-cross: build/cross/lib/libck.a ## a cross build for aarch64, and programs with what it installs
	$(Q)MAKE='$(MAKE)' CC=$(QEMU_CC) test/cross.sh $(VERSION) $(ABI_RELEASED) build/cross \
		$(QEMU_ROOT)

# ---- musl: everything built against another libc, the unit tests run with it ----
# All but those that ask glibc's malloc what is in use.
MUSL_CC := musl-gcc
MUSL_TESTS := $(filter-out %/test_memory %/test_given_back,$(TESTS:%=build/musl/%))

build/musl/root/lib/libck.a: .ci/musl.sh | build/deps/build
	$(call say,GET,$@)
	$(Q)MUSL_CC='$(MUSL_CC)' .ci/musl.sh build/musl/root

check-musl: | build/deps/build ## the unit tests with musl; needs musl-gcc
	$(call where,command -v $(MUSL_CC),$(MUSL_CC) (Debian: musl-tools),\
		$(MAKE) --no-print-directory build/musl/root/lib/libck.a && \
		$(MAKE) --no-print-directory CC=$(MUSL_CC) $(MUSL_TESTS) && \
		TEST_ARGS='$(TEST_ARGS)' test/run.sh $@ $(sort $(MUSL_TESTS)))

# ---- Coverage ----
# What runs to see what of src/ it runs: programs that test/run.sh understands.
COVERAGE_PROGRAMS := $(TESTS:%=build/coverage/%) build/coverage/faults/faults

COVERAGE_WRAP = $(FAULTS_WRAP) -Wl,--wrap=abort -Wl,--wrap=_exit
$(call program,faults/faults,$(FAULTS_SOURCES) test/shim/coverage.c $(TESTED),,\
	$$(COVERAGE_WRAP),build/coverage)

coverage: $(COVERAGE_PROGRAMS) | build/deps/test build/deps/coverage ## what of src/ the tests run
	$(Q)TEST_ARGS='-j2 $(TEST_ARGS)' test/coverage.sh $(sort $^)

# ---- All of it, for long ----
# So many seconds for each of stress and fuzzing.
DEEP_SECONDS := 120

deep-stress:
	$(Q)$(MAKE) --no-print-directory stress stress-asan stress-tsan SECONDS=$(DEEP_SECONDS) \
		STRESS_ARGS=--quiet

deep-fuzz:
	$(Q)$(MAKE) --no-print-directory fuzz SECONDS=$(DEEP_SECONDS)

check-deep: | build/deps/build build/deps/test ## all of the above, for long: under an hour
	$(Q)MAKE='$(MAKE)' test/all.sh $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) explore \
		check-models check-models-deep check-mutants deep-stress deep-admission deep-redis \
		check-faults check-faults-asan check-qemu check-cross check-musl \
		check-fuzz-corpus deep-fuzz check-broker-asan deep-broker check-broker-tsan \
		check-minimq-asan check-minimq-tsan check-redis-asan check-redis-tls \
		deep-checked deep-dist deep-deb coverage
