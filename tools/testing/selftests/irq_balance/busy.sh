#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An interrupt moves also if tasks poll its card: the rest of its work goes with it.
# Ordinary receivers, busy pollers without rights, busy_read, threaded NAPI. And a real-time task,
# which cannot give way, counts in full. See outside.sh for OUTSIDE, of UDP packets.
# shellcheck disable=SC1091,SC2086
. "$(dirname "$0")/lib.sh"
. "$DIR/outside.sh"

begin
enter
read -ra cpus <<<"$(online_cpus | tr "\n" " ")"
[ ${#cpus[@]} -gt ${#NICS[@]} ] ||
	skip_all "${#cpus[@]} CPUs for ${#NICS[@]} interfaces and their receivers"
trace_start || skip_all "no tracepoints of the balancer"
ktap_set_plan 9

receivers() { # receive|epoll
	quiet
	taskset -c "${cpus[-1]}" "$DIR/pollers.py" "$1" $(seq 9000 $((8999 + ${#NICS[@]}))) &
	LOADS+=($!)
	sleep 2
}
words() { for i in "${HEAVIEST[@]}"; do cat "$IRQS/$i/balance_status"; done | xargs; }
# Moves for the load: those that the masks ask for wait for interrupts that may be rare
for_load() { grep -c ' irq_balance_move: .*reason=imbalance' "$TRACE/trace"; }
are_apart() { [ "$(different_cpus "${HEAVIEST[@]}")" = ${#NICS[@]} ]; }

# All on the first CPU, and none may go to that of the receivers; then the balancer is switched on
crowd_and_start() {
	local i irq
	state off
	for i in "${!NICS[@]}"; do
		put "${cpus[0]}" ${LINES[i]} ||
			ktap_exit_fail_msg "interrupts ${LINES[i]} do not move"
		for irq in ${LINES[i]}; do
			echo "${cpus[0]}-${cpus[-2]}" >"/proc/irq/$irq/smp_affinity_list"
		done
	done
	sleep 0.5
	trace_clear
	state on
}
scene() { # name
	local tries=0
	crowd_and_start
	until are_apart || [ $((tries += 1)) -gt 80 ]; do sleep 0.1; done
	are_apart
	result "$1: each interface has a CPU of its own" $? \
		"$(places "${HEAVIEST[@]}") $(words)"
	tries=$(for_load)
	sleep 4
	are_apart && [ $(($(for_load) - tries)) -le 1 ]
	result "$1: and keeps it" $? "$tries moves, $(for_load) after 4 s"
	show_moves
}

for i in "${!NICS[@]}"; do
	for irq in ${LINES[i]}; do save "/proc/irq/$irq/smp_affinity"; done
	save "/sys/class/net/${NICS[i]}/threaded"
done
save /proc/sys/net/core/busy_read
receivers receive
find_heaviest
scene "ordinary receivers"
receivers epoll
scene "busy pollers without rights"
echo 50 >/proc/sys/net/core/busy_read
receivers receive
scene "busy_read"
echo 0 >/proc/sys/net/core/busy_read
receivers receive
# The rest of their work is little
save $BALANCER/heavy
echo 5 >$BALANCER/heavy
for nic in "${NICS[@]}"; do echo 1 >"/sys/class/net/$nic/threaded"; done
scene "threaded NAPI"
for nic in "${NICS[@]}"; do echo 0 >"/sys/class/net/$nic/threaded"; done

# 60 % of the second CPU
receivers receive
taskset -c "${cpus[1]}" chrt -f 1 /usr/bin/python3 -c 'import time
while True:
    end = time.thread_time() + 0.006
    while time.thread_time() < end: pass
    time.sleep(0.004)' &
LOADS+=($!)
crowd_and_start
sleep 4
now=$(places "${HEAVIEST[@]}")
[[ " $now " != *":${cpus[1]} "* && " $now " = *":${cpus[2]} "* ]]
result "a real-time task has its CPU to itself" $? "CPU ${cpus[1]}: $now"
quiet

ktap_finished
