# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests with traffic from another machine; sourced after lib.sh.
#
# OUTSIDE="plain bridge ..." says how echo requests come, one word for each network card: see
# outside.py, which sends them. Card number I has the MAC 52:54:00:00:00:0I (USB: 40:54:...). The
# tests give its interface addresses, and put it into bridges, as the scene asks.

WITNESS=/sys/kernel/tracing/instances/irq_balance_witness
SCENES=() NICS=() LINES=()	# of each scene: its name, interface, interrupts

irqs_of() { # interface: those that have a handler
	local dir irq
	dir=$(readlink -f "/sys/class/net/$1/device")
	until [ -d "$dir/msi_irqs" ] || [ -s "$dir/irq" ] || [ ${#dir} -lt 5 ]; do
		dir=${dir%/*}
	done
	for irq in $(ls "$dir/msi_irqs" 2>/dev/null || cat "$dir/irq"); do
		[ ! -e "/proc/irq/$irq" ] || echo "$irq"
	done
}

# Sets SCENES, NICS and LINES, and lets the requests be answered
enter() {
	local n nic macs=52:54:00:00
	[ -n "${OUTSIDE:-}" ] || skip_all "OUTSIDE=... names no traffic that comes from outside"
	read -ra SCENES <<<"$OUTSIDE"
	trap 'leave 2>/dev/null; cleanup' EXIT
	for n in "${!SCENES[@]}"; do
		# A bridge has the MAC of its port
		for nic in /sys/class/net/*/device; do
			nic=${nic%/*}
			grep -qxE "(40|52)${macs#52}:00:0$n" "$nic/address" && break
			nic=
		done
		nic=${nic##*/}
		[ -n "$nic" ] ||
			ktap_exit_fail_msg "no interface has the MAC $macs:00:0$n, for ${SCENES[n]}"
		NICS+=("$nic")
		ip link set "$nic" up
		LINES+=("$(irqs_of "$nic" | xargs)")
		case ${SCENES[n]} in
		plain | udp | usb)
			ip addr add 10.9.$n.1/24 dev "$nic" &&
			neighbour 10.9.$n.2 $macs:01:0$n "$nic" ;;
		bridge)
			ip netns add behind$n &&
			ip link add bridge$n type bridge &&
			ip link add veth$n type veth peer name inner netns behind$n &&
			ip -n behind$n link set inner address $macs:02:0$n up &&
			ip -n behind$n addr add 10.9.$n.1/24 dev inner &&
			ip -n behind$n neigh replace 10.9.$n.2 lladdr $macs:01:0$n dev inner &&
			ip link set "$nic" master bridge$n &&
			ip link set veth$n master bridge$n up &&
			ip link set bridge$n up ;;
		vxlan)
			ip addr add 10.9.$n.1/24 dev "$nic" &&
			neighbour 10.9.$n.2 $macs:01:0$n "$nic" &&
			ip link add vxlan$n address $macs:02:0$n type vxlan id $n \
				local 10.9.$n.1 remote 10.9.$n.2 dstport 4789 dev "$nic" &&
			ip link set vxlan$n up &&
			ip addr add 10.8.$n.1/24 dev vxlan$n &&
			neighbour 10.8.$n.2 $macs:01:0$n vxlan$n ;;
		gre)
			ip addr add 10.9.$n.1/24 dev "$nic" &&
			neighbour 10.9.$n.2 $macs:01:0$n "$nic" &&
			ip link add tunnel$n type gre local 10.9.$n.1 remote 10.9.$n.2 &&
			ip link set tunnel$n up &&
			ip addr add 10.8.$n.1/24 dev tunnel$n ;;
		*) ktap_exit_fail_msg "OUTSIDE: unknown scene ${SCENES[n]}" ;;
		esac || ktap_exit_fail_msg "${SCENES[n]} cannot be set up with $nic"
	done
}
neighbour() { ip neigh replace "$1" lladdr "$2" dev "$3"; }
leave() {
	local n link
	for n in "${!NICS[@]}"; do
		ip addr del 10.9.$n.1/24 dev "${NICS[n]}"
		for link in bridge$n veth$n vxlan$n tunnel$n; do ip link del $link; done
		ip netns del behind$n
	done
	rmdir $WITNESS
}

