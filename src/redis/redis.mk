# SPDX-License-Identifier: MIT
# Part of the Makefile. libbaton-redis: the library, its examples, tests and benchmarks.

# libbaton-redis: made, and installed, where hiredis is.
REDIS_SOURCES := $(wildcard src/redis/*.c)
REDIS_HEADERS := $(BESIDE_HEADERS:%=include/baton/%.h)
REDIS_SHARED := build/libbaton-redis.so.$(VERSION)
REDIS_LINKS := build/libbaton-redis.so.$(SOVERSION) build/libbaton-redis.so
REDIS_MADE := build/libbaton-redis.a $(REDIS_SHARED) $(REDIS_LINKS) build/baton-redis.pc
HAVE_REDIS := $(shell echo '\#include <hiredis/hiredis.h>' | \
	$(CC) -E -x c - >/dev/null 2>&1 && echo yes)
# Later releases of hiredis have TLS, in a library of its own.
REDIS_LIBS := -lhiredis $(if $(wildcard /usr/include/hiredis/hiredis_ssl.h),\
	-lhiredis_ssl -lssl -lcrypto)
ifdef HAVE_REDIS
INSTALLED += $(foreach h,$(REDIS_HEADERS),$h:$(h:include/%=$(INCLUDEDIR)/%)) \
	$(foreach f,$(filter-out %.pc,$(REDIS_MADE)),$f:$(f:build/%=$(LIBDIR)/%)) \
	build/baton-redis.pc:$(LIBDIR)/pkgconfig/baton-redis.pc
endif

ifdef HAVE_REDIS
all: $(REDIS_MADE)
endif

# ---- libbaton-redis ----
.PHONY: redis
redis: $(REDIS_MADE) ## libbaton-redis, a queue over Redis; needs hiredis

# The server's functions, as a C file.
REDIS_FUNCTIONS := $(addprefix src/redis/,queue.lua remote.lua names.lua)
build/redis/functions.c: $(REDIS_FUNCTIONS)
	$(call say,LUA,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include "redis/redis.h"' >$@
	$(Q)echo 'const char baton__redis_functions[] = {' >>$@
	$(Q)cat $(REDIS_FUNCTIONS) | od -An -v -t x1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g' >>$@
	$(Q)echo '0};' >>$@

$(REDIS_SHARED): $(REDIS_SOURCES:%.c=build/%.o) build/redis/functions.o src/redis/redis.map \
		build/libbaton.so
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,defs -Wl,-soname,libbaton-redis.so.$(SOVERSION) \
		-Wl,--version-script=src/redis/redis.map -o $@ $(filter %.o,$^) $(LDFLAGS) \
		-Lbuild -lbaton $(REDIS_LIBS)

$(REDIS_LINKS): $(REDIS_SHARED)
	$(Q)ln -sf $(<F) $@

build/baton-redis.pc: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$(INCLUDEDIR)' 'libdir=$(LIBDIR)' '' \
		'Name: baton-redis' 'Description: A queue of jobs over Redis, with admission' \
		'Version: $(VERSION)' 'Requires: baton = $(VERSION)' 'Cflags: -I$${includedir}' \
		'Libs: -L$${libdir} -lbaton-redis' 'Libs.private: $(REDIS_LIBS)' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Three programs; the files of each beside common.c.
QUEUE := $(addprefix build/examples/queue/,submitter scheduler backend)
$(patsubst %.c,build/%.o,$(wildcard examples/queue/*.c)): | build/deps/redis
build/examples/queue/backend: build/examples/queue/job.o
$(QUEUE): build/examples/queue/%: build/examples/queue/%.o build/examples/queue/common.o \
		build/libbaton-redis.a build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS) \
		$(REDIS_LIBS) -pthread
SESSIONS := build/examples/sessions/node
$(SESSIONS).o: | build/deps/redis
$(SESSIONS): $(SESSIONS).o build/libbaton-redis.a build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) $(REDIS_LIBS) -pthread
-include $(SESSIONS).d
ifdef HAVE_REDIS
examples: $(QUEUE) $(SESSIONS)
endif

demo-sessions: $(SESSIONS) | build/deps/redis ## two brokers take each other's sessions over
	$(Q)examples/sessions/demo.sh

demo-queue: $(QUEUE) | build/deps/redis ## jobs through a queue over Redis; backends and leaders die
	$(Q)examples/queue/demo.sh

# ---- The queue over Redis, beside a list and BullMQ; see test/redis_bench/run.sh ----
REDIS_LOAD_SOURCES := $(wildcard test/redis_bench/*.c)

$(REDIS_LOAD_SOURCES:%.c=build/%.o): | build/deps/redis
build/redis_bench/load: $(REDIS_LOAD_SOURCES:%.c=build/%.o) build/libbaton-redis.a build/libbaton.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wl,--wrap=redisAppendFormattedCommand -o $@ $^ $(LDFLAGS) $(LIBS) \
		$(REDIS_LIBS) -pthread
-include $(REDIS_LOAD_SOURCES:%.c=build/%.d)

.PHONY: bench-redis
bench-redis: build/redis_bench/load ## the queue over Redis beside a plain list and BullMQ
	$(Q)test/redis_bench/run.sh $(BENCH_ARGS)

# ---- libbaton-redis, on a redis-server that each test starts ----
REDIS_TESTS := $(wildcard test/redis/*.c)

$(REDIS_TESTS:%.c=build/%.o): | build/deps/redis

build/redis/tests: $(REDIS_TESTS:%.c=build/%.o) build/libbaton-redis.a build/libbaton.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(REDIS_WRAP) -o $@ $^ $(LDFLAGS) $(LIBS) $(REDIS_LIBS) \
		-lsqlite3 -lcriterion -pthread
-include $(REDIS_TESTS:%.c=build/%.d)

# Under a sanitizer, with the shim in place of Criterion; hiredis and the programs are as they are.
define instrumented_redis
$1/redis/tests: $(REDIS_TESTS:%.c=$1/%.o) $1/test/shim/main.o $1/libbaton-redis.a $1/libbaton.a
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $2 $$(REDIS_WRAP) -o $$@ $$^ $$(LDFLAGS) $$(LIBS) \
		$$(REDIS_LIBS) -lsqlite3 -lm -pthread
$(REDIS_TESTS:%.c=$1/%.o): | build/deps/redis
-include $(REDIS_TESTS:%.c=$1/%.d)
endef
$(eval $(call instrumented_redis,build/asan,$(ASAN)))
$(eval $(call instrumented_redis,build/tsan,-fsanitize=thread))

.PHONY: check-redis-asan check-redis-tsan
check-redis-asan: build/asan/redis/tests $(QUEUE) ## the same under AddressSanitizer, leaks included
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh $@ $<

check-redis-tsan: build/tsan/redis/tests $(QUEUE) ## the same under ThreadSanitizer
	$(Q)TEST_ARGS='$(TEST_ARGS)' test/run.sh $@ $<

# CRASH=deep: the crash matrix in more places.
.PHONY: check-redis deep-redis
deep-redis: ## the same, each process struck in more places
	$(Q)CRASH=deep $(MAKE) --no-print-directory check-redis

check-redis: | build/deps/redis ## the queue over Redis, on servers of its own
	$(Q)if command -v redis-server >/dev/null; then \
		$(MAKE) --no-print-directory build/redis/tests $(QUEUE) && \
		TEST_ARGS='-j4 $(TEST_ARGS)' test/run.sh $@ build/redis/tests; \
	else \
		echo '$@: skipped: no redis-server (Debian: redis-server)'; \
		mkdir -p build/results; echo 0 0 >build/results/$@; \
	fi

.PHONY: check-sessions
check-sessions: | build/deps/redis ## two broker nodes take sessions over: the demo, compared
	$(Q)mkdir -p build/results
	$(Q)if command -v redis-server >/dev/null; then \
		$(MAKE) --no-print-directory $(SESSIONS) && \
		timeout -k 10 120 examples/sessions/demo.sh >build/sessions.txt && \
		diff test/examples/sessions.txt build/sessions.txt && \
		echo 1 0 >build/results/$@; \
	else \
		echo '$@: skipped: no redis-server (Debian: redis-server)'; \
		echo 0 0 >build/results/$@; \
	fi

REDIS_BENCH := $(wildcard test/redis/bench/*.c)
$(REDIS_BENCH:%.c=build/%.o): | build/deps/redis
build/redis/bench: $(REDIS_BENCH:%.c=build/%.o) $(addprefix build/test/bench/,machine.o team.o) \
		build/libbaton-redis.a build/libbaton.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) $(REDIS_LIBS) -lm -pthread
-include $(REDIS_BENCH:%.c=build/%.d)

.PHONY: bench-remote
bench-remote: build/redis/bench ## tasks of a space over Redis: in batches, alone; take-over times
	$(Q)BATON_COMMIT="$$(git describe --always --dirty 2>/dev/null || echo unknown)" $<
