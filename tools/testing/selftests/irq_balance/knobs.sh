#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The settings take effect: banned interrupts stay, only CPUs of the list are used, nothing moves
# for too small a gain. Each test starts with interrupts that are about to move, and lets them
# move at its end.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
need_hotplug
stage find_busy 4 2
for f in ban cpus min_gain; do save $BALANCER/$f; done
ktap_set_plan 6

# All on the first CPU, busy, and the balancer on
start() {
	state off
	quiet
	crowd "${cpus[@]}" || ktap_exit_fail_msg "CPUs do not go offline and online"
	trace_clear
	busy
	state on
}
spread() { # least number of CPUs that they must get to, within 30 s
	local tries=0
	until [ "$(different_cpus "${SOURCES[@]}")" -ge "$1" ]; do
		[ $((tries += 1)) -le 300 ] || return
		sleep 0.1
	done
}
moved() { # how many moves of SOURCES
	local irq sum=0
	for irq in "${SOURCES[@]}"; do
		sum=$((sum + $(moves_of "$irq")))
	done
	echo $sum
}
outside() { # how many of SOURCES are on none of these CPUs
	local irq n=0
	for irq in "${SOURCES[@]}"; do
		case " $* " in *" $(cpu_of "$irq") "*) ;; *) n=$((n + 1)) ;; esac
	done
	echo $n
}

list=${SOURCES[*]}
[ "$BREAK" = knob ] || echo "${list// /,}" >$BALANCER/ban
start
sleep 3
[ "$(moved)" = 0 ] && [ "$(different_cpus "${SOURCES[@]}")" = 1 ]
result "banned interrupts do not move" $? "$(moved) moves: $(places "${SOURCES[@]}")"
echo >$BALANCER/ban
spread 2
result "they do when the ban is lifted" $? "$(places "${SOURCES[@]}")"

allowed=("${cpus[0]}" "${cpus[1]}")
[ "$BREAK" = knob ] || echo "${allowed[0]},${allowed[1]}" >$BALANCER/cpus
start
spread 2
settle
[ "$(outside "${allowed[@]}")" = 0 ] && [ "$(different_cpus "${SOURCES[@]}")" = 2 ]
result "only CPUs of the list are used" $? "${allowed[*]}: $(places "${SOURCES[@]}")"

# The other way round: heavy interrupts leave a CPU that is not in the list any more
allowed=("${cpus[@]:1}")
list=${allowed[*]}
[ "$BREAK" = knob ] || echo "${list// /,}" >$BALANCER/cpus
tries=0
until [ "$(outside "${allowed[@]}")" = 0 ] || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
[ "$(outside "${allowed[@]}")" = 0 ]
result "heavy interrupts leave CPUs that are not in the list" $? "$list: $(places "${SOURCES[@]}")"
value /sys/devices/system/cpu/possible list
echo "$list" >$BALANCER/cpus

echo 1000 >$BALANCER/min_gain
[ "$BREAK" = knob ] && echo 50 >$BALANCER/min_gain
start
# With a gain of 5 % they would move by then, also on a busy host
sleep 5
[ "$(moved)" = 0 ]
result "nothing moves for less than min_gain" $? \
	"$(moved) moves: $(places "${SOURCES[@]}")"
echo 50 >$BALANCER/min_gain
settle
[ "$(different_cpus "${SOURCES[@]}")" -ge 2 ]
result "and all is where it was without it" $? "$(places "${SOURCES[@]}")"

ktap_finished
