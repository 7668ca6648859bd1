# SPDX-License-Identifier: MIT
# Debian packages; src/packaging/debian is their debian/ folder.
DEB_ENV = DEB=build/deb VERSION='$(VERSION)' SOVERSION='$(SOVERSION)' ARCH='$(ARCH)' MAKE='$(MAKE)'

deb: | build/deps/deb ## Debian packages in build/deb; ARCH=arm64: as root, cross built in a root
	$(Q)$(DEB_ENV) src/packaging/source.sh
	$(Q)$(DEB_ENV) src/packaging/build.sh nocheck

deep-deb: ## the same in a fresh root, tested; lintian; installs, uses, purges; ARCH=
	$(call where,command -v dpkg-buildpackage,dpkg-buildpackage (Debian: dpkg-dev),\
		$(DEB_ENV) test/deb/check.sh)
