#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NAPI that a timer polls, and not its interrupt, is spread as any other: a move that
# the polls do not follow has not been done. See outside.sh for OUTSIDE.
# shellcheck disable=SC1091,SC2086
. "$(dirname "$0")/lib.sh"
. "$DIR/outside.sh"

DEFER=1000
TIMEOUT_NS=50000

begin
enter
read -ra cpus <<<"$(online_cpus | tr "\n" " ")"
[ ${#cpus[@]} -ge ${#NICS[@]} ] || skip_all "${#cpus[@]} CPUs for ${#NICS[@]} interfaces"
trace_start || skip_all "no tracepoints of the balancer"
ktap_set_plan 3

failures() { sed -n 's/.*irq_balance_fail: //p' "$TRACE/trace" | sort | uniq -c | xargs; }
# Packets that each CPU has received, in a file
received() { cat /proc/net/softnet_stat >"$TMP/received.$1"; }
# Their per cent between two of the files: "cpu:share ...", those above 1 %
shares() {
	local a b i=0 sum=0 n=() line
	while read -r a line <&3 && read -r b line <&4; do
		n[i]=$((0x$b - 0x$a)) sum=$((sum + n[i])) i=$((i + 1))
	done 3<"$TMP/received.$1" 4<"$TMP/received.$2"
	[ $sum -gt 0 ] || return
	for i in "${!n[@]}"; do
		[ $((n[i] * 100)) -le $sum ] || printf '%d:%d ' "${cpus[i]}" $((n[i] * 100 / sum))
	done
}

find_heaviest
for i in "${!NICS[@]}"; do
	for irq in ${LINES[i]}; do save "/proc/irq/$irq/smp_affinity"; done
	save "/sys/class/net/${NICS[i]}/napi_defer_hard_irqs"
	save "/sys/class/net/${NICS[i]}/gro_flush_timeout"
	put "${cpus[0]}" ${LINES[i]} || ktap_exit_fail_msg "interrupt ${LINES[i]} does not move"
	for irq in ${LINES[i]}; do
		echo "${cpus[0]}-${cpus[-1]}" >"/proc/irq/$irq/smp_affinity_list"
	done
done
# A deferred write of a mask takes effect at the next interrupt: now, while there are any
sleep 0.5
for nic in "${NICS[@]}"; do
	echo $DEFER >"/sys/class/net/$nic/napi_defer_hard_irqs"
	echo $TIMEOUT_NS >"/sys/class/net/$nic/gro_flush_timeout"
done
sleep 1
received 0
sleep 1
received 1
now=$(shares 0 1)
# Shares are rounded down
[[ $now == "${cpus[0]}":@(99|100)" " ]]
result "off: all is polled on the first CPU" $? "CPU:per cent $now"

trace_clear
state on
sleep 1
received 2
sleep 1
received 3
now=$(shares 2 3)
# Each a fourth, if there are four
least=$((60 / ${#NICS[@]})) most=$((140 / ${#NICS[@]})) good=0
for part in $now; do
	[ "${part#*:}" -ge $least ] && [ "${part#*:}" -le $most ] && good=$((good + 1))
done
[ $good = ${#NICS[@]} ]
result "on: after 1 s each interface is polled on a CPU of its own" $? \
	"CPU:per cent $now; before $(shares 1 2)"
sleep 2
r=0 most=0
for i in "${!NICS[@]}"; do
	for irq in ${LINES[i]}; do
		count=$(grep -c " irq_balance_fail: irq=$irq " "$TRACE/trace")
		[ "$count" -le 1 ] || r=1
		most=$((most + count))
	done
done
show_moves
result "on: at most one move of each interrupt failed in 4 s" $r \
	"$most in all; $(traced move) moves; $(failures)"

ktap_finished
