#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The machine goes to sleep while interrupts are raised and moved: the thread
# freezes and goes on, masks are as without the balancer.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
[ -w /sys/power/pm_test ] || skip_all "no /sys/power/pm_test: CONFIG_PM_DEBUG is not set"
grep -qw freeze /sys/power/state || skip_all "this machine cannot sleep"
stage find_sources 4 2
ktap_set_plan 3
save /sys/power/pm_test

# What holds the root has to stay awake: then tasks are frozen and no more
depth="freezer devices processors core"
case $(findmnt -no FSTYPE / 2>/dev/null) in 9p|nfs*|virtiofs) depth=freezer ;; esac
nap() { # depth
	echo "$1" >/sys/power/pm_test && echo "${kind:-freeze}" >/sys/power/state
}
grep -qw mem /sys/power/state && kind=mem
read -ra depths <<<"$depth"

state off
masks >"$TMP/masks.0"
for d in "${depths[@]}"; do nap "$d" || ktap_print_msg "$d: it does not sleep"; done
masks >"$TMP/masks.1"

state on
restless
load "$RATE" "${SOURCES[@]}"
sleep 0.5
value $BALANCER/stats/passes passes
r=0
for d in "${depths[@]}" "${depths[@]}"; do nap "$d" || r=1; done
result "it sleeps and wakes while interrupts are moved" $r "$((2 * ${#depths[@]})) times, ${depths[*]}"

trace_clear
sleep 2
value $BALANCER/stats/passes now
# shellcheck disable=SC2154
[ "$now" -gt "$passes" ] && [ "$(traced move)" -ge 5 ]
result "the thread goes on after it was frozen" $? "$(traced move) moves in 2 s"
quiet

[ "$BREAK" = mask ] && echo 1 >"/proc/irq/${SOURCES[0]}/smp_affinity"
masks >"$TMP/masks.2"
diff "$TMP/masks.0" "$TMP/masks.1" >"$TMP/diff.off"
diff "$TMP/masks.0" "$TMP/masks.2" >"$TMP/diff.on"
difference=$(diff "$TMP/diff.off" "$TMP/diff.on")
result "the balancer adds nothing to what sleep does to the masks" $? "$difference"

ktap_finished
