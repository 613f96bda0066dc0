#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A CPU has no vector left: the balancer detects it, plans without the CPU and makes
# no more attempts. Needs a few hundred movable interrupts.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
stage find_busy 4 2
[ ${#cpus[@]} -ge 3 ] || skip_all "less than three CPUs"
first=${cpus[0]} other=${cpus[1]} full=${cpus[-1]}

# Some chips complete a move with the next interrupt only
arrives() { # irq, CPU
	local tries
	for tries in 1 2 3 4; do
		[ "$(cpu_of "$1")" != "$2" ] || return 0
		[ $tries = 1 ] || sleep 0.02
		"$INJECT" "$1" 1 >/dev/null 2>&1 || return
	done
	[ "$(cpu_of "$1")" = "$2" ]
}
fill() { # $full with other interrupts, until no vector is left
	local dir irq status
	for dir in "$IRQS"/[0-9]*; do
		irq=${dir##*/}
		value "$dir/balance_status" status
		may_move "$status" || continue
		case " ${SOURCES[*]} " in *" $irq "*) continue ;; esac
		value "$dir/actions" status
		case ,$status, in
		*,rtc* | *,hpet* | *,i8042,* | *,timer,* | *,acpi,* | *,ttyS*) continue ;;
		esac
		save "/proc/irq/$irq/smp_affinity"
		{ echo "$full" >"/proc/irq/$irq/smp_affinity_list"; } 2>/dev/null || return 0
		arrives "$irq" "$full" || return 0
		fillers+=("$irq")
	done
	return 1
}
put() { # CPUs: the sources on the first CPU, with these in their masks
	local irq
	state off
	for irq in "${SOURCES[@]}"; do echo "$first" >"/proc/irq/$irq/smp_affinity_list"; done
	sleep 0.5
	for irq in "${SOURCES[@]}"; do echo "$1" >"/proc/irq/$irq/smp_affinity_list"; done
}
on() { # CPU: a source is there
	local irq
	for irq in "${SOURCES[@]}"; do [ "$(cpu_of "$irq")" != "$1" ] || return 0; done
	return 1
}
comes_to() { # CPU, tenths of a second
	local tries=0
	until on "$1" || [ $((tries += 1)) -gt "$2" ]; do sleep 0.1; done
	on "$1"
}

for i in "${SOURCES[@]}"; do save "/proc/irq/$i/smp_affinity"; done
fillers=()
busy
# an interrupt that leaves the CPU later would free a vector
put "$first"
for i in "${SOURCES[@]}"; do arrives "$i" "$first"; done
sleep 0.5
fill || skip_all "${#fillers[@]} interrupts do not fill a CPU"
ktap_set_plan 5
# A full log loses a line for each new one
lines=$(dmesg | grep -c irq_balance)

put "$first,$full"
if [ "$BREAK" = move ]; then
	for i in "${fillers[@]:0:8}"; do
		echo "$first" >"/proc/irq/$i/smp_affinity_list"
		arrives "$i" "$first"
		# the next interrupt frees the vector on the old CPU
		"$INJECT" "$i" 3 200 >/dev/null 2>&1
	done
fi
trace_clear
state on
sleep 5
now=$(grep -c " irq_balance_fail: .* error=-28$" "$TRACE/trace")
[ "$now" -ge 1 ] && [ "$now" -le 4 ] && ! on "$full"
result "no vector left: it is counted, and not tried again and again" $? \
	"CPU$full with ${#fillers[@]} others, counted $now: $(places "${SOURCES[@]}")"

r=0
for i in "${SOURCES[@]}"; do
	value "/proc/irq/$i/smp_affinity_list" now
	[ "$now" = "$first,$full" ] || r=1
done
result "no vector left: the masks are as they were written" $r

for i in "${SOURCES[@]}"; do echo "$first,$other,$full" >"/proc/irq/$i/smp_affinity_list"; done
comes_to "$other" 50 && ! on "$full"
result "another CPU is taken" $? "$(places "${SOURCES[@]}")"

now=$(dmesg | grep -c irq_balance)
[ "$lines" = "$now" ]
result "nothing of it is in the log" $? "$((now - lines)) lines"

for i in "${fillers[@]}"; do
	echo "$first-$((full - 1))" >"/proc/irq/$i/smp_affinity_list" && "$INJECT" "$i" 3 200
done >/dev/null 2>&1
put "$first,$full"
state on
comes_to "$full" 200
result "once there are vectors again the CPU is used" $? "$(places "${SOURCES[@]}")"
quiet

ktap_finished
