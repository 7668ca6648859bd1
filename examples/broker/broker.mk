# SPDX-License-Identifier: MIT
# Part of the Makefile. The broker: the program, its stories from end to end, the load on it.

BROKER_SOURCES := $(wildcard $(BROKER_FOLDERS:%=examples/broker/%/*.c) examples/broker/*.c)
# What of it needs no library but libc has unit tests.
BROKER_PURE := mqtt/codec mqtt/names common/hash common/printable net/address session/inflight \
	session/received topic/audience turns
BROKER_TESTS := $(filter test/broker/unit/%,$(TESTS))

BROKER_IMPURE := $(filter-out $(BROKER_PURE:%=examples/broker/%.c),$(BROKER_SOURCES))
BROKER_LIBS := -luv -lssl -lcrypto -lcrypt
BROKER := $(if $(BROKER_SOURCES),build/examples/broker/broker)

$(BROKER_IMPURE:%.c=build/%.o): | build/deps/demo

build/examples/broker/broker: $(BROKER_SOURCES:%.c=build/%.o) build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) $(BROKER_LIBS) -pthread

# ---- Load on the broker, ours and others; FLASHMQ=path; see test/broker_bench/README.md ----
LOAD_SOURCES := $(wildcard test/broker_bench/*.c)

build/test/broker_bench/%.o: test/broker_bench/%.c build/flags | build/deps/build
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(BASE_FLAGS) -c -o $@ $<

build/broker_bench/load: $(LOAD_SOURCES:%.c=build/%.o)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS)

-include $(LOAD_SOURCES:%.c=build/%.d)

.PHONY: bench-broker check-load
bench-broker: build/broker_bench/load $(BROKER) | build/deps/bench ## the broker beside mosquitto
	$(Q)FLASHMQ='$(FLASHMQ)' test/broker_bench/run.sh $(BENCH_ARGS)

.PHONY: picture-trace
picture-trace: $(BROKER) build/broker_bench/load $(TOP) ## the README's picture
	$(Q)test/readme/trace.sh $^ test/readme/trace.svg

check-load: build/broker_bench/load ## the broker's load generator finds the faults put in
	$(Q)timeout 60 $< --selftest

# ---- The broker from end to end: real clients, and what no client sends; see test/broker/story.h ----
E2E_SOURCES := $(wildcard test/broker/*.c)
MQTTJS := test/broker/mqttjs.sh build/mqttjs

build/broker/e2e: $(E2E_SOURCES:%.c=build/%.o)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS)

-include $(E2E_SOURCES:%.c=build/%.d)

# $1: where its files go; $2: what it adds to linking.
define instrumented_broker
$(BROKER_IMPURE:%.c=$1/%.o): | build/deps/demo

$1/examples/broker/broker: $(BROKER_SOURCES:%.c=$1/%.o) $1/libbaton.a
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(CFLAGS) $2 -o $$@ $$^ $$(LDFLAGS) $$(LIBS) $$(BROKER_LIBS) -pthread

-include $(BROKER_SOURCES:%.c=$1/%.d)
endef

$(eval $(call instrumented_broker,build/asan,$(ASAN)))
$(eval $(call instrumented_broker,build/tsan,-fsanitize=thread))

# E2E_ARGS='--mosquitto' or '--filter will_*': see build/broker/e2e --help.
.PHONY: check-broker check-broker-asan check-broker-tsan
check-broker: build/broker/e2e $(BROKER) $(TOP) | build/deps/demo ## the broker and its clients, end to end
	$(Q)$(MQTTJS)
	$(Q)TEST_ARGS='$(E2E_ARGS)' test/run.sh $@ $<

# What it gives back must not wait in the quarantine: some stories measure its memory.
check-broker-asan: build/broker/e2e build/asan/examples/broker/broker ## under AddressSanitizer
	$(Q)$(MQTTJS)
	$(Q)ASAN_MORE=quarantine_size_mb=1 E2E_SCALE=3 TEST_ARGS='--broker $(word 2,$^) --jobs 8 $(E2E_ARGS)' test/run.sh $@ $<

check-broker-tsan: build/broker/e2e build/tsan/examples/broker/broker ## under ThreadSanitizer
	$(Q)$(MQTTJS)
	$(Q)E2E_SCALE=5 TEST_ARGS='--broker $(word 2,$^) --jobs 4 $(E2E_ARGS)' $(SETARCH) \
		test/run.sh $@ $<
