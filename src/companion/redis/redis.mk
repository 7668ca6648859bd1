# SPDX-License-Identifier: MIT
# libbaton-redis, which is made, and installed, where hiredis is; its examples, tests, benchmarks.
REDIS_SOURCES := $(wildcard src/companion/redis/*.c)
# Later releases of hiredis have TLS, in a library of its own.
REDIS_LIBS := -lhiredis $(if $(call has,hiredis/hiredis_ssl.h),-lhiredis_ssl -lssl -lcrypto)
HAVE_REDIS := $(call has,hiredis/hiredis.h,-lhiredis)
# The library and the examples need hiredis alone; the group has what the tests need, too.
NEEDS_REDIS := $(if $(HAVE_REDIS),test/redis/%.c test/redis_bench/%.c,%.c)

# The server's functions, as a C file.
REDIS_FUNCTIONS := $(addprefix src/companion/redis/,queue.lua remote.lua names.lua)
build/redis/functions.c: $(REDIS_FUNCTIONS) src/companion/redis/redis.mk
	$(call say,LUA,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include "companion/redis/redis.h"' >$@
	$(Q)echo 'const char baton__redis_functions[] = {' >>$@
	$(Q)cat $(REDIS_FUNCTIONS) | od -An -v -t x1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g' >>$@
	$(Q)echo '0};' >>$@

$(call needs,redis,$(filter $(NEEDS_REDIS),$(REDIS_SOURCES)),$(VARIANTS))
COMPANIONS_MADE += $(if $(HAVE_REDIS),redis)
$(call companion,redis,$(REDIS_SOURCES) redis/functions.c,$(REDIS_LIBS),admission)

# A program that links all libraries. Like `program` in the Makefile.
redis_program = $(call needs,redis,$(filter $(NEEDS_REDIS),$2),\
	$(filter-out build/checked,$(or $5,build))) \
	$(call program,$1,$2 libbaton-redis.a $(TESTED),$(REDIS_LIBS) $3,$4,$5)

# ---- Its examples ----
QUEUE := $(addprefix build/examples/queue/,submitter scheduler backend baton-queue)
SESSIONS := build/examples/sessions/node
$(call redis_program,examples/queue/baton-queue,examples/queue/figures.c examples/queue/common.c,\
	,,build build/checked)
# Installed beside baton-top. It is here because it has the options of the three programs.
BATON_QUEUE := $(if $(HAVE_REDIS),build/examples/queue/baton-queue)
$(foreach p,submitter scheduler backend,$(call redis_program,examples/queue/$p,\
	examples/queue/$p.c examples/queue/common.c \
	$(if $(filter backend,$p),examples/queue/job.c),,,build build/checked))
$(call redis_program,examples/sessions/node,examples/sessions/node.c,,,build build/checked)

examples: $(if $(HAVE_REDIS),$(QUEUE) $(SESSIONS))

demo-sessions: $(SESSIONS) | build/deps/redis ## two brokers take each other's sessions over
	$(Q)examples/sessions/demo.sh

demo-queue: $(QUEUE) | build/deps/redis ## jobs through a queue over Redis; backends and leaders die
	$(Q)examples/queue/demo.sh

# ---- Its tests, on a redis-server that each test starts; under sanitizers the shim runs them ----
REDIS_TESTS := $(wildcard test/redis/*.c)
$(call redis_program,redis/tests,$(REDIS_TESTS) $(TEST_SUPPORT),-lsqlite3 -lcriterion,\
	$$(REDIS_WRAP))
$(call redis_program,redis/tests,$(REDIS_TESTS) test/shim/main.c,-lsqlite3 -lm,$$(REDIS_WRAP),\
	build/asan build/tsan)

# In a redis-server whose clock jumps.
build/redis/skew.so: test/redis/skew/skew.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -fPIC -O1 -o $@ $<
build/redis/tests build/asan/redis/tests build/tsan/redis/tests: | build/redis/skew.so

NO_SERVER := redis-server (Debian: redis-server)
check-redis: | build/deps/redis ## the queue over Redis, on servers of its own
	$(call where,command -v redis-server,$(NO_SERVER),\
		$(MAKE) --no-print-directory build/redis/tests $(QUEUE) && \
		TEST_ARGS='-j4 $(TEST_ARGS)' test/run.sh $@ build/redis/tests)

# CRASH=deep: the crash matrix in more places, five minutes of chaos, a million tasks.
deep-redis: ## the same, each process struck in more places
	$(Q)CRASH=deep $(MAKE) --no-print-directory check-redis

check-redis-asan: build/asan/redis/tests $(QUEUE) ## the same under AddressSanitizer, leaks included
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh $@ $<

# The same with a hiredis that has TLS, which is got as source where Debian's has none.
TLS_OF := build/hiredis
check-redis-tls: $(QUEUE) | build/deps/redis build/redis/skew.so ## the same with TLS
	$(call where,test/redis/tls.sh $(TLS_OF) 2>&1,later hiredis to be had,\
		$(MAKE) --no-print-directory $(TLS_OF)/tests && \
		TEST_ARGS='-j4 $(TEST_ARGS)' test/run.sh $@ $(TLS_OF)/tests)

$(TLS_OF)/tests: $(REDIS_SOURCES) build/redis/functions.c $(REDIS_TESTS) $(TEST_SUPPORT) \
		$(TESTED:%=build/%) $(wildcard src/companion/redis/*.h test/redis/*.h)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -isystem $(TLS_OF)/include $(filter-out -MMD -MP,$(BASE_FLAGS)) \
		-Wno-unused-parameter -Wno-format-truncation -DBATON_BUILDING -iquote src \
		-iquote test/unit $(REDIS_WRAP) -o $@ $(filter %.c %.a,$^) -L$(TLS_OF)/lib \
		-lhiredis_ssl -lhiredis -lssl -lcrypto -lsqlite3 -lcriterion -lck

check-redis-tsan: build/tsan/redis/tests $(QUEUE) ## the same under ThreadSanitizer
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh $@ $<

check-sessions: | build/deps/redis ## two broker nodes take sessions over: the demo, compared
	$(call where,command -v redis-server,$(NO_SERVER),\
		$(MAKE) --no-print-directory $(SESSIONS) && \
		timeout -k 10 600 examples/sessions/demo.sh >build/sessions.txt && \
		diff test/examples/sessions.txt build/sessions.txt)

# ---- Its benchmarks: beside a list and BullMQ (test/redis_bench/run.sh); of resources ----
REDIS_COUNTED := -Wl,--wrap=redisAppendFormattedCommand
$(call redis_program,redis_bench/load,$(wildcard test/redis_bench/*.c),,$$(REDIS_COUNTED))
$(call redis_program,redis/bench,$(wildcard test/redis/bench/*.c) \
	test/bench/machine.c test/bench/team.c,-lm)

bench-redis: build/redis_bench/load ## the queue over Redis beside a plain list and BullMQ
	$(Q)test/redis_bench/run.sh $(BENCH_ARGS)

bench-remote: build/redis/bench ## tasks of a space over Redis: in batches, alone; take-over times
	$(Q)BATON_COMMIT="$$(git describe --always --dirty 2>/dev/null || echo unknown)" $<
