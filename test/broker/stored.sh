#!/bin/sh
# SPDX-License-Identifier: MIT
# The broker with a store of its own: e2e --broker test/broker/stored.sh tells all stories of it.
root=$(cd "$(dirname "$0")/../.." && pwd)
store=$root/build/e2e-store/any.$$.db
mkdir -p "${store%/*}"
rm -f "$store"*
exec "${BROKER:-$root/build/examples/broker/broker}" --store "$store" "$@"
