#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# init.sh WHAT[,WHAT...] SECONDS CPU...: the init of an initramfs with busybox
#
#   spread	the interrupts of test_modules/beat.ko start on CPU0: they have to be
#		distributed evenly over the named CPUs
#   late	light interrupts come for the first time, on a CPU that may not be used, while
#		nothing is heavy: they have to leave it
#   bridge	the same interrupts are behind a demultiplexer, and stay
#   torture	run the torture test for SECONDS
#   sleep	suspend while interrupts move, in each way that /ways names: "deep" for S3,
#		or a word for /sys/power/pm_test and one for /sys/power/state
#   kexec	into /bzImage with /second.cpio and the words of /second
#   orders	print the order of service of the 8259A before and after S3
# Prints TAP, and reboots: refuses to run as anything but the init of a guest.
[ $$ = 1 ] || { echo "init.sh is for an initramfs" >&2; exit 4; }
/bin/busybox mkdir -p /tmp /dev
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
[ -e /dev/rtc0 ] || mount -t devtmpfs dev /dev 2>/dev/null
balancer=/sys/kernel/irq_balance beat=/sys/module/beat/parameters
what=$1 seconds=$2
shift 2
cpus=$*

result() { if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi; }
# A redirected interrupt is on the first CPU of several
where() { sed 's/[-,].*//' "/proc/irq/$1/effective_affinity_list"; }
places() {
	echo "# $1: $(for irq in $sources; do echo "$irq:CPU$(where "$irq")"; done | tr '\n' ' ')"
}
masks() { grep . /proc/irq/*/smp_affinity 2>/dev/null; }
hotplug() {
	for cpu in /sys/devices/system/cpu/cpu[1-9]/online; do echo "$1" >"$cpu" || return; done
}
raise() {
	echo "$1" >$beat/run
	[ "$1" = 0 ] || return
	tries=0
	until [ "$(cat $beat/raised)" = "$(cat $beat/handled)" ] || [ $((tries += 1)) -gt 100 ]; do
		usleep 100000
	done
	[ "$(cat $beat/raised)" -gt 1000 ] && [ "$(cat $beat/raised)" = "$(cat $beat/handled)" ]
	result $? "no interrupt is lost: raised $(cat $beat/raised), handled $(cat $beat/handled)"
}
# Distributed evenly over the named CPUs
is_spread() {
	most=$((($(echo $sources | wc -w) + $(echo $cpus | wc -w) - 1) / $(echo $cpus | wc -w)))
	for irq in $sources; do where "$irq"; done | sort | uniq -c | while read -r n cpu; do
		case " $cpus " in *" $cpu "*) [ "$n" -le $most ] || exit 1 ;; *) exit 1 ;; esac
	done
}
gets_spread() {
	tries=0
	until is_spread || [ $((tries += 1)) -gt 150 ]; do usleep 100000; done
	places "after about $((tries * 100)) ms"
	is_spread
}
moves() { sed -n 's/^moves_affinity //p' /sys/kernel/debug/irq_balance/stats; }
# Every interrupt moves all the time
restless() {
	echo 20 >$balancer/interval_ms
	echo on >$balancer/state
	while :; do
		for list in 0-N:1/2 1-N:1/2; do
			echo $list >$balancer/cpus
			usleep 100000
		done
	done &
	restless=$!
	raise 1
}

# All have a mask of two CPUs, and are on the first of these
masked() {
	two=$(echo $cpus | awk '{ print $(NF - 1), $NF }')
	old=$(cat "/proc/irq/$irq/smp_affinity_list")
	echo off >$balancer/state
	for list in "${two% *}" "${two% *},${two#* }"; do
		for irq in $sources; do echo "$list" >"/proc/irq/$irq/smp_affinity_list"; done
		sleep 1
	done
	places "with a mask of CPUs $list"
	echo on >$balancer/state
	(cpus=$two; gets_spread && sleep 1 && is_spread)
	result $? "with a mask of CPUs $list they are spread to these, and stay there"
	for irq in $sources; do echo "$old" >"/proc/irq/$irq/smp_affinity_list"; done
}

spread() {
	echo off >$balancer/state
	all=$(cat /sys/devices/system/cpu/online)
	# With nohz_full one CPU keeps the time and cannot go offline
	hotplug 0
	fewer=$(cat /sys/devices/system/cpu/online)
	hotplug 1 && [ "$fewer" != "$all" ]
	result $? "CPUs go offline and come back"
	places crowded
	[ "$(for irq in $sources; do where "$irq"; done | sort -u)" = 0 ]
	result $? "then all interrupts are on CPU0"
	before=$(masks)
	echo on >$balancer/state
	raise 1
	gets_spread
	result $? "they are spread to the CPUs that are for them"
	sleep 3
	places later
	is_spread
	result $? "and stay there"
	masked
	raise 0
	[ "$before" = "$(masks)" ]
	result $? "smp_affinity of every interrupt is what it was"
}

# The CPUs that handled interrupts during a second
ran_on() {
	for when in 0 1; do
		for irq in $sources; do cat "/sys/kernel/irq/$irq/per_cpu_count"; done >/tmp/$when
		[ $when = 1 ] || sleep 1
	done
	awk -F, 'NR == FNR { before[FNR] = $0; next }
		{ split(before[FNR], old); for (i = 1; i <= NF; i++) on[i - 1] += $i > old[i] }
		END { for (i = 0; i < NF; i++) if (on[i]) printf "%d ", i }' /tmp/0 /tmp/1
}

bridge() {
	echo on >$balancer/state
	raise 1
	sleep 3
	before=$(masks)
	for irq in $sources; do
		cd "/sys/kernel/irq/$irq" && echo "$(cat balance_status) $(cat load_ns_per_s)"
	done >/tmp/behind
	# Three or more, of 500 times 100 us
	awk '$1 != "no-affinity" { bad = 1 } { load += $2 }
		END { exit bad || load < 120000000 }' /tmp/behind
	result $? "they have loads, and no affinity: $(tr '\n' ' ' </tmp/behind)"
	here=$(ran_on)
	for cpu in 3 2 1 0; do
		echo $cpu >$balancer/cpus
		sleep 1
		now=$(ran_on)
		[ "$now" = "$here" ] && [ "$(echo $now | wc -w)" = 1 ]
		result $? "all stay when CPU $cpu is the balancer's: $now"
	done
	raise 0
	[ "$before" = "$(masks)" ]
	result $? "smp_affinity of every interrupt is what it was"
}

naps() {
	while read -r depth state; do
		echo "# sleep $depth $state"
		if [ "$depth" = deep ]; then
			echo none >/sys/power/pm_test
			echo deep >/sys/power/mem_sleep && echo 0 >/sys/class/rtc/rtc0/wakealarm &&
				echo +4 >/sys/class/rtc/rtc0/wakealarm && echo mem >/sys/power/state
		else
			echo "$depth" >/sys/power/pm_test && echo "$state" >/sys/power/state
		fi || return
	done </ways
}

sleep_and_wake() {
	echo off >$balancer/state
	naps
	result $? "without the balancer: the machine sleeps and wakes"
	before=$(masks)
	restless
	sleep 1
	[ "$(moves)" -gt 0 ] && naps
	result $? "while interrupts move: the machine sleeps and wakes"
	moved=$(moves)
	sleep 1
	[ "$(moves)" -gt "$moved" ]
	result $? "and the interrupts go on to move"
	kill $restless
	wait $restless
	echo 0-N >$balancer/cpus
	gets_spread
	result $? "they are spread"
	raise 0
	[ "$before" = "$(masks)" ]
	result $? "the balancer adds nothing to what sleep does to smp_affinity"
}

kexec_away() {
	restless
	tries=0
	until [ "$(moves)" -gt 0 ] || [ $((tries += 1)) -gt 100 ]; do usleep 200000; done
	[ "$(moves)" -gt 0 ]
	result $? "interrupts move until kexec"
	/kexec "$(cat /second)"
	result 1 kexec
}

late() {
	rmmod beat
	insmod /beat.ko rate=10 cost_us=1
	sources=$(grep -lx beat /sys/kernel/irq/*/actions | cut -d/ -f 5)
	was=$(cat $balancer/cpus)
	first=$(where "$(echo "$sources" | head -n 1)")
	for cpu in $cpus; do [ "$cpu" = "$first" ] || echo "$cpu"; done | tr '\n' , |
		sed 's/,$//' >$balancer/cpus
	echo on >$balancer/state
	sleep 1
	places "before they come"
	echo 1 >$beat/run
	tries=0
	while for irq in $sources; do where "$irq"; done | grep -qx "$first"; do
		[ $((tries += 1)) -le 50 ] || break
		usleep 100000
	done
	places "after about $((tries * 100)) ms"
	[ $tries -le 50 ]
	result $? "light interrupts that come later leave a CPU that may not be used"
	echo 0 >$beat/run
	echo "$was" >$balancer/cpus
	echo off >$balancer/state
}

