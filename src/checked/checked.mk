# SPDX-License-Identifier: MIT
# libbaton-checked: what misuses it is stopped with a message; see src/checked. Made by `make
# CHECKED=1`; if it was made, `make install` puts it into a folder of its own. The soname is
# libbaton's: a program uses it by LD_LIBRARY_PATH, or baton-checked.pc. And, made by `make TSAN=1`
# in the same way, the library for programs under ThreadSanitizer.
CHECKED_SOURCES := $(wildcard $(CHECKING_FOLDERS:%=src/%/*.c))
CHECKED_MADE := $(call shared_files,build/checked/lib/libbaton) build/checked/lib/libbaton.a
CHECKEDDIR := $(LIBDIR)/baton-checked
TSAN_MADE := $(TESTED:%=build/tsan/lib/%)
TSANDIR := $(LIBDIR)/baton-tsan

# $1: CHECKED or TSAN; $2: its name. Wanted, or made before?
define at_wish
ifneq ($(strip $(filter-out 0,$($1))$(and $(filter install uninstall,$(MAKECMDGOALS)),\
	$(wildcard build/pkgconfig/baton-$2.pc))),)
PC_FILES += build/pkgconfig/baton-$2.pc
INSTALLED += $(call into,$($1_MADE),build/$2/lib,$($1DIR))
all: $($1_MADE)
endif
build/$2/lib/%.a: build/$2/%.a
	$$(Q)mkdir -p $$(@D)
	$$(Q)cp $$< $$@
endef
$(eval $(call at_wish,CHECKED,checked))
$(eval $(call at_wish,TSAN,tsan))

$(call archive,libbaton.a,$(SOURCES) $(CHECKED_SOURCES),build/checked)
$(call shared,build/checked/lib/libbaton,$(patsubst %.c,build/checked/%.o,\
	$(SOURCES) $(CHECKED_SOURCES)),build/checked/baton.map,$$(NODELETE),$(LIBS))

build/checked/baton.map: src/baton.map
	$(Q)mkdir -p $(@D)
	$(Q)sed -e '/baton_inline_/d' -e \
		's/baton_assert_hook;/& baton_checked_patience_ms; baton_checked_refusals;/' $< >$@

checked: $(CHECKED_MADE) build/pkgconfig/baton-checked.pc \
		## libbaton-checked; `make CHECKED=1` makes it beside the rest

# ---- It stops each misuse, and no correct program ----
# These programs link libbaton: where they run, they find the checked library in its place.
CHECKED_MAIN := $(addprefix build/test/checked/,misuses firsts)
$(foreach p,misuses firsts,$(call program,test/checked/$p,$(wildcard test/checked/$p*.c),\
	-Lbuild $(PLAIN_COMPANIONS:%=-lbaton-%) -lbaton))
$(CHECKED_MAIN): $(SHARED) $(PLAIN_COMPANIONS:%=build/libbaton-%.so)

check-checked: $(CHECKED_MAIN) $(CHECKED_MADE) build/checked/stress/stress \
		## each misuse is stopped with a message, no first use is
	$(Q)RUNNER='env LD_LIBRARY_PATH=build/checked/lib:build' test/run.sh $@ $(CHECKED_MAIN)
	$(Q)build/checked/stress/stress --quiet --seconds 3 --patience 120

CHECKED_EXAMPLES := $(patsubst build/%,build/checked/%,$(EXAMPLES) $(MAINLOOP))
CHECKED_CHAT := $(patsubst build/%,build/checked/%,$(CHAT))
check-checked-examples: $(CHECKED_EXAMPLES) $(CHECKED_CHAT) build/test/chat/talk \
		## the examples with libbaton-checked
	$(Q)BATON_ALL_CHECKS=1 TEST_ARGS='$(CHECKED_CHAT)' test/run.sh $@-chat build/test/chat/talk
	$(Q)test/examples.sh $@ $(sort $(CHECKED_EXAMPLES))

# What a test does on purpose, and the checked library stops: test/checked/differ.txt. The broker
# and the examples over Redis, whose tests take longer.
CHECKED_BROKER := $(BROKER:build/%=build/checked/%)
deep-checked: $(TESTS:%=build/checked/%) build/checked/stress/stress build/broker/e2e \
		$(CHECKED_BROKER) $(if $(HAVE_REDIS),$(patsubst build/%,build/checked/%,\
		$(QUEUE) $(SESSIONS))) ## the unit tests, stress, all programs with libbaton-checked
	$(Q)test/checked/unit.sh $@ $(sort $(TESTS:%=build/checked/%))
	$(Q)build/checked/stress/stress --quiet --seconds $(or $(SECONDS),60)
	$(Q)BATON_ALL_CHECKS=1 E2E_SCALE=2 TEST_ARGS='--broker $(CHECKED_BROKER) --jobs 8 \
		$(E2E_ARGS)' test/run.sh $@-broker build/broker/e2e
	$(Q)if test -n '$(call has,sqlite3.h)'; then \
		$(MAKE) --no-print-directory build/checked/examples/features/group_commit && \
		test/commit/kill.sh $@-commit build/checked/examples/features/group_commit; \
	fi
ifdef HAVE_REDIS
	$(Q)BUILD=build/checked examples/queue/demo.sh >build/logs/$@/queue
	$(Q)BUILD=build/checked examples/sessions/demo.sh >build/logs/$@/sessions
	$(Q)diff test/examples/sessions.txt build/logs/$@/sessions
endif
