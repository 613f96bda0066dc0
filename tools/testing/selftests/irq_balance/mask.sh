#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The user's masks stay as they are while interrupts move, every tenth of a second.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
stage find_sources 3 1
irq=${SOURCES[0]}
ktap_set_plan 5

for i in "${SOURCES[@]}"; do save "/proc/irq/$i/smp_affinity"; done
masks >"$TMP/masks.0"
declare -A mask
for i in "${SOURCES[@]}"; do
	value "/proc/irq/$i/smp_affinity" now
	mask[$i]=$now
done

restless
state on
# The rate is low enough for a move to be pending for a while.
load "$RATE" "${SOURCES[@]}"

# Read all the time
trace_clear
reads=0 r=0 end=$((SECONDS + 6))
while [ $SECONDS -lt $end ]; do
	for i in "${SOURCES[@]}"; do
		value "/proc/irq/$i/smp_affinity" now
		reads=$((reads + 1))
		[ "$now" = "${mask[$i]}" ] || { r=1; wrong="irq $i: $now instead of ${mask[$i]}"; }
	done
	[ "$BREAK" = mask ] && [ $reads -gt 300 ] &&
		echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
done
moved=$(traced move)
[ "$moved" -ge 10 ] || { r=1; ktap_print_msg "only $moved moves"; }
result "smp_affinity shows the user's mask at every moment" $r \
	"$reads reads, $moved moves ${wrong:-}"
echo "${mask[$irq]}" >"/proc/irq/$irq/smp_affinity"

# The user writes while moves are pending
write() { # file VALUE: what was written is read back at once
	local file=/proc/irq/$irq/$1
	echo "$2" >"$file" && value "$file" now && [ "$now" = "$2" ] && return
	r=1
	ktap_print_msg "wrote $2, reads $now"
}
arrive() { # CPU[,CPU]: wait for the interrupt to be there, for at most 2 s
	local tries=0
	sleep 0.05
	until [[ ,$1, = *,$(cpu_of "$irq"),* ]] || [ $((tries += 1)) -gt 40 ]; do sleep 0.05; done
}
r=0
for i in $(seq 40); do
	cpu=${cpus[i % ${#cpus[@]}]}
	write smp_affinity_list "$cpu"
	arrive "$cpu"
	[ "$BREAK" = pin ] && echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
	value "/proc/irq/$irq/smp_affinity_list" now
	where=$(cpu_of "$irq")
	[ "$now,$where" = "$cpu,$cpu" ] ||
		{ r=1; ktap_print_msg "wrote $cpu: mask $now, served on $where"; }
	[ $((i % 2)) = 1 ] || { write smp_affinity "${mask[$irq]}"; sleep 0.04; }
done
result "the user's write takes precedence over a move" $r "$i writes"

# A mask of two CPUs: moved, but inside it. CPU 0 may have too much else to do.
two=${cpus[-2]},${cpus[-1]}
echo "$two" >"/proc/irq/$irq/smp_affinity_list"
arrive "$two"
trace_clear
r=0 end=$((SECONDS + 4)) late=$((SECONDS + 40))
# After moves that raced with the writes the balancer waits before the next one.
unmoved() { [ $r = 0 ] && [ $SECONDS -lt $late ] && [ "$(moves_of "$irq")" = 0 ]; }
while [ $SECONDS -lt $end ] || unmoved; do
	[ "$BREAK" = pin ] && echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
	where=$(cpu_of "$irq")
	[[ ,$two, = *,$where,* ]] || { r=1; wrong=$where; }
done
moved=$(moves_of "$irq")
[ "$moved" -ge 1 ] ||
	{ r=1; ktap_print_msg "no move: $(cd "$IRQS/$irq" && grep . balance_* | tr '\n' ' ')"; }
result "moves stay inside the mask" $r "$moved moves between $two ${wrong:-}"

# A mask of one CPU is a pin
echo "${cpus[-1]}" >"/proc/irq/$irq/smp_affinity_list"
arrive "${cpus[-1]}"
trace_clear
r=0 end=$((SECONDS + 3))
while [ $SECONDS -lt $end ]; do
	[ "$(cpu_of "$irq")" = "${cpus[-1]}" ] || r=1
	[ "$BREAK" = pin ] && echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
done
moved=$(moves_of "$irq")
[ "$moved" = 0 ] || r=1
value $IRQS/"$irq"/balance_status now
case $now in pinned | driver) ;; *) r=1 ;; esac
result "a mask of one CPU is a pin" $r "$moved moves, status $now"
echo "${mask[$irq]}" >"/proc/irq/$irq/smp_affinity"

quiet
masks >"$TMP/masks.1"
difference=$(diff "$TMP/masks.0" "$TMP/masks.1")
result "no other mask has changed" $? "$difference"

ktap_finished
