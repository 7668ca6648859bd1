# SPDX-License-Identifier: MIT
# The examples but the broker and those over Redis, each also with libbaton-checked.
FEATURES := $(filter-out %/group_commit,$(patsubst %.c,build/%,$(wildcard examples/features/*.c)))
MAINLOOP := build/examples/mainloop
CHAT := build/examples/chat/epoll build/examples/chat/uv $(HAVE_ASIO:yes=build/examples/chat/asio)
MINIMQ := build/examples/minimq
EXAMPLES := $(filter-out $(MAINLOOP) $(MINIMQ)%,$(patsubst %.c,build/%,\
	$(wildcard examples/*.c examples/tutorial/*.c))) $(FEATURES)

$(foreach e,$(EXAMPLES:build/%=%),$(call program,$e,$e.c $(TESTED),,,build build/checked))
# These examples need a library of their own. The chat server is built for two event loops.
$(call program,examples/features/group_commit,examples/features/group_commit.c libbaton.a,\
	-lsqlite3,,build build/checked)
$(call needs,demo,examples/mainloop.c examples/chat/uv.c)
$(call program,examples/mainloop,examples/mainloop.c $(TESTED),\
	-luv,,build build/checked)
$(foreach l,epoll uv,$(call program,examples/chat/$l,examples/chat/$l.c examples/chat/chat.c \
	libbaton.a,$(if $(filter uv,$l),-luv),,build build/checked))

$(call needs,demo,$(wildcard examples/minimq*.c),build build/asan build/tsan)
# The tiny broker takes what is pure of the large one.
$(call program,examples/minimq,$(wildcard examples/minimq*.c) \
	examples/broker/pure.a libbaton.a,-luv,,build build/asan build/tsan build/checked)

build/examples/chat/asio build/checked/examples/chat/asio: LINKER = $(CXX) $(CXXFLAGS)
$(if $(HAVE_ASIO),$(call program,examples/chat/asio,examples/chat/asio.cc libbaton.a,,,\
	build build/checked))

examples: $(EXAMPLES) $(MAINLOOP) $(MINIMQ) $(CHAT) $(BROKER) ## the examples

# Says what it builds with V=1 alone.
demo: | build/deps/build build/deps/demo ## what baton does, told in a page; sets up all
	$(if $(filter-out 0,$(V)),,@echo 'Builds baton and its examples first ...')
	$(Q)mkdir -p build/logs
	$(Q)$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc)) \
		examples $(TOP) build/man/made $(if $(filter-out 0,$(V)),,>build/logs/demo 2>&1 || \
		{ cat build/logs/demo; exit 1; })
	$(Q)examples/demo.sh

check-examples: $(EXAMPLES) $(MAINLOOP) ## the examples, which check themselves
	$(Q)test/examples.sh $@ $(sort $^)

$(call program,test/chat/talk,test/chat/talk.c)
check-chat: build/test/chat/talk $(CHAT) ## real clients of the chat servers, over loopback
	$(Q)TEST_ARGS='$(CHAT)' test/run.sh $@ $<

MINIMQ_STORIES = $(call where,command -v mosquitto_sub,mosquitto_sub (Debian: mosquitto-clients),\
	$(SETARCH) test/minimq/stories.sh $@ $< build/broker/e2e)
check-minimq: $(MINIMQ) build/broker/e2e | build/deps/demo \
		## mosquitto's clients and malformed packets: the tiny broker
	$(MINIMQ_STORIES)

check-minimq-asan: build/asan/examples/minimq build/broker/e2e | build/deps/demo \
		## the same under AddressSanitizer
	$(MINIMQ_STORIES)

check-minimq-tsan: build/tsan/examples/minimq build/broker/e2e | build/deps/demo \
		## the same under ThreadSanitizer
	$(MINIMQ_STORIES)

check-commit: | build/deps/commit ## kill -9 loses no row that was acknowledged; needs SQLite
	$(call where,test -n '$(call has,sqlite3.h)',sqlite3.h (Debian: libsqlite3-dev),\
		$(MAKE) --no-print-directory build/examples/features/group_commit && \
		test/commit/kill.sh $@ build/examples/features/group_commit)
