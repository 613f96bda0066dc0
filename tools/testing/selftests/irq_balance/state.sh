#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The files in /sys/kernel/irq_balance: what they take, what they refuse.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
ktap_set_plan 13

# refused FILE TEXT: with EINVAL, and the value stays
refused() { # cat writes all lines at once, printf each by itself
	local before after error
	value "$1" before
	error=$({ cat <<<"$2" >"$1"; } 2>&1) && { ktap_print_msg "$1 took '$2'"; return 1; }
	value "$1" after
	if [[ $error != *"Invalid argument"* ]]; then
		ktap_print_msg "$1: '$2': $error"
		return 1
	fi
	if [ "$before" != "$after" ]; then
		ktap_print_msg "$1: '$2' changed $before to $after"
		return 1
	fi
}

value $BALANCER/state now
case $now in off|observe|on) r=0 ;; *) r=1 ;; esac
result "state is a word that can be written" $r "it is $now"

r=0
for word in on off observe off on observe on; do
	state $word && value $BALANCER/state now && [ "$now" = $word ] || r=1
done
result "state takes off, observe and on, in any order" $r

r=0
for i in $(seq 20); do
	state on && state off || r=1
done
result "state can be switched $i times in a row" $r

r=0
for now in on off; do
	state $now
	for word in ON On 1 0 yes true "on off" onn o "off;" "$(printf '%5000s' x)"; do
		refused $BALANCER/state "$word" || r=1
	done
done
result "state refuses other words with EINVAL and stays as it is" $r

# files that are no single number or word
special() {
	[ -f "$1" ] || return 0
	case ${1##*/} in state|cpus|ban) ;; *) return 1 ;; esac
}

r=0 n=0
for f in "$BALANCER"/*; do
	special "$f" && continue
	n=$((n + 1))
	for word in x -1 10001 4294967296 99999999999999999999 "1 2" 0x10 1.5; do
		refused "$f" "$word" || r=1
	done
done
[ $n -gt 0 ] || r=1
result "settings refuse nonsense with EINVAL and stay as they are" $r "$n settings"

r=0
for f in "$BALANCER"/*; do
	special "$f" && continue
	value "$f" now
	if [ -z "$now" ] || ! echo "$now" >"$f"; then
		ktap_print_msg "$f: $now"
		r=1
	fi
done
result "settings take what they show" $r

r=0
save $BALANCER/cpus
value /sys/devices/system/cpu/possible all
for word in 0 "$all"; do
	echo "$word" >$BALANCER/cpus && value $BALANCER/cpus now && [ "$now" = "$word" ] || r=1
done
for word in "" "," x 1-0 0-99999 -1 0x0 "0 cpu"; do refused $BALANCER/cpus "$word" || r=1; done
result "cpus takes a list and refuses what is none" $r

r=0
newline='
'
long=$(printf 'eth%d, ' {1..1000})0
save $BALANCER/ban
for word in 1,2 "no-such-*,3" "$(seq -s , 1001 1500)" $'\xd9\xa2\xd9\xa0' ""; do
	echo "$word" >$BALANCER/ban && value $BALANCER/ban now && [ "$now" = "$word" ] || r=1
done
for word in "," "1," ",1" "1,,2" 4294967296 "1${newline}2" "$long"; do
	refused $BALANCER/ban "$word" || r=1
done
result "ban takes numbers and names and refuses holes, lines and more than a page" $r

r=0
for f in "$BALANCER"/*; do
	[ -f "$f" ] || continue
	value "$f" now
	if printf '%s\0junk' "$now" 2>/dev/null >"$f"; then
		ktap_print_msg "$f took $now, and a NUL"
		r=1
	fi
done
result "nothing takes words behind a NUL" $r

r=0
f=$(choices | head -n 1)
echo "$f" >$BALANCER/ban
[ -z "$f" ] || value "$IRQS/$f/balance_status" word
n=$(cat "$IRQS"/*/balance_status | grep -c banned)
echo >$BALANCER/ban
if [ -z "$f" ]; then
	ktap_test_skip "a ban by number is of one interrupt: none is movable"
else
	[ "$word" = banned ] && [ "$n" = 1 ]
	result "a ban by number is of one interrupt" $? "$f: $word"
fi

r=0
n=$(grep -cE '^[a-z_]+ [0-9]+$' $DEBUG/stats)
[ "$n" -gt 5 ] && [ "$n" = "$(wc -l <$DEBUG/stats)" ] || r=1
[ "$(statistic passes)" -gt 0 ] || r=1
[ "$(awk 'NR > 1' $DEBUG/cpus | wc -l)" = "$(online_cpus | wc -l)" ] || r=1
[ -z "$(awk 'NR > 1 && $0 !~ /^[ 0-9]+$/' $LOAD)" ] || r=1
[ -z "$(find $DEBUG -type f -perm /0222)" ] || r=1
result "statistics are numbers, read-only, and all CPUs have a load" $r "$n statistics"

[ "$(stat -c %a "$IRQS"/*/load_ns_per_s | sort -u)" = 400 ]
result "the load of an interrupt is for root" $?

# The time of an interrupt so far, in handlers and threads, as far as it was measured
measured() { awk -v irq="$1" '$1 == irq { ns = $3 + $5 } END { printf "%d", ns }' $LOAD; }
grown() { # irq: by so many ns in half a second of load
	local before
	load 2000 "$1"
	before=$(measured "$1")
	sleep 0.5
	quiet
	echo $(($(measured "$1") - before))
}
irq=$(choices | head -n 1)
if [ ! -e $LOAD ] || [ -z "$irq" ]; then
	ktap_test_skip "irq_load measures while it is open: no such file, or nothing to measure"
else
	state off
	exec 3<$LOAD
	open=$(grown "$irq")
	exec 3<&-
	closed=$(grown "$irq")
	[ "$open" -gt 100000 ] && [ "$closed" -lt $((open / 4)) ]
	result "irq_load measures while it is open" $? "$open ns, closed $closed ns"
fi

ktap_finished
