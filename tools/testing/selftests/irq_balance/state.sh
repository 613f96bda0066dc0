#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The files in /sys/kernel/irq_balance: what they take, what they refuse.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
ktap_set_plan 8

# refused FILE TEXT: with EINVAL, and the value stays
refused() {
	local before after error
	value "$1" before
	error=$({ printf '%s\n' "$2" >"$1"; } 2>&1) && { ktap_print_msg "$1 took '$2'"; return 1; }
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

r=0 n=0
for f in "$BALANCER"/*; do
	if [ ! -f "$f" ] || [ "$f" = $BALANCER/state ]; then continue; fi
	n=$((n + 1))
	for word in x -1 4294967296 99999999999999999999 "1 2" 0x10 1.5; do
		refused "$f" "$word" || r=1
	done
done
[ $n -gt 0 ] || r=1
result "settings refuse nonsense with EINVAL and stay as they are" $r "$n settings"

r=0
for f in "$BALANCER"/*; do
	if [ ! -f "$f" ] || [ "$f" = $BALANCER/state ]; then continue; fi
	value "$f" now
	if [ -z "$now" ] || ! echo "$now" >"$f"; then
		ktap_print_msg "$f: $now"
		r=1
	fi
done
result "settings take what they show" $r

r=0 n=0
for f in "$BALANCER"/stats/*; do
	value "$f" now
	n=$((n + 1))
	case $now in ''|*[!0-9]*) ktap_print_msg "$f: $now"; r=1 ;; esac
	[ "$(stat -c %a "$f")" = 444 ] || { ktap_print_msg "$f can be written"; r=1; }
done
[ $n -gt 0 ] || r=1
result "statistics are numbers, read-only" $r "$n statistics"

r=0 n=0
for f in "$IRQS"/[0-9]*/balance; do
	n=$((n + 1))
	value "$f" now
	[ "$now" = 1 ] || [ "$now" = 0 ] || { ktap_print_msg "$f: $now"; r=1; }
done
refused "$f" 2 && refused "$f" maybe && refused "$f" -- || r=1
result "each interrupt can be opted out, with 0 or 1 only" $r "$n interrupts"

ktap_finished
