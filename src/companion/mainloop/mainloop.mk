# SPDX-License-Identifier: MIT
# libbaton-mainloop.
COMPANIONS_MADE += mainloop
$(call companion,mainloop,$(wildcard src/companion/mainloop/*.c))
# For its assertions.
build/libbaton-mainloop.so.$(VERSION): build/src/base/assert.o
