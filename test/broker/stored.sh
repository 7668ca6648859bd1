#!/bin/sh
# SPDX-License-Identifier: MIT
# The broker with a store of its own: e2e --broker test/broker/stored.sh tells all stories of it.
mkdir -p build/e2e-store
store=build/e2e-store/any.$$.db
rm -f "$store"*
exec "${BROKER:-build/examples/broker/broker}" --store "$store" "$@"
