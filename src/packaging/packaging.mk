# SPDX-License-Identifier: MIT
# Debian packages; src/packaging/debian is their debian/ folder.
DEB_ENV = DEB=build/deb VERSION='$(VERSION)' SOVERSION='$(SOVERSION)' ARCH='$(ARCH)'

deb: ## Debian packages in build/deb, untested; ARCH=arm64 builds them in a root, as root
	$(Q)$(DEB_ENV) src/packaging/source.sh
	$(Q)$(DEB_ENV) src/packaging/build.sh nocheck

deep-deb: ## the same in a fresh root, tested; lintian; they are installed, used, purged; ARCH=
	$(Q)$(DEB_ENV) test/deb/check.sh
