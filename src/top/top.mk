# SPDX-License-Identifier: MIT
# baton-top, which is built where ncurses is, and its check.
TOP := $(if $(call has,ncurses.h,-lncurses),build/baton-top)

$(call program,baton-top,$(wildcard src/top/*.c) libbaton.a,-lncurses)
$(foreach p,subject history,$(call program,test/top/$p,test/top/$p.c libbaton.a))

check-top: build/baton-top build/test/top/subject build/test/top/history \
		## baton-top looks at live, stopped and dead programs
	$(Q)test/top/check.sh $@ $^
