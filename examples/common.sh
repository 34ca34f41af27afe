# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the run scripts of the examples, which all read
#
#   run [--plain] [ARGUMENT...]
#
# --plain runs the program without recording.  Otherwise it is recorded, and the first reports are
# shown.  TWINHEAP_BUILD is the build directory, JAVA_HOME the Java to use.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${TWINHEAP_BUILD:-$root/build}
name=$(basename "$(cd "$(dirname "$0")" && pwd)")
here=$build/examples/$name
log=$here/$name.thl

plain=
if [ "${1:-}" = --plain ]; then
	plain=yes
	shift
fi

# java_home: prints JAVA_HOME, or the newest Java of this machine.
java_home() {
	if [ -n "${JAVA_HOME:-}" ]; then
		printf '%s\n' "$JAVA_HOME"
	else
		"$root/scripts/find-jdks" | tail -n 1 | cut -d ' ' -f 2
	fi
}

# java_feature HOME: its feature release, 0 when unknown.
java_feature() {
	"$root/scripts/find-jdks" | awk -v home="$(readlink -f "$1")" \
		'$2 == home { feature = $1 } END { print feature + 0 }'
}

# record COMMAND...: runs it under twinheap, or with --plain without recording.
record() {
	[ -z "$plain" ] || exec "$@"
	rm -f "$log"
	"$build/twinheap" run -q ${record_options[@]+"${record_options[@]}"} -o "$log" -- "$@"
}

# show_reports: prints the most important reports, as far as they fit a screen.
show_reports() {
	"$build/twinheap" summary "$log"
	printf '\n'
	"$build/twinheap" tree "$log" | sed -n "1,${TWINHEAP_EXAMPLE_LINES:-50}p"
	printf '\nThe log is %s\n' "$log"
}

if [ ! -d "$here" ]; then
	echo "run: $here is missing: build first, with scons" >&2
	exit 1
fi
