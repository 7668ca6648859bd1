# SPDX-License-Identifier: MIT
# Part of the Makefile. Fuzzing.

# ---- Fuzzing: libFuzzer for `make fuzz`; its corpus also without, as a regression ----
# A target NAME is FUZZ_NAME, its sources, the one with LLVMFuzzerTestOneInput among them; it has
# test/fuzz/corpus/NAME/ and may have test/fuzz/NAME.dict.
FUZZERS := decoder inflight rules api
FUZZ_decoder := test/fuzz/fuzz_decoder.c test/fuzz/decoder_model.c test/fuzz/decoder_connection.c \
	$(addprefix examples/broker/,mqtt/codec.c mqtt/names.c net/input.c)
FUZZ_inflight := test/fuzz/fuzz_inflight.c $(addprefix examples/broker/session/,inflight.c received.c)

FUZZ_rules := test/fuzz/fuzz_rules.c \
	$(addprefix test/admission/,model.c world.c random.c) $(wildcard src/admission/rules*.c)

FUZZ_CC ?= clang
FUZZ_SOURCES := $(sort $(foreach f,$(FUZZERS),$(FUZZ_$f)))
FUZZ_FLAGS := $(TEST_FLAGS) -O1 -g -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all

build/fuzz/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(CC) $(FUZZ_CC) $(FUZZ_FLAGS)' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/fuzz/libfuzzer/%.o: %.c build/fuzz/flags | build/deps/corpus build/deps/fuzz
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

build/fuzz/standalone/%.o: %.c build/fuzz/flags | build/deps/corpus
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(FUZZ_FLAGS) -Wno-error -c -o $@ $<

define fuzzer
build/fuzz/fuzz_$1: $(FUZZ_$1:%.c=build/fuzz/libfuzzer/%.o)
	$$(call say,LD,$$@)
	$$(Q)$$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $$@ $$^ -pthread

build/fuzz/corpus_$1: $(FUZZ_$1:%.c=build/fuzz/standalone/%.o) \
		build/fuzz/standalone/test/fuzz/standalone.o
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -fsanitize=address,undefined -o $$@ $$^ -pthread
endef
$(foreach f,$(filter-out api,$(FUZZERS)),$(eval $(call fuzzer,$f)))

# Programs of public calls under the explorer, which looks after memory itself.
API_ENGINE := $(filter-out test/sim/main.c,$(SIM_ENGINE)) test/fuzz/fuzz_api.c
API_SUBJECTS := $(SOURCES) $(addprefix test/sim/scenarios/,api.c api_more.c posts.c support.c executors.c actions.c)

build/fuzz/api/%.o: %.c build/fuzz/flags | build/deps/build build/deps/fuzz
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -O2 -g $(SIM_FLAGS) -c -o $@ $<

build/fuzz/api/%.simo: %.c build/fuzz/flags | build/deps/build build/deps/fuzz
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -g $(SIM_SUBJECT_FLAGS) -c -o $@ $< \
		-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp

build/fuzz/fuzz_api: $(API_ENGINE:%.c=build/fuzz/api/%.o) $(API_SUBJECTS:%.c=build/fuzz/api/%.simo) \
		test/sim/globals.ld
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer -no-pie -o $@ $(filter %.o %.simo,$^) $(LIBS) \
		-Wl,-T,test/sim/globals.ld -pthread

build/fuzz/corpus_api: $(API_ENGINE:%.c=build/sim/%.o) $(API_SUBJECTS:%.c=build/sim/%.simo) \
		build/sim/test/fuzz/standalone.o test/sim/globals.ld
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -no-pie -o $@ $(filter %.o %.simo,$^) $(LDFLAGS) $(LIBS) \
		-Wl,-T,test/sim/globals.ld -pthread

-include $(API_ENGINE:%.c=build/fuzz/api/%.d) $(API_SUBJECTS:%.c=build/fuzz/api/%.d) \
	build/sim/test/fuzz/fuzz_api.d build/sim/test/fuzz/standalone.d

-include $(foreach f,$(FUZZ_SOURCES) test/fuzz/standalone.c,\
	$(f:%.c=build/fuzz/libfuzzer/%.d) $(f:%.c=build/fuzz/standalone/%.d))

.PHONY: fuzz check-fuzz-corpus
fuzz: $(FUZZERS:%=build/fuzz/fuzz_%) ## each fuzz target for SECONDS (60)
	$(Q)test/fuzz/run.sh $(or $(SECONDS),60) $(FUZZERS)

check-fuzz-corpus: $(FUZZERS:%=build/fuzz/corpus_%) ## their corpora, and mutations of these
	$(Q)TEST_ARGS= test/run.sh check-fuzz-corpus $^
