# SPDX-License-Identifier: MIT
# Part of the Makefile. The rules of admission beside their model; see test/admission/main.c.

# The model of the rules of admission, beside which their tests run them.
RULES_MODEL := $(addprefix test/admission/,model.c world.c random.c sequences.c)
RULES_TESTS := $(filter test/unit/admission/test_rules%,$(TESTS))

# ---- The rules of admission, beside their model; see test/admission/main.c ----
build/admission/admission: build/test/admission/main.o $(RULES_MODEL:%.c=build/%.o) build/libbaton.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -pthread
-include build/test/admission/main.d

.PHONY: check-admission deep-admission
check-admission: build/admission/admission ## short sequences of events, and random ones
	$(Q)TEST_ARGS='$(ADMISSION_ARGS)' test/run.sh $@ $<

deep-admission: build/admission/admission ## all of length 7, prints the numbers; ADMISSION_ARGS
	$(Q)$< --length 7 --random $(or $(SECONDS),60) $(ADMISSION_ARGS)
