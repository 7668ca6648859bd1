# SPDX-License-Identifier: MIT
# Part of the Makefile. baton-top, and its test.

# baton-top is built where ncurses is.
TOP_SOURCES := $(wildcard src/top/*.c)
NCURSES := $(shell printf '\043include <ncurses.h>\n' | $(CC) -E -x c - 2>/dev/null | head -n 1)
TOP := $(if $(NCURSES),build/baton-top)

$(TOP): $(TOP_SOURCES:%.c=build/%.o) build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -lncurses -pthread
-include $(TOP_SOURCES:%.c=build/%.d)

# ---- baton-top, which looks at a program ----
.PHONY: check-top
check-top: build/baton-top build/test/top/subject build/test/top/history ## baton-top looks at live, stopped and dead programs
	$(Q)test/top/check.sh $@ $^

build/test/top/%: build/test/top/%.o build/libbaton.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LIBS) -pthread
-include $(wildcard build/test/top/*.d)
