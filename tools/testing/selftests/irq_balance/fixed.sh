#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Interrupts that must not be moved stay, whatever the load.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
stage find_sources 4 3
ktap_set_plan 5
for i in "${SOURCES[@]}"; do save "/proc/irq/$i/smp_affinity"; done

# All on one CPU: two pinned there, the third banned
pinned=("${SOURCES[0]}" "${SOURCES[1]}")
out=${SOURCES[2]}
state off
save $BALANCER/ban
for i in "${SOURCES[@]}"; do echo "${cpus[0]}" >"/proc/irq/$i/smp_affinity_list"; done
load "$RATE" "${SOURCES[@]}"
sleep 0.5
for i in "${SOURCES[@]:2}"; do
	value "/proc/irq/$i/smp_affinity" now
	echo "${cpus[0]}-${cpus[-1]}" >"/proc/irq/$i/smp_affinity_list"
done
echo "$out" >$BALANCER/ban
sleep 0.5
before=$(places "${pinned[@]}")
stays=$(places "$out")
trace_clear
state on
if [ "$BREAK" = pin ]; then
	echo "${cpus[-1]}" >"/proc/irq/${pinned[0]}/smp_affinity_list"
	echo >$BALANCER/ban
fi
sleep 4
r=0
for i in "${pinned[@]}"; do
	[ "$(moves_of "$i")" = 0 ] || r=1
	value $IRQS/"$i"/balance_status now
	case $now in pinned | driver) ;; *) r=1; ktap_print_msg "status of $i: $now" ;; esac
done
[ "$before" = "$(places "${pinned[@]}")" ] || r=1
result "pinned interrupts stay" $r "$(places "${pinned[@]}")"

value $IRQS/"$out"/balance_status now
[ "$(moves_of "$out")" = 0 ] && [ "$stays" = "$(places "$out")" ] && [ "$now" = banned ]
result "a banned interrupt stays" $? "$(places "$out")"
quiet
state off

# Managed interrupts have an affinity that the kernel chose
managed=()
for f in "$IRQS"/[0-9]*/balance_status; do
	value "$f" now
	f=${f%/*}
	if [ "$now" = managed ] && value "$f/actions" actions && [ -n "$actions" ]; then
		managed+=("${f##*/}")
	fi
done
if [ ${#managed[@]} -eq 0 ]; then
	ktap_test_skip "managed interrupts stay: this machine has none"
else
	before=$(places "${managed[@]}")
	state on
	trace_clear
	load "$RATE" "${SOURCES[@]}"
	for i in "${managed[@]:0:2}"; do "$INJECT" "$i" 4000 1500 >/dev/null 2>&1 & done
	sleep 4
	quiet
	r=0
	for i in "${managed[@]}"; do [ "$(moves_of "$i")" = 0 ] || r=1; done
	[ "$before" = "$(places "${managed[@]}")" ] || r=1
	result "managed interrupts stay" $r "${#managed[@]} of them"
fi

# Each interrupt has a status
for f in "$IRQS"/[0-9]*/balance_status; do
	value "$f" now
	echo "${now:-nothing}"
done | sort | uniq -c >"$TMP/status"
! grep -q nothing "$TMP/status"
result "each interrupt says whether it may be moved" $? "$(tr -s ' \n' ' ' <"$TMP/status")"

# No move was reported for an interrupt that may not be moved, while a fourth one moves
state on
trace_clear
load "$RATE" "${SOURCES[@]}"
restless
sleep 4
quiet
r=0
[ ${#SOURCES[@]} -ge 4 ] && [ "$(moves_of "${SOURCES[3]}")" = 0 ] &&
	{ r=1; ktap_print_msg "${SOURCES[3]} did not move"; }
sed -n 's/.* irq_balance_move: irq=\([0-9]*\) .*/\1/p' "$TRACE/trace" | sort -u >"$TMP/moved"
while read -r i; do
	value "$IRQS/$i/balance_status" now
	may_move "$now" || { r=1; ktap_print_msg "$i moved and is $now"; }
done <"$TMP/moved"
if [ ${#SOURCES[@]} -lt 4 ]; then
	ktap_test_skip "only movable interrupts were moved: three are too few"
else
	result "only movable interrupts were moved" $r
fi

ktap_finished
