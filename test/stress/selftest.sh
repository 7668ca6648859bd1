#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: selftest.sh STRESS
# Can the checker fail? Each --break spoils its records once, and it must complain; unspoiled, it
# must not.
set -u

stress=${1:?usage: selftest.sh STRESS}
seed=${SEED:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

run() {
	timeout 600 "$stress" --quiet --seed "$seed" --tasks 400000 "$@" >"$log" 2>&1
}

# A busy machine lets threads wait for long.
if ! run --only core --patience 120; then
	echo "unspoiled: complains"
	cat "$log"
	exit 1
fi

for name in $("$stress" --list-breaks); do
	case $name in
	mod-*) only=modules ;;
	*) only=core ;;
	esac
	run --only "$only" --break "$name" --patience 3
	status=$?
	found=$(sed -n 's/^VIOLATION: //p' "$log" | head -n 1)
	if [ "$status" -eq 1 ] && [ -n "$found" ]; then
		printf '  %-10s %s\n' "$name" "$found"
	else
		printf '  %-10s NOT CAUGHT (status %s)\n' "$name" "$status"
		failed=1
	fi
done
[ "$failed" -eq 0 ] && echo "selftest: the checker caught all of them"
exit "$failed"