torture() {
	run=/sys/module/balance_torture/parameters/run
	echo 1 >$run && sleep "$seconds" && echo 0 >$run
	result $? "the torture test comes and goes"
}

orders() {
	insmod /i8259_lines.ko testdev=1
	echo deep >/sys/power/mem_sleep
	for order in 3,14 2,11 6,9 0,8; do
		echo $order >/sys/kernel/i8259_priority/priority
		echo "before $order $(cat /sys/kernel/debug/i8259_lines/run)"
		echo 0 >/sys/class/rtc/rtc0/wakealarm
		echo +2 >/sys/class/rtc/rtc0/wakealarm
		echo mem >/sys/power/state
		echo "after $order $(cat /sys/kernel/debug/i8259_lines/run)"
	done
	[ "$(cat /sys/power/suspend_stats/success)" = 4 ]
	result $? "slept and woke four times"
}

if [ "$what" = orders ]; then
	orders
else
	[ ! -e /before ] || . /before
	insmod /beat.ko
	sources=$(grep -lx beat /sys/kernel/irq/*/actions | cut -d/ -f 5)
	for irq in $sources; do
		cd "/sys/kernel/irq/$irq" &&
			echo "# irq $irq: $(cat chip_name) $(cat balance_status)"
	done
	[ "$(echo $sources | wc -w)" -ge 3 ]
	result $? "there are interrupts to move"
	for word in $(echo "$what" | tr , ' '); do
		case $word in
		spread | late | bridge | torture) $word ;;
		sleep) sleep_and_wake ;;
		kexec) kexec_away ;;
		esac
	done
fi
echo end
reboot -f
