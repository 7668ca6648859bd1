# SPDX-License-Identifier: MIT
# Part of the Makefile. The examples, and what runs them.

# group_commit needs SQLite, and has a rule of its own.
FEATURES := $(patsubst %.c,build/%,$(filter-out %/group_commit.c,$(wildcard examples/features/*.c)))
# mainloop needs libuv, and has a rule of its own.
EXAMPLES := $(patsubst %.c,build/%,$(filter-out %/mainloop.c,$(wildcard examples/*.c))) $(FEATURES)
MAINLOOP := build/examples/mainloop
CHAT := build/examples/chat/epoll build/examples/chat/uv

.PHONY: examples demo demo-queue demo-sessions bench bench-quick bench-short bench-age \
	bench-plots
examples: $(EXAMPLES) $(MAINLOOP) $(CHAT) $(BROKER) ## the examples

$(EXAMPLES): build/examples/%: build/examples/%.o build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -pthread

# One server, two event loops.
$(CHAT): build/examples/chat/%: build/examples/chat/%.o build/examples/chat/chat.o build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) $(if $(filter uv,$*),-luv) -pthread

build/examples/chat/uv.o: | build/deps/demo

build/examples/mainloop: build/examples/mainloop.o build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -luv -pthread

build/examples/mainloop.o: | build/deps/demo

# Of the examples this one alone needs SQLite.
build/examples/features/group_commit: build/examples/features/group_commit.o build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -lsqlite3 -pthread

.PHONY: check-examples check-chat
check-chat: build/test/chat/talk $(CHAT) ## real clients of the chat servers, over loopback
	$(Q)TEST_ARGS='$(CHAT)' test/run.sh $@ $<

build/test/chat/talk: build/test/chat/talk.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS)
-include build/test/chat/talk.d

check-examples: $(FEATURES) $(MAINLOOP) ## the examples of single features, which check themselves
	$(Q)test/examples.sh $@ $(sort $^)

demo: examples | build/deps/demo ## real MQTT clients use the broker example; sets up all
	$(Q)examples/demo.sh

-include $(patsubst %.c,build/%.d,$(wildcard $(foreach d,. features chat queue,examples/$d/*.c))) \
	$(patsubst %.c,build/%.d,$(BROKER_SOURCES)) \
	$(addprefix build/,$(addsuffix .d,$(basename $(BENCH_SOURCES))))

# ---- Examples, demo, benchmark ----

# ---- Group commit: the example is killed in the middle of its work ----
.PHONY: check-commit
check-commit: | build/deps/commit ## kill -9 loses no row that was acknowledged; needs SQLite
	$(Q)if echo '#include <sqlite3.h>' | $(CC) -E -x c - >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory build/examples/features/group_commit && \
		test/commit/kill.sh $@ build/examples/features/group_commit; \
	else \
		echo '$@: skipped: no sqlite3.h (Debian: libsqlite3-dev)'; \
		mkdir -p build/results; echo 0 0 >build/results/$@; \
	fi
