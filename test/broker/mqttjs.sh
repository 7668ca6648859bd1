#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts MQTT.js into a folder, if there is node and npm and no MQTT.js yet. It may fail: then the
# story that needs it is skipped, by name.
#
#	mqttjs.sh FOLDER
set -u

version=5.16.0
[ ! -e "$1/node_modules/mqtt/package.json" ] || exit 0
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || exit 0
mkdir -p "$1"
timeout 120 npm install --no-save --no-audit --no-fund --silent --prefix "$1" "mqtt@$version" \
	>"$1/log" 2>&1 </dev/null || echo "MQTT.js could not be had, see $1/log. Going on without."
