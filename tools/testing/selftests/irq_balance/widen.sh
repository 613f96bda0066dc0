#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A driver's choice of one CPU is respected, unless the user names its interrupts in "widen".
# test_modules/driver_mask.c makes the choices, for an interrupt that has another driver: an
# affinity notifier of that one is lost until it registers it again.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
stage find_sources 4 2
module=$(find "$DIR" -name driver_mask.ko | head -n 1)
[ -n "$module" ] || skip_all "no module driver_mask"
# First an interrupt whose hint is not in use
for i in "${!SOURCES[@]}"; do
	irq=${SOURCES[i]}
	value "/proc/irq/$irq/affinity_hint" now
	[[ $now == *[!0,]* ]] || break
	irq=
done
[ -n "$irq" ] || skip_all "the drivers of all interrupts give hints"
SOURCES[i]=${SOURCES[0]} SOURCES[0]=$irq
ktap_set_plan 9
insmod "$module" irq="$irq" || ktap_exit_fail_msg "driver_mask cannot be loaded"
trap 'quiet; rmmod driver_mask; cleanup' EXIT
driver=/sys/module/driver_mask/parameters
mask=/proc/irq/$irq/smp_affinity_list
save $BALANCER/widen
save "/proc/irq/$irq/smp_affinity"
value /proc/irq/default_smp_affinity all
value $BALANCER/cpus everywhere
from=${cpus[0]} to=${cpus[1]}

# file, value: until it is that, for at most 3 s
becomes() {
	local now tries=0
	while value "$1" now && [ "$now" != "$2" ]; do
		[ $((tries += 1)) -le 30 ] || { ktap_print_msg "$1: $now, not $2"; return 1; }
		sleep 0.1
	done
}
come() { "$INJECT" "$irq" 3 100 >/dev/null; }

echo "" >$BALANCER/widen
echo "$from" >$driver/cpu
come
state on
for i in "${SOURCES[@]:1}"; do
	save "/proc/irq/$i/smp_affinity"
	echo "$from" >"/proc/irq/$i/smp_affinity_list"
done
load "$RATE" "${SOURCES[@]}"
trace_clear
sleep 2
becomes "$IRQS/$irq/balance_status" driver && becomes "$mask" "$from" &&
	[ "$(moves_of "$irq")" = 0 ]
result "a driver's choice is respected" $?

# By its name; those with the same one are not the driver's
value "$IRQS/$irq/actions" name
echo "${name%%,*}" >$BALANCER/widen
becomes "/proc/irq/$irq/smp_affinity" "$all" && becomes $driver/notified "$everywhere"
result "on the list it has the default mask, and the driver is notified" $?
save $BALANCER/cpus
echo "${cpus[*]:1}" | tr " " , >$BALANCER/cpus
tries=0
while [ "$(cpu_of "$irq")" = "$from" ] && [ $((tries += 1)) -le 30 ]; do sleep 0.1; done
[ $tries -le 30 ] && [ "$(cpu_of "${SOURCES[1]}")" = "$from" ]
result "it may be moved now" $? "CPU $from to $(cpu_of "$irq"); $(places "${SOURCES[@]}")"
quiet

# A mask that is pending is shown, and the interrupt may have yet to come to it
value /proc/irq/default_smp_affinity all
save /proc/irq/default_smp_affinity
low=${all##*,}
printf '%s%08x\n' "${all%"$low"}" $((16#$low & ~(1 << from))) >/proc/irq/default_smp_affinity
value /proc/irq/default_smp_affinity most
echo "" >$BALANCER/widen
becomes "$IRQS/$irq/balance_status" driver
echo "${name%%,*}" >$BALANCER/widen
becomes "/proc/irq/$irq/smp_affinity" "$most"
come
[ "$BREAK" = widen ] && echo 0-N:1/2 >$BALANCER/widen
while :; do echo 1000 >$driver/writes; done & LOADS+=($!)
r=0
for ((i = 0; i < ${READS:-20000}; i++)); do
	value "/proc/irq/$irq/smp_affinity" now
	value "/proc/irq/$irq/effective_affinity_list" cpu
	[ "$now" = "$most" ] && [ "$cpu" != "$from" ] || r=$((r + 1))
done
quiet
[ $r = 0 ]
result "the driver writes: the default mask is shown, and the CPU is in it" $? \
	"$r of $i reads differ"
echo "$all" >/proc/irq/default_smp_affinity

echo "$to" >"$mask"
come
echo "$from" >$driver/cpu
come
sleep 0.3
becomes "$mask" "$to" && [ "$(cpu_of "$irq")" = "$to" ]
result "a mask of the user holds, the driver's does not" $?
state off
becomes "$mask" "$to"
result "off: the user's mask stays" $?

state on
echo "" >$BALANCER/widen
echo "$from" >$driver/cpu
come
becomes "$IRQS/$irq/balance_status" driver
echo "*" >$BALANCER/widen
becomes "/proc/irq/$irq/smp_affinity" "$all"
r=$?
echo "$to" >$driver/cpu
state observe
becomes "$mask" "$to" && [ $r = 0 ]
result "not on any more: the driver's last mask is back" $?
state on
becomes "/proc/irq/$irq/smp_affinity" "$all" && echo "$name.none" >$BALANCER/widen &&
	becomes "$mask" "$to"
result "off the list: the driver's mask is back" $?

long=$(printf '%100000s' '' | tr ' ' a)
most=$(seq -s, 1001 1128)
r=0
echo "$most" >$BALANCER/widen && becomes $BALANCER/widen "$most" || r=1
echo "$name.none" >$BALANCER/widen
for text in "1,,2" ",1" "99999999999999" "$long" "$most,1129"; do
	# cat writes all of it at once, and ends when it is refused
	{ echo "$text" | cat >$BALANCER/widen; } 2>/dev/null && r=1
done
becomes $BALANCER/widen "$name.none" && [ $r = 0 ]
result "mistakes are refused, and change nothing" $?

ktap_finished