# The interrupts $2... to CPU $1. Many chips move one when it occurs: those that do not occur
# may stay behind.
put() {
	local cpu=$1 irq tries good before=()
	shift
	for irq; do
		before[irq]=$(count_of "$irq")
		echo "$cpu" >"/proc/irq/$irq/smp_affinity_list"
	done
	for ((tries = 0; tries < 50; tries++)); do
		sleep 0.1
		good=
		for irq; do
			[ $(($(count_of "$irq") - before[irq])) -ge 5 ] || continue
			good=1
			[ "$(cpu_of "$irq")" = "$cpu" ] || { good=; break; }
		done
		[ -z "$good" ] || return 0
	done
	return 1
}

# Sets HEAVIEST to one interrupt of each card
HEAVIEST=()
find_heaviest() {
	local i irq n most
	state observe
	sleep 2
	for i in "${!SCENES[@]}"; do
		most=0
		for irq in ${LINES[i]}; do
			n=$(load_of "$irq")
			[ "$n" -lt $most ] || { most=$n HEAVIEST[i]=$irq; }
		done
	done
	state off
}

packets() { # rx|tx, interface
	local n
	value "/sys/class/net/$2/statistics/$1_packets" n
	echo "$n"
}

# The time that devices took of the CPUs $*: that in interrupts less that in ticks, IPIs and
# softirqs which no device raises. Between the calls of witness_begin and witness_end;
# witness_sum then makes $TMP/witness, rows of "CPU NS NS", with the time of ticks, ... behind.
witness_begin() {
	local event mask=0 cpu
	for cpu; do mask=$((mask | 1 << cpu)); done
	mkdir -p $WITNESS || return
	printf %x $mask >$WITNESS/tracing_cpumask && echo 4000 >$WITNESS/buffer_size_kb || return
	for event in {local_timer,reschedule,call_function{,_single},irq_work}_{entry,exit}; do
		event=$WITNESS/events/irq_vectors/$event/enable
		[ ! -e "$event" ] || echo 1 >"$event"
	done
	for event in $WITNESS/events/irq/softirq_{entry,exit}; do
		# TIMER, SCHED, HRTIMER, RCU
		echo 'vec == 1 || vec >= 7' >"$event/filter" || return
		echo 1 >"$event/enable" || return
	done
	: >$WITNESS/trace
	cat /proc/stat >"$TMP/stat.0"
}
witness_end() {
	cat /proc/stat >"$TMP/stat.1"
	echo 0 >$WITNESS/tracing_on
}
witness_sum() {
	[ "$(cat $WITNESS/per_cpu/cpu*/stats | grep -c 'overrun: [1-9]')" = 0 ] ||
		ktap_print_msg "the trace of ticks is not complete"
	cat $WITNESS/trace >"$TMP/ticks"
	rmdir $WITNESS
	awk 'FNR == 1 { file++ }
		file < 3 && /^cpu[0-9]/ {
			ns[substr($1, 4)] += (file == 2 ? 1 : -1) * ($7 + $8) * 1e7
		}
		file == 3 && match($0, /\[[0-9]+\] [^ ]+ +[0-9.]+: [a-z_]+/) {
			split(substr($0, RSTART, RLENGTH), w, " ")
			cpu = substr(w[1], 2) + 0
			if (w[4] ~ /_entry$/ && !depth[cpu]++) began[cpu] = w[3] + 0
			if (w[4] ~ /_exit$/ && depth[cpu] && !--depth[cpu])
				others[cpu] += (w[3] - began[cpu]) * 1e9
		}
		END {
			for (cpu in ns)
				printf "%d %.0f %.0f\n", cpu, ns[cpu] - others[cpu], others[cpu]
		}
	' "$TMP/stat.0" "$TMP/stat.1" "$TMP/ticks" >"$TMP/witness"
}
witness_of() { awk -v cpu="$1" -v c="${2:-2}" '$1 == cpu { print $c }' "$TMP/witness"; }

load_of() { # irqs: ns since boot
	awk -v irqs=" $* " 'index(irqs, " " $1 " ") { ns += $3 + $4 + $5 }
		END { printf "%.0f\n", ns }' $LOAD
}
