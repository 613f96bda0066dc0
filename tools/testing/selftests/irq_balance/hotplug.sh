#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CPUs go offline and online while interrupts are raised and moved: no interrupt is
# lost or left on an offline CPU, and no mask changes.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
need_hotplug
stage find_sources 4 2
ktap_set_plan 4

# The changes that the kernel makes to the masks by itself
state off
masks >"$TMP/masks.0"
crowd "${cpus[@]}" || ktap_exit_fail_msg "CPUs do not go offline and online"
masks >"$TMP/masks.off"
crowd "${cpus[@]}"
masks >"$TMP/masks.1"

state on
trace_clear
declare -A count
for i in "${SOURCES[@]}"; do count[$i]=$(count_of "$i"); done
load "$RATE" "${SOURCES[@]}"
r=0
for round in 1 2 3; do
	crowd "${cpus[@]}" || r=1
	# one by one, in the other order
	for ((c = ${#cpus[@]} - 1; c > 0; c--)); do
		echo 0 >"/sys/devices/system/cpu/cpu${cpus[c]}/online" || r=1
		for i in "${SOURCES[@]}"; do
			where=$(cpu_of "$i")
			[ "$where" != "${cpus[c]}" ] && continue
			r=1
			ktap_print_msg "$i on CPU$where, which is offline"
		done
		echo 1 >"/sys/devices/system/cpu/cpu${cpus[c]}/online" || r=1
		sleep 0.1
	done
done
result "no interrupt is left on a CPU that is offline" $r "$round rounds, $(traced move) moves"
quiet
sleep 0.2

r=0
for i in "${SOURCES[@]}"; do
	raised=$(sed -n "s/^$i: \([0-9]*\) injected.*/\1/p" "$TMP/injected")
	served=$(($(count_of "$i") - count[$i]))
	[ "${raised:-0}" -gt "$RATE" ] && [ "$served" -ge "$raised" ] || r=1
	ktap_print_msg "$i: $raised raised, $served served"
done
result "no interrupt is lost" $r

[ "$BREAK" = mask ] && echo 1 >"/proc/irq/${SOURCES[0]}/smp_affinity"
masks >"$TMP/masks.2"
# The same change, if any, as without the balancer
diff "$TMP/masks.0" "$TMP/masks.1" >"$TMP/diff.off"
diff "$TMP/masks.0" "$TMP/masks.2" >"$TMP/diff.on"
difference=$(diff "$TMP/diff.off" "$TMP/diff.on")
result "the balancer adds nothing to what hotplug does to the masks" $? "$difference"

state off
crowd "${cpus[@]}"
[ "$(different_cpus "${SOURCES[@]}")" = 1 ] || ktap_exit_fail_msg "not all on the first CPU"
load "$RATE" "${SOURCES[@]}"
# On a busy host less is injected; one may be light still and get no CPU of its own
heavy_from 1
state on
want=$((${#SOURCES[@]} < 4 ? ${#SOURCES[@]} : 3)) tries=0
[ $want -le ${#cpus[@]} ] || want=${#cpus[@]}
until [ "$(different_cpus "${SOURCES[@]}")" -ge $want ] || [ $((tries += 1)) -gt 300 ]; do
	sleep 0.1
done
loads=
for i in "${SOURCES[@]}"; do
	value "$IRQS/$i/load_ns_per_s" now
	loads+=" $now"
done
quiet
[ $tries -le 300 ]
result "the CPUs that came back are used" $? \
	"after about $((tries * 100)) ms: $(places "${SOURCES[@]}"), ns/s:$loads"

ktap_finished
