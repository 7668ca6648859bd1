#!/bin/sh
# SPDX-License-Identifier: MIT
# What .ci/deps.sh says where something is missing: for whom, and no more than that. Missing is what
# the compiler does not find: here one that does not find what HIDDEN names.
set -u

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/cc" <<'EOF'
#!/bin/sh
input=$(cat)
for name in $HIDDEN; do
	case $input in
	*"<$name>"*) exit 1 ;;
	esac
done
exit 0
EOF
chmod +x "$tmp/cc"
# The commands are all there, even where they are not installed.
for name in $(sed -n 's/.*need_command \([a-z0-9_-]*\) .*/\1/p' .ci/deps.sh); do
	ln -sf cc "$tmp/$name"
done
PATH=$PATH:$tmp
bad=0

says() # hidden headers, groups, expected message
{
	said=$(HIDDEN=$1 CC=$tmp/cc CXX=cc .ci/deps.sh --check $2 2>&1)
	status=$?
	[ "$said" = "$3" ] && [ "$status" -eq 1 ] && return
	printf 'deps.sh --check %s without %s, status %s:\n%s\nexpected:\n%s\n' "$2" "$1" \
		"$status" "$said" "$3"
	bad=1
}

install='As root on Debian: apt-get install -y --no-install-recommends'
says ck_pr.h build "Missing for the library: libck-dev
$install libck-dev"
says 'ck_pr.h criterion/criterion.h' 'build test' "Missing for the library: libck-dev
Missing for the tests: libcriterion-dev
$install libck-dev libcriterion-dev"
HIDDEN='' CC=$tmp/cc .ci/deps.sh --check build || bad=1
exit $bad
