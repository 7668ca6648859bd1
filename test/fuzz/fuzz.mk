# SPDX-License-Identifier: MIT
# Fuzzing: libFuzzer for `make fuzz`; its corpus also without, as a regression.
# A target NAME is FUZZ_NAME, its sources, the one with LLVMFuzzerTestOneInput among them; it has
# test/fuzz/corpus/NAME/ and may have test/fuzz/NAME.dict.
FUZZERS := decoder inflight access rules api
FUZZ_decoder := test/fuzz/fuzz_decoder.c test/fuzz/decoder_model.c \
	test/fuzz/decoder_model5.c test/fuzz/decoder_round.c test/fuzz/decoder_connection.c \
	$(addprefix examples/broker/,mqtt/codec.c mqtt/codec_put.c mqtt/names.c mqtt/properties.c \
	net/input.c)
FUZZ_inflight := test/fuzz/fuzz_inflight.c \
	$(addprefix examples/broker/session/,inflight.c received.c)
FUZZ_access := test/fuzz/fuzz_access.c \
	$(addprefix examples/broker/,common/access.c mqtt/names.c)
FUZZ_rules := test/fuzz/fuzz_rules.c \
	$(addprefix test/admission/,model.c world.c random.c) \
	$(wildcard src/companion/admission/rules*.c)

FUZZ_CC ?= clang
FUZZ_FLAGS := $(TEST_FLAGS) -O1 -g -fno-omit-frame-pointer $(ASAN)

FUZZ_COMPILERS := $(CC) $(FUZZ_CC) $(FUZZ_FLAGS)
build/fuzz/flags: FORCE
	$(call keep,echo '$(FUZZ_COMPILERS)')

build/fuzz/libfuzzer/%.o: %.c build/fuzz/flags | build/deps/corpus build/deps/fuzz
	$(call compile,$(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_CC))

build/fuzz/standalone/%.o: %.c build/fuzz/flags | build/deps/corpus
	$(call compile,$(FUZZ_FLAGS) -Wno-error)

build/fuzz/fuzz_%: LINKER = $(FUZZ_CC) -fsanitize=fuzzer
define fuzzer
build/fuzz/fuzz_$1: $(FUZZ_$1:%.c=build/fuzz/libfuzzer/%.o)
	$$(call link,,$$(ASAN))

build/fuzz/corpus_$1: $(patsubst %.c,build/fuzz/standalone/%.o,$(FUZZ_$1) test/fuzz/standalone.c)
	$$(call link,,$$(ASAN))
endef
$(foreach f,$(filter-out api,$(FUZZERS)),$(eval $(call fuzzer,$f)))

# Programs of public calls under the explorer, which looks after memory itself.
API_ENGINE := $(filter-out test/sim/main.c,$(SIM_ENGINE)) test/fuzz/fuzz_api.c
API_SUBJECTS := $(TESTED_SOURCES) \
	$(addprefix test/sim/scenarios/,api.c api_more.c posts.c support.c \
	executors.c actions.c)
API_TRACED := -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp

build/fuzz/api/%.o: %.c build/fuzz/flags | build/deps/build build/deps/fuzz
	$(call compile,-O2 -g $(SIM_FLAGS),$(FUZZ_CC))

build/fuzz/api/%.simo: %.c build/fuzz/flags | build/deps/build build/deps/fuzz
	$(call compile,-g $(SIM_SUBJECT_FLAGS) $(API_TRACED),$(FUZZ_CC))

build/fuzz/fuzz_api: $(API_ENGINE:%.c=build/fuzz/api/%.o) \
		$(API_SUBJECTS:%.c=build/fuzz/api/%.simo) test/sim/globals.ld
	$(call link,$(SIM_LAYOUT),-no-pie)

build/fuzz/corpus_api: $(patsubst %.c,build/sim/%.o,$(API_ENGINE) test/fuzz/standalone.c) \
		$(API_SUBJECTS:%.c=build/sim/%.simo) test/sim/globals.ld
	$(call link,$(SIM_LAYOUT),-no-pie)

fuzz: $(FUZZERS:%=build/fuzz/fuzz_%) ## each fuzz target for SECONDS (60)
	$(Q)test/fuzz/run.sh $(or $(SECONDS),60) $(FUZZERS)

check-fuzz-corpus: $(FUZZERS:%=build/fuzz/corpus_%) ## their corpora, and mutations of these
	$(Q)TEST_ARGS= test/run.sh check-fuzz-corpus $^
