# SPDX-License-Identifier: MIT
# libbaton-admission; and the rules of admission beside their model, see test/admission/main.c.
COMPANIONS_MADE += admission
$(call companion,admission,$(wildcard src/companion/admission/*.c))
# For its assertions.
build/libbaton-admission.so.$(VERSION): build/src/base/assert.o

RULES_MODEL := $(addprefix test/admission/,model.c world.c random.c sequences.c)
# The rules' tests run the model, too.
RULES_TESTS := $(filter test/unit/admission/test_rules%,$(TESTS))
$(if $(RULES_TESTS),$(foreach v,$(VARIANTS),$(eval \
	$(RULES_TESTS:%=$v/%): $(RULES_MODEL:%.c=$v/%.o))))

$(call program,admission/admission,test/admission/main.c $(RULES_MODEL) $(TESTED))

check-admission: build/admission/admission ## short sequences of events, and random ones
	$(Q)TEST_ARGS='$(ADMISSION_ARGS)' test/run.sh $@ $<

deep-admission: build/admission/admission ## all of length 7, prints the numbers; ADMISSION_ARGS
	$(Q)$< --length 7 --random $(or $(SECONDS),60) $(ADMISSION_ARGS)
