#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Interrupts that share one CPU are spread once. No other moves happen.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
new=
STILL_S=20
need_hotplug
stage find_busy 4 2
want=${#SOURCES[@]}
[ "$want" -le ${#cpus[@]} ] || want=${#cpus[@]}

windows() { # the proposed gain, and the load of the busiest CPU: once a second
	local i worst
	for i in 1 2 3 4 5; do
		sleep 1
		worst=$(awk 'NR > 1 && $2 > w { w = $2 } END { print w + 0 }' $DEBUG/cpus)
		echo "$(statistic proposal_gain) $worst"
	done
}
# No move for STILL_S. The load of the machine may change, on a busy host more than once:
# three times at most. Sets $moved
still() { # COMMAND that counts the moves...
	local before i
	for i in 1 2 3; do
		before=$("$@")
		sleep $STILL_S
		moved=$(($("$@") - before))
		[ $moved != 0 ] || return 0
	done
	return 1
}
median() { # column, file
	cut -d ' ' -f "$1" "$2" | sort -n | sed -n 3p
}

state off
crowd "${cpus[@]}" || ktap_exit_fail_msg "CPUs do not go offline and online"
[ "$(different_cpus "${SOURCES[@]}")" = 1 ] || skip_all "this machine does not crowd its interrupts"
ktap_set_plan 11
masks >"$TMP/masks.0"
before=$(places "${SOURCES[@]}")

# off: no thread, no moves
trace_clear
busy
sleep 3
after=$(places "${SOURCES[@]}")
[ "$before" = "$after" ] && [ "$(traced move)" = 0 ] && ! grep -qsx kirqd /proc/[0-9]*/comm
result "off: nothing moves, and no thread runs" $? "$after"

# observe: plans without moves
state observe
[ "$BREAK" = move ] && state on
sleep 3
windows >"$TMP/observed"
after=$(places "${SOURCES[@]}")
[ "$before" = "$after" ] && [ "$(traced move)" = 0 ] && [ "$(traced plan)" -gt 0 ]
result "observe: plans are made, nothing moves" $? "$(traced plan) plans, $after"

# on: spread
state on
tries=0
until [ "$(different_cpus "${SOURCES[@]}")" -ge "$want" ] || [ $((tries += 1)) -gt 300 ]; do
	sleep 0.1
done
[ "$(different_cpus "${SOURCES[@]}")" -ge "$want" ]
result "on: each heavy interrupt gets a CPU of its own" $? \
	"after about $((tries * 100)) ms: $(places "${SOURCES[@]}")"

settle || ktap_print_msg "still moving after 15 s"

# The gain is of the busiest CPU's load. Both are medians of several windows; the interrupts
# cost more once they do not wait for each other, so that it is two thirds at least.
proposed=$(median 1 "$TMP/observed") was=$(median 2 "$TMP/observed")
windows >"$TMP/on"
is=$(median 2 "$TMP/on")
came=$(((was - is) * 1000 / was))
[ "$proposed" -gt 0 ] && [ $((came * 3)) -ge $((proposed * 2)) ] &&
	[ $((came * 2)) -le $((proposed * 3)) ]
result "on: the gain that comes is the one that was proposed" $? \
	"proposed $proposed per mille, the busiest CPU went from $was to $is ns/s: $came"

# Served by the effective CPU: a busy device polls, a few interrupts suffice
for irq in "${SOURCES[@]}"; do value $IRQS/"$irq"/per_cpu_count "old$irq"; done
sleep 2
r=0
for irq in "${SOURCES[@]}"; do
	value $IRQS/"$irq"/per_cpu_count new
	was=old$irq
	IFS=, read -ra a <<<"${!was}"
	IFS=, read -ra b <<<"$new"
	cpu=$(cpu_of "$irq") here=$((b[cpu] - a[cpu])) all=0
	for i in "${!b[@]}"; do all=$((all + b[i] - a[i])); done
	[ $here -gt 0 ] && [ $here = $all ] && continue
	ktap_print_msg "$irq on CPU$cpu: ${!was} -> $new"
	r=1
done
result "on: they are served by the CPU that effective_affinity names" $r

# No moves afterwards
before=$(places "${SOURCES[@]}")
trace_clear
[ "$BREAK" = move ] && restless
still traced move
r=$?
after=$(places "${SOURCES[@]}")
show_moves
result "on: once balanced, no more moves" $r "$moved moves in $STILL_S s: $before-> $after"

# One each 300 ms. The load of a busy host changes: the least of three
passes=$(for i in 1 2 3; do
	trace_clear
	sleep 6
	traced plan
done | sort -n | head -n 1)
[ "$passes" -ge 10 ] && [ "$passes" -le 30 ]
result "on: once balanced, few passes are made" $? "$passes in 6 s"

[ "$BREAK" = mask ] && echo 1 >"/proc/irq/${SOURCES[0]}/smp_affinity"
masks >"$TMP/masks.1"
difference=$(diff "$TMP/masks.0" "$TMP/masks.1")
result "smp_affinity of every interrupt is what it was" $? "$difference"

# off: every interrupt stays on its CPU
state off
after=$(places "${SOURCES[@]}")
trace_clear
sleep 2
[ "$after" = "$(places "${SOURCES[@]}")" ] && [ "$(traced move)" = 0 ]
result "off at run time: everything stays where it is" $?

# A move of a lone hot interrupt gains nothing. The injector causes base load,
# which the interrupt would avoid: it stays on one CPU.
quiet
find_sources 1
[ ${#SOURCES[@]} = 1 ] || ktap_exit_fail_msg "no interrupt that can be raised"
state on
sleep 1
trace_clear
load "$RATE" "${SOURCES[0]}"
taskset -pc "${cpus[-1]}" "${LOADS[-1]}" >"$TMP/pinned" || ktap_exit_fail_msg "needs taskset"
[ "$BREAK" = move ] && restless
still moves_of "${SOURCES[0]}"
quiet
show_moves
[ "$moved" = 0 ] && grep -q "^${SOURCES[0]}: [1-9][0-9]* injected" "$TMP/injected"
result "a lone hot interrupt does not move" $? "$moved moves in $STILL_S s"

save $BALANCER/heavy
echo 1000 >$BALANCER/heavy
[ "$BREAK" = move ] && restless
sleep 3
trace_clear
sleep 5
passes=$(traced plan)
[ "$passes" = 0 ]
result "nothing is heavy: no passes are made" $? "$passes in 5 s"

ktap_finished
