# SPDX-License-Identifier: MIT
# The broker: the program, its stories from end to end, the load on it.
BROKER_SOURCES := $(wildcard $(BROKER_FOLDERS:%=examples/broker/%/*.c) examples/broker/*.c)
BROKER := build/examples/broker/broker
BROKER_LIBS := -luv -lssl -lcrypto -lcrypt -lsqlite3 -lm
# What of it needs no library but libc has unit tests.
BROKER_PURE := mqtt/codec mqtt/codec_put mqtt/names mqtt/properties common/access common/hash \
	common/logfmt common/printable common/stats net/address session/inflight session/ready \
	session/aliases_out session/received topic/audience aliases turns
BROKER_IMPURE := $(filter-out $(BROKER_PURE:%=examples/broker/%.c),$(BROKER_SOURCES))
BROKER_TESTS := $(filter test/broker/unit/%,$(TESTS))

$(call archive,examples/broker/pure.a,$(BROKER_PURE:%=examples/broker/%.c),$(VARIANTS))
# This file says which these are.
$(VARIANTS:%=%/examples/broker/pure.a): examples/broker/broker.mk
$(if $(BROKER_TESTS),$(foreach v,$(VARIANTS),$(eval \
	$(BROKER_TESTS:%=$v/%): $v/examples/broker/pure.a)))

$(call needs,demo,$(BROKER_IMPURE),build build/asan build/tsan)
$(call program,examples/broker/broker,$(BROKER_SOURCES) libbaton.a,$(BROKER_LIBS),,\
	build build/asan build/tsan build/checked)

# ---- From end to end: real clients, and what no client sends; see test/broker/story.h ----
MQTTJS := test/broker/mqttjs.sh build/mqttjs
$(call program,broker/e2e,$(wildcard test/broker/*.c))
# Between a broker and its disk, for stories of a disk that fails.
build/broker/disk.so: test/broker/preload/disk.c test/broker/preload/disk.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(filter-out -MMD -MP,$(BASE_FLAGS)) -fPIC -shared -o $@ $<

# E2E_ARGS='--mosquitto' or '--filter will_*': see build/broker/e2e --help.
check-broker: build/broker/e2e build/broker/disk.so $(BROKER) $(TOP) | build/deps/demo \
		## the broker and its clients, end to end
	$(Q)$(MQTTJS)
	$(Q)TEST_ARGS='$(E2E_ARGS)' test/run.sh $@ $<

deep-broker: build/broker/e2e build/broker/disk.so $(BROKER) build/broker_bench/load \
		## the broker with a store: all stories; struck at each call; restarts; a soak
	$(Q)$(RM) -r build/e2e-store
	$(Q)TEST_ARGS='--broker test/broker/stored.sh' test/run.sh $@-stories $<
	$(Q)TEST_ARGS=--five test/run.sh $@-five $<
	$(Q)E2E_DEEP=1 TEST_ARGS="--filter disk_*" test/run.sh $@-kills $<
	$(Q)test/broker/restart.sh
	$(Q)test/broker/soak.sh

# What it gives back must not wait in the quarantine: some stories measure its memory.
check-broker-asan: build/broker/e2e build/asan/examples/broker/broker ## under AddressSanitizer
	$(Q)$(MQTTJS)
	$(Q)ASAN_MORE=quarantine_size_mb=1 E2E_SCALE=3 \
		TEST_ARGS='--broker $(word 2,$^) --jobs 8 $(E2E_ARGS)' test/run.sh $@ $<

check-broker-tsan: build/broker/e2e build/tsan/examples/broker/broker ## under ThreadSanitizer
	$(Q)$(MQTTJS)
	$(Q)E2E_SCALE=5 TEST_ARGS='--broker $(word 2,$^) --jobs 4 $(E2E_ARGS)' $(SETARCH) \
		test/run.sh $@ $<

# ---- Load on the broker, ours and others; FLASHMQ=path; see test/broker_bench/README.md ----
$(call program,broker_bench/load,$(wildcard test/broker_bench/*.c))

$(call program,broker_bench/floor,test/broker_bench/store/floor.c \
	$(patsubst %,examples/broker/%.c,store/database common/log common/log_target common/logfmt \
	common/printable mqtt/names) \
	libbaton.a,-lsqlite3)

build/test/broker_bench/%.o: test/broker_bench/%.c build/flags | build/deps/build
	$(call compile,$(BASE_FLAGS) $(BROKER_INCLUDE))

bench-broker: build/broker_bench/load $(BROKER) | build/deps/bench ## the broker beside mosquitto
	$(Q)FLASHMQ='$(FLASHMQ)' test/broker_bench/run.sh $(BENCH_ARGS)

bench-broker-store: build/broker_bench/load build/broker_bench/floor $(BROKER) \
		| build/deps/bench ## messages that outlive the broker, and what the disk allows
	$(Q)test/broker_bench/run.sh --store $(BENCH_ARGS)

picture-trace: $(BROKER) build/broker_bench/load $(TOP) ## the picture in the broker's README
	$(Q)test/readme/trace.sh $^ test/readme/trace.svg

check-load: build/broker_bench/load ## the broker's load generator finds the faults put in
	$(Q)timeout 600 $< --selftest
