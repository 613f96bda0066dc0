#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# i8259.sh SCENARIO PIC-ORDER [BOOTED]: test the order of service of the 8259A pair
#
# For QEMU guests with one CPU whose devices fit the scenario. PIC-ORDER is the program of
# tools/testing/irq_balance, BOOTED the value of i8259_priority= on the command line.
# Prints TAP.
set -u
if [ $# -lt 2 ]; then
	printf '%s\n' 'TAP version 13' '1..0 # SKIP needs a guest that is made for a scenario'
	exit 4
fi
scenario=$1 pic_order=$2 booted=${3-}
module=$(dirname "$0")/test_modules/i8259_lines.ko
sys=/sys/kernel/i8259_priority pend=/sys/kernel/debug/i8259_lines
failed=0 number=0

ok() { echo "ok $((number += 1)) - $*"; }
bad() { echo "not ok $((number += 1)) - $*"; failed=1; }
check() { # WHAT GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else bad "$1: is '$2', expected '$3'"; fi
}
logged() { # WHAT PATTERN
	if dmesg | grep -q "$2"; then ok "$1"; else bad "$1: the log has no '$2'"; fi
}

# The IRQs of $mask in the order of service that pic-order predicts
mask=0
predicted() { # MASTER SLAVE
	local irq order=
	while read -r _ irq _; do
		(( mask & 1 << irq )) && order+=" $irq"
	done < <("$pic_order" "$1" "$2")
	echo "${order# }"
}

# One trial, with normal or auto-EOI; sets $order and $irr
trial=run
trial() {
	local words
	read -ra words <"$pend/$trial"
	irr=$(( 16#${words[1]} ))
	order=${words[*]:3}
}

# Repeat trials until all lines were pending, so that a stray interrupt is no failure
trial_of() { # WHAT MASTER SLAVE
	local want
	want=$(predicted "$2" "$3")
	for _ in 1 2 3; do
		trial
		(( (irr & mask) == mask )) && break
	done
	if (( (irr & mask) != mask )); then
		bad "$1: lines $(printf %04x $mask) were to wait, $(printf %04x $irr) did"
	elif [ "$order" != "$want" ]; then
		bad "$1: served '$order', predicted '$want'"
	else
		return 0
	fi
	return 1
}

# Find the lines that can be made to wait: they are the mask from now on.
find_lines() {
	local irq m=0 s=0
	mask=$(( $(cat "$pend/lines") ))
	trial
	mask=$(( mask & irr & ~4 ))
	printf "0x%x\n" $mask >"$pend/lines"
	for irq in {0..7}; do (( mask & 1 << irq )) && m=$((m + 1)); done
	for irq in {8..15}; do (( mask & 1 << irq )) && s=$((s + 1)); done
	echo "# $m master and $s slave lines can be made to wait: $(printf %04x $mask)"
	masters=$m slaves=$s
}

all_orders() { # WHAT
	local m s good=0 ranks
	declare -A distinct=()
	for m in {0..7}; do
		for s in {8..15}; do
			echo "$m,$s" >"$sys/priority" || bad "$1: $m,$s refused"
			distinct[$(predicted "$m" "$s")]=1
			trial_of "$1, order $m,$s" "$m" "$s" && good=$((good + 1))
			ranks=$("$pic_order" "$m" "$s" | cut -d' ' -f1,3)
			[ "$(cut -d' ' -f1,2 "$sys/order")" = "$ranks" ] ||
				bad "$1: $sys/order is not that of pic-order $m $s"
		done
	done
	check "$1: 64 of 64 orders as predicted" "$good" 64
	echo "# these lines distinguish ${#distinct[@]} of the 64 orders"
}

refused() { # TEXT ERROR
	local before after message
	before=$(cat "$sys/priority")
	if message=$(LC_ALL=C; echo "$1" 2>&1 >"$sys/priority"); then
		bad "'$1' was accepted"
		return
	elif ! grep -q "$2" <<<"$message"; then
		bad "'$1': $message, not '$2'"
		return
	fi
	after=$(cat "$sys/priority")
	if [ "$before" = "$after" ]; then
		ok "'$1': $2, and nothing changes"
	else
		bad "'$1' changed the order from $before to $after"
	fi
}

pic_irqs() { # the interrupts that are routed through the 8259A
	grep -lx XT-PIC /sys/kernel/irq/*/chip_name | cut -d/ -f5 | grep -vx 2 | sort -n | xargs
}

load_module() {
	insmod "$module" "$@" || { bad "insmod $module $*"; exit 1; }
}

case $scenario in
pic)
	load_module testdev=1
	find_lines
	(( masters >= 5 && slaves >= 3 )) || bad "at least 5 master and 3 slave lines"
	check "i8259_priority=$booted at boot" "$(cat $sys/priority)" "$booted"
	trial_of "i8259_priority=$booted at boot" "${booted%,*}" "${booted#*,}" && ok "set at boot"
	logged "it is logged" "i8259_priority: set: order $booted"
	check "all lines are the PIC's" "$(pic_irqs)" "0 1 3 4 5 6 7 8 9 10 11 12 13 14 15"

	echo default >$sys/priority
	check "default reads back" "$(cat $sys/priority)" default
	trial_of "default" 0 8 && ok "default is 0,8"
	echo 4 >$sys/priority
	check "the slave's default is 14" "$(cat $sys/priority)" 4,14
	echo off >$sys/priority
	check "off reads back as default" "$(cat $sys/priority)" default

	all_orders "from user space"

	echo 5,11 >$sys/priority
	for i in "" 8 3,7 3,16 8,8 -1,14 +3,14 0x3,14 "3 14" 3,14,1 auto garbage 99999999999; do
		refused "$i" "Invalid argument"
	done
	trial_of "after bad input" 5 11 && ok "bad input changes nothing"
	logged "the allowed range is named" "MASTER 0..7, SLAVE 8..15"

	for choice in "5 11" "2 14" "0 8"; do
		read -r m s <<<"$choice"
		echo "$m,$s" >$sys/priority
		echo 1 >$pend/syscore || bad "system core suspend"
		trial_of "suspend of the system core, $choice" "$m" "$s" &&
			ok "$choice after suspend and resume of the system core"
		echo 1 >$pend/init
		trial_of "init_8259A(), $choice" "$m" "$s" && ok "$choice after init_8259A()"
	done

	all=$mask good=0
	for m in {0..7}; do
		echo "$m,8" >$sys/priority
		trial=aeoi mask=$(( all & 0xff ))
		trial_of "auto-EOI, order $m,8" "$m" 8 && good=$((good + 1))
		trial=run mask=$all
		trial_of "after auto-EOI, order $m,8" "$m" 8 && good=$((good + 1))
	done
	check "the master's orders hold with auto-EOI, and afterwards" $good 16

	if dmesg | grep -q 'spurious 8259A'; then
		bad "spurious interrupts"
	else
		ok "no spurious interrupts"
	fi
	;;
uart)
	# The command line has an invalid order.
	logged "a message names the range" \
		"i8259_priority=9,14: must be MASTER\[,SLAVE\] (MASTER 0..7, SLAVE 8..15)"
	check "not in force" "$(cat $sys/priority)" default
	check "the order is the default" "$(cut -d' ' -f1,2 $sys/order)" \
		"$("$pic_order" 0 8 | cut -d' ' -f1,3)"
	# Real devices: UARTs that no driver has opened
	load_module io=0x2f8,0x3e8,0x2e8 irq=3,5,12
	find_lines
	(( masters >= 2 && slaves >= 1 )) || bad "at least 2 master lines and 1 slave line"
	all_orders "UARTs"
	;;
measure)
	if [ ! -s $sys/priority ]; then bad "no $sys"; exit 1; fi
	check "the default at boot" "$(cat $sys/priority)" default
	# The scene's UART; four of its seconds are one of the FAQ's
	load_module testdev=1 io=0x3e8 irq=3 scale=4
	# A cost is the largest mean of a fifth of a second: a host that takes the CPU away is in it
	for _ in 1 2 3; do
		# The timer is left out: its deadline cannot be met here
		"$pic_order" --measure --seconds 8 --deadline 3=$((1194 * 4)) --deadline 0=1000000 \
			--apply >/tmp/measured 2>/tmp/errors &
		pid=$!
		while kill -0 $pid 2>/dev/null; do
			echo "# $(cat $pend/scene)"
		done
		wait $pid
		result=$?$(cat /tmp/errors)
		sed 's/^/#   /' /tmp/measured
		grep -q '^kept' /tmp/measured || break
	done
	check "pic-order --measure --apply" "$result" 0
	best=$(sed -n 's/^best //p' /tmp/measured)
	grep '^irq ' /tmp/measured >/tmp/load
	check "best is that of these rows" "best $best" \
		"$("$pic_order" 0 8 --latency /tmp/load | tail -n 1)"
	check "it is better than the default" "$(tail -n 1 /tmp/measured)" "applied $best"
	check "it is in force" "$(cat $sys/priority)" "${best/ /,}"
	logged "it is logged" "i8259_priority: set: order ${best/ /,}"
	echo default >$sys/priority
	check "and back" "$(head -n 1 $sys/order | cut -d' ' -f1,2)" "0 M0"
	;;
ioapic)
	check "no line is the PIC's" "$(pic_irqs)" ""
	logged "a message at boot: nothing will change" "IO-APIC.*nothing will change"
	check "accepted" "$(cat $sys/priority)" "$booted"
	dmesg -C
	echo 2,11 >$sys/priority || bad "2,11 refused"
	logged "a message: nothing will change" "IO-APIC.*nothing will change"
	"$pic_order" --measure --apply 2>/tmp/errors
	check "pic-order measures nothing" $? 2
	if grep -q "no interrupt goes through the 8259A" /tmp/errors; then
		ok "and says why"
	else
		bad "and says why: $(cat /tmp/errors)"
	fi
	;;
nopic)
	logged "there is no PIC" "Using NULL legacy PIC"
	logged "a message at boot" "i8259_priority: there is no 8259A"
	check "not in force" "$(cat $sys/priority)" default
	refused 3,14 "No such device"
	;;
scene)
	load_module testdev=1 io=0x3e8 irq=3 scale="${SCALE:-4}"
	for order in default 3,14 default 3,14; do
		echo $order >$sys/priority
		echo "# $order $(cat $pend/scene)"
	done
	ok "the scene was measured"
	;;
*)
	bad "no scenario $scenario" ;;
esac
echo "1..$number"
exit $failed
