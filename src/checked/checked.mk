# SPDX-License-Identifier: MIT
# Part of the Makefile. libbaton-checked and libbaton for ThreadSanitizer: how they are made and tested.

# libbaton-checked: made by `make CHECKED=1`; if it was made, `make install` puts it into a folder
# of its own. The soname is libbaton's: a program uses it by LD_LIBRARY_PATH, or baton-checked.pc.
CHECKED_SOURCES := $(wildcard $(CHECKING_FOLDERS:%=src/%/*.c))
CHECKED_SHARED := build/checked/lib/libbaton.so.$(VERSION)
CHECKED_LINKS := build/checked/lib/libbaton.so.$(SOVERSION) build/checked/lib/libbaton.so
CHECKED_MADE := $(CHECKED_SHARED) $(CHECKED_LINKS) build/checked/lib/libbaton.a \
	build/checked/lib/baton-checked.pc
CHECKEDDIR := $(LIBDIR)/baton-checked
WANT_CHECKED := $(filter-out 0,$(CHECKED))$(and $(filter install uninstall,$(MAKECMDGOALS)),\
	$(wildcard build/checked/lib/baton-checked.pc))
ifneq ($(strip $(WANT_CHECKED)),)
INSTALLED += $(foreach f,$(filter-out %.pc,$(CHECKED_MADE)),\
	$f:$(f:build/checked/lib/%=$(CHECKEDDIR)/%)) \
	build/checked/lib/baton-checked.pc:$(LIBDIR)/pkgconfig/baton-checked.pc
all: $(CHECKED_MADE)
endif

# The library for programs under ThreadSanitizer: `make TSAN=1`, in the same way.
TSAN_MADE := build/tsan/lib/libbaton.a build/tsan/lib/baton-tsan.pc
TSANDIR := $(LIBDIR)/baton-tsan
WANT_TSAN := $(filter-out 0,$(TSAN))$(and $(filter install uninstall,$(MAKECMDGOALS)),\
	$(wildcard build/tsan/lib/baton-tsan.pc))
ifneq ($(strip $(WANT_TSAN)),)
INSTALLED += build/tsan/lib/libbaton.a:$(TSANDIR)/libbaton.a \
	build/tsan/lib/baton-tsan.pc:$(LIBDIR)/pkgconfig/baton-tsan.pc
all: $(TSAN_MADE)
endif

# ---- libbaton-checked: what misuses it is stopped with a message; see src/checked ----
.PHONY: checked
checked: $(CHECKED_MADE) ## libbaton-checked; `make CHECKED=1` makes it beside the rest

build/checked/baton.map: src/baton.map
	$(Q)mkdir -p $(@D)
	$(Q)sed -e '/baton_inline_/d' -e 's/baton_assert_hook;/& baton_checked_patience_ms;/' $< >$@

$(CHECKED_SHARED): $(SOURCES:%.c=build/checked/%.o) $(CHECKED_SOURCES:%.c=build/checked/%.o) \
		build/checked/baton.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,nodelete -Wl,-soname,libbaton.so.$(SOVERSION) \
		-Wl,--version-script=build/checked/baton.map -o $@ $(filter %.o,$^) $(LDFLAGS) \
		$(LIBS) -pthread

$(CHECKED_LINKS): $(CHECKED_SHARED)
	$(Q)ln -sf $(<F) $@

build/checked/lib/libbaton.a: build/checked/libbaton.a
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@

build/checked/lib/baton-checked.pc: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$(INCLUDEDIR)' 'libdir=$(CHECKEDDIR)' '' \
		'Name: baton-checked' 'Description: baton, which stops at misuse' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
		'Libs: -L$${libdir} -Wl,-rpath,$${libdir} -lbaton -pthread' \
		'Libs.private: $(LIBS)' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

-include $(CHECKED_SOURCES:%.c=build/checked/%.d)

# ---- For programs under ThreadSanitizer ----
build/tsan/lib/libbaton.a: build/tsan/libbaton.a
	$(Q)mkdir -p $(@D)
	$(Q)cp $< $@

build/tsan/lib/baton-tsan.pc: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$(INCLUDEDIR)' 'libdir=$(TSANDIR)' '' \
		'Name: baton-tsan' 'Description: baton, for programs under ThreadSanitizer' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir} -fsanitize=thread' \
		'Libs: -L$${libdir} -fsanitize=thread -lbaton $(LIBS) -pthread' >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# ---- libbaton-checked: it stops each misuse, and no correct program ----
.PHONY: check-checked check-checked-examples deep-checked
CHECKED_MAIN := $(addprefix build/test/checked/,misuses firsts)
check-checked: $(CHECKED_MAIN) $(CHECKED_MADE) build/checked/stress/stress ## each misuse is stopped with a message, no first use is
	$(Q)RUNNER='env LD_LIBRARY_PATH=build/checked/lib' test/run.sh $@ $(CHECKED_MAIN)
	$(Q)build/checked/stress/stress --quiet --seconds 3

# Programs like any other: only where they run they find the checked library.
CHECKED_TESTS := $(wildcard test/checked/*.c)
$(CHECKED_MAIN): build/test/checked/%: $(CHECKED_TESTS:%.c=build/%.o) $(SHARED_LINKS)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter build/test/checked/$*%,$(filter %.o,$^)) $(LDFLAGS) \
		-Lbuild -lbaton -pthread
-include $(CHECKED_TESTS:%.c=build/%.d)

# $1: a program; $2: what it is made of besides the checked library; $3: further libraries.
define checked_program
build/checked/$1: $2 build/checked/libbaton.a
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) -o $$@ $$^ $$(LDFLAGS) $$(LIBS) $3 -pthread
endef

CHECKED_EXAMPLES := $(patsubst build/%,build/checked/%,$(EXAMPLES) $(MAINLOOP))
CHECKED_CHAT := $(patsubst build/%,build/checked/%,$(CHAT))
CHECKED_REDIS := $(if $(HAVE_REDIS),$(patsubst build/%,build/checked/%,$(QUEUE) $(SESSIONS)))
$(foreach e,$(EXAMPLES),$(eval $(call checked_program,$(e:build/%=%),$e.o,)))
$(foreach e,$(MAINLOOP),$(eval $(call checked_program,$(e:build/%=%),$e.o,-luv)))
$(foreach e,$(CHAT),$(eval $(call checked_program,$(e:build/%=%),$e.o build/examples/chat/chat.o,\
	$(if $(filter %/uv,$e),-luv))))
$(foreach e,$(QUEUE),$(eval $(call checked_program,$(e:build/%=%),$e.o \
	build/examples/queue/common.o $(if $(filter %/backend,$e),build/examples/queue/job.o) \
	build/checked/libbaton-redis.a,$(REDIS_LIBS))))
$(eval $(call checked_program,$(SESSIONS:build/%=%),$(SESSIONS).o build/checked/libbaton-redis.a,\
	$(REDIS_LIBS)))
$(eval $(call checked_program,examples/broker/broker,$(BROKER_SOURCES:%.c=build/%.o),$(BROKER_LIBS)))
$(eval $(call checked_program,examples/features/group_commit,\
	build/examples/features/group_commit.o,-lsqlite3))
$(eval $(call checked_program,stress/stress,$(STRESS_SOURCES:%.c=build/%.o),))

check-checked-examples: $(CHECKED_EXAMPLES) $(CHECKED_CHAT) build/test/chat/talk ## the examples with libbaton-checked
	$(Q)BATON_ALL_CHECKS=1 TEST_ARGS='$(CHECKED_CHAT)' test/run.sh $@-chat build/test/chat/talk
	$(Q)test/examples.sh $@ $(sort $(CHECKED_EXAMPLES))

# What a test does on purpose, and the checked library stops: test/checked/differ.txt. The broker
# and the examples over Redis, whose tests take longer.
deep-checked: $(TESTS:%=build/checked/%) build/checked/stress/stress build/broker/e2e \
		build/checked/examples/broker/broker $(CHECKED_REDIS) ## the unit tests, stress and all programs with libbaton-checked
	$(Q)test/checked/unit.sh $@ $(sort $(TESTS:%=build/checked/%))
	$(Q)build/checked/stress/stress --quiet --seconds $(or $(SECONDS),60)
	$(Q)BATON_ALL_CHECKS=1 E2E_SCALE=2 TEST_ARGS='--broker build/checked/examples/broker/broker --jobs 8 $(E2E_ARGS)' \
		test/run.sh $@-broker build/broker/e2e
	$(Q)if echo '#include <sqlite3.h>' | $(CC) -E -x c - >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory build/checked/examples/features/group_commit && \
		test/commit/kill.sh $@-commit build/checked/examples/features/group_commit; \
	fi
ifdef HAVE_REDIS
	$(Q)BUILD=build/checked examples/queue/demo.sh >build/logs/$@/queue
	$(Q)BUILD=build/checked examples/sessions/demo.sh >build/logs/$@/sessions
	$(Q)diff test/examples/sessions.txt build/logs/$@/sessions
endif
