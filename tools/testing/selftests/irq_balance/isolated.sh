#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CPUs that are isolated, at boot or by a cpuset partition, get no interrupts
# from the balancer, and their interrupts are moved away.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
stage find_sources 4 2
ktap_set_plan 7
for i in "${SOURCES[@]}"; do save "/proc/irq/$i/smp_affinity"; done
all=${cpus[0]}-${cpus[-1]}

members() { # list of CPUs: as words
	local part
	for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done
}
moved_to() { # CPU...: how often
	local cpu n=0
	for cpu; do n=$((n + $(grep -c " irq_balance_move: .* to=$cpu " "$TRACE/trace"))); done
	echo $n
}
on_any() { # CPU...: is a source on one of them?
	local cpu where
	for i in "${SOURCES[@]}"; do
		where=$(cpu_of "$i")
		for cpu; do [ "$where" != "$cpu" ] || return 0; done
	done
	return 1
}
leave() { # CPU...: until no source is on one of them, for at most 30 s
	local tries=0
	while on_any "$@"; do
		[ $((tries += 1)) -le 300 ] || return
		sleep 0.1
	done
}
put() { # CPU: all sources there, with all CPUs in their masks
	local irq
	state off
	for irq in "${SOURCES[@]}"; do echo "$1" >"/proc/irq/$irq/smp_affinity_list"; done
	load "$RATE" "${SOURCES[@]}"
	sleep 0.5
	for irq in "${SOURCES[@]}"; do echo "$all" >"/proc/irq/$irq/smp_affinity_list"; done
}

value /sys/devices/system/cpu/isolated now
if [ -z "$now" ]; then
	ktap_test_skip "isolated at boot: interrupts leave: none is, see isolcpus="
	ktap_test_skip "isolated at boot: no interrupt is moved there: none is, see isolcpus="
else
	mapfile -t isolated < <(members "$now")
	put "${isolated[0]}"
	trace_clear
	state on
	leave "${isolated[@]}"
	result "isolated at boot: interrupts leave" $? "isolated $now: $(places "${SOURCES[@]}")"
	restless
	[ "$BREAK" = pin ] && echo "${isolated[0]}" >"/proc/irq/${SOURCES[0]}/smp_affinity_list"
	sleep 3
	[ "$(traced move)" -ge 5 ] && [ "$(moved_to "${isolated[@]}")" = 0 ] &&
		! on_any "${isolated[@]}"
	result "isolated at boot: no interrupt is moved there" $? "$(traced move) moves"
	quiet
fi

# A partition of the last CPUs, not of those that were isolated at boot
group=/sys/fs/cgroup/irq_balance_test
dissolve() {
	[ ! -d $group ] || { echo member >$group/cpuset.cpus.partition; rmdir $group; }
}
control=/sys/fs/cgroup/cgroup.subtree_control
lacks=$(grep -sLw cpuset $control)
trap 'dissolve; [ -z "$lacks" ] || echo -cpuset >$control; cleanup' EXIT
free=()
for i in "${cpus[@]}"; do
	members "$now" | grep -qx "$i" || free+=("$i")
done
if [ ${#free[@]} -lt 3 ] || ! grep -qsw cpuset /sys/fs/cgroup/cgroup.controllers ||
   ! echo +cpuset >$control || ! mkdir -p $group; then
	ktap_test_skip "partition: interrupts leave: no cpusets or too few CPUs"
	ktap_test_skip "partition: light interrupts leave: no cpusets or too few CPUs"
	ktap_test_skip "partition: no interrupt is moved there: no cpusets or too few CPUs"
	ktap_test_skip "partition: light interrupts leave again: no cpusets or too few CPUs"
	ktap_test_skip "partition dissolved: the CPUs are used again: no cpusets or too few CPUs"
	ktap_finished
fi
isolated=("${free[-2]}" "${free[-1]}")
# Those that are not raised, which the drivers use or not; some can only be moved when they come
come() { for i in "${light[@]}"; do "$INJECT" "$i" 3 1000 >/dev/null; done; }
light=()
state observe
for i in $(choices); do
	[[ " ${SOURCES[*]} " == *" $i "* ]] && continue
	value "$IRQS/$i/actions" act
	# shellcheck disable=SC2154
	case ,$act, in *,rtc*|*,hpet*|*,i8042,*|*,timer,*|*,acpi,*) continue ;; esac
	before=$(unhandled "$i")
	"$INJECT" "$i" 3 1000 >/dev/null 2>&1 && [ "$(unhandled "$i")" = "$before" ] &&
		light+=("$i")
done
state off
for i in "${light[@]}"; do
	save "/proc/irq/$i/smp_affinity"
	echo "${isolated[1]}" >"/proc/irq/$i/smp_affinity_list"
done
come
for i in "${light[@]}"; do echo "$all" >"/proc/irq/$i/smp_affinity_list"; done
come
ktap_print_msg "light: $(places "${light[@]}")"
light_result() { # NAME: within 5 s none of them is on an isolated CPU
	local cpu where tries=0 r=1
	if [ ${#light[@]} -lt 2 ]; then
		ktap_test_skip "$1: ${#light[@]} interrupts beside those that are raised"
		return
	fi
	while [ $r = 1 ] && [ $((tries += 1)) -le 50 ]; do
		r=0
		for i in "${light[@]}"; do
			where=$(cpu_of "$i")
			for cpu in "${isolated[@]}"; do [ "$where" != "$cpu" ] || r=1; done
		done
		sleep 0.1
	done
	result "$1" $r "$(places "${light[@]}")"
}
put "${isolated[1]}"
echo "${isolated[0]},${isolated[1]}" >$group/cpuset.cpus
echo isolated >$group/cpuset.cpus.partition
value $group/cpuset.cpus.partition now
ktap_print_msg "CPUs ${isolated[*]} are: $now"
trace_clear
[ ${#light[@]} = 0 ] || load 20 "${light[@]}"
state on
[ "$now" = isolated ] && leave "${isolated[@]}"
result "partition: interrupts leave" $? "$(places "${SOURCES[@]}")"
light_result "partition: light interrupts leave"

# The balancer sleeps when these are written: they leave once it reviews all
quiet
sleep 3
for i in "${light[@]}"; do echo "${isolated[0]}" >"/proc/irq/$i/smp_affinity_list"; done
come
for i in "${light[@]}"; do echo "$all" >"/proc/irq/$i/smp_affinity_list"; done
come
ktap_print_msg "light: $(places "${light[@]}")"
[ ${#light[@]} = 0 ] || load 20 "${light[@]}"
value $BALANCER/cpus now
echo "$now" >$BALANCER/cpus
light_result "partition: light interrupts leave again"
quiet

load "$RATE" "${SOURCES[@]}"
restless
[ "$BREAK" = pin ] && dissolve
sleep 3
[ "$(traced move)" -ge 5 ] && [ "$(moved_to "${isolated[@]}")" = 0 ] && ! on_any "${isolated[@]}"
result "partition: no interrupt is moved there" $? "$(traced move) moves"

dissolve
tries=0
until [ "$(moved_to "${isolated[@]}")" -gt 0 ] || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
[ $tries -le 300 ]
result "partition dissolved: the CPUs are used again" $? "$(moved_to "${isolated[@]}") moves there"
quiet

ktap_finished
