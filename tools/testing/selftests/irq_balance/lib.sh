# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For the tests beside it. They use the interrupts that the machine has: those
# that the balancer may move, that can be raised through debugfs and whose
# handler takes them.
#
# TRAFFIC="eth0 eth2" names network interfaces that broadcasts may be sent from
# (their cables must end in the same machine): the better load where there is one.
#
# UNBIND="eth1" names network interfaces whose driver may be unbound: connections over
# them end, addresses are lost.
#
# BREAK=mask|move|pin|knob makes a test break the rules that it guards, to show that
# this would be seen.

DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC1091
. "$DIR/../kselftest/ktap_helpers.sh"

export LC_ALL=C
BALANCER=/sys/kernel/irq_balance
IRQS=/sys/kernel/irq
DEBUG=/sys/kernel/debug/irq_balance
LOAD=/sys/kernel/debug/irq_load
INJECT=$DIR/inject
BREAK=${BREAK:-}
TMP=$(mktemp -d) || exit 1
TRACE=
ONLINE=

cleanup() {
	trap - EXIT
	quiet
	[ -n "$TRACE" ] && echo 0 >"$TRACE/tracing_on" && rmdir "$TRACE"
	back_online 2>/dev/null
	restore
	rm -rf "$TMP"
}

# Settings and masks as they were
SAVED=()
save() {
	local value
	read -r value <"$1" && SAVED+=("$1" "$value")
}
restore() {
	local i
	for ((i = ${#SAVED[@]} - 2; i >= 0; i -= 2)); do
		echo "${SAVED[i + 1]}" >"${SAVED[i]}" 2>/dev/null
	done
	SAVED=()
}

skip_all() {
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

begin() {
	ktap_print_header
	[ "$(id -u)" = 0 ] || skip_all "must be root"
	[ -d $DEBUG ] || mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
	[ -w $BALANCER/state ] || skip_all "no $BALANCER/state: CONFIG_IRQ_BALANCE is not set"
	save $BALANCER/state
	! state on 2>&1 | grep -q "not supported" || skip_all "sched_clock() is unstable or coarse"
	state "${SAVED[1]}"
}

state() { echo "$1" >$BALANCER/state; }

# result NAME STATUS [DETAILS]: a test is over
result() {
	if [ "$2" = 0 ]; then
		ktap_test_pass "$1"
	else
		ktap_test_fail "$1"
	fi
	[ -z "${3:-}" ] || ktap_print_msg "$3"
}

value() { # file: its first line, without a new process
	local line=
	{ read -r line <"$1"; } 2>/dev/null
	printf -v "$2" %s "$line"
}

statistic() { # name: its value
	sed -n "s/^$1 //p" $DEBUG/stats
}

cpu_of() {
	local cpu
	value "/proc/irq/$1/effective_affinity_list" cpu
	echo "$cpu"
}

count_of() { # how often it has been served
	local all one sum=0
	value "$IRQS/$1/per_cpu_count" all
	for one in ${all//,/ }; do sum=$((sum + one)); done
	echo $sum
}

masks() {
	local f mask
	for f in /proc/irq/*/smp_affinity; do
		{ read -r mask <"$f"; } 2>/dev/null && echo "$f $mask"
	done
}

online_cpus() { # as a list of words
	local list part
	value /sys/devices/system/cpu/online list
	for part in ${list//,/ }; do
		seq "${part%-*}" "${part#*-}"
	done
}

unhandled() {
	sed -n 's/^unhandled //p' "/proc/irq/$1/spurious"
}

may_move() { # a balance_status, with or without a proposed CPU
	case ${1%% *} in
	movable | light | best | gain | noise | resting | failed | node | full) ;;
	imbalance | capacity | locality | affinity | program) ;;
	*) return 1 ;;
	esac
}

handler_ns() { # irq: the time in its handlers since boot
	awk -v irq="$1" '$1 == irq { ns = $3 } END { print ns ? ns : 0 }' $LOAD
}

choices() { # the interrupts that may be moved, and whose mask leaves the choice
	local dir status mask
	for dir in "$IRQS"/[0-9]*; do
		value "$dir/balance_status" status
		value "/proc/irq/${dir##*/}/smp_affinity_list" mask
		case $mask in *[-,]*) may_move "$status" && echo "${dir##*/}" ;; esac
	done
}

# Loads of so many ns/s are to be heavy, also when a busy host lets less happen
heavy_from() {
	local heavy=$(($1 / 6000000))
	save $BALANCER/heavy
	[ $heavy -ge 1 ] || heavy=1
	[ $heavy -ge 20 ] || echo $heavy >$BALANCER/heavy
}

# Fills SOURCES with up to $1 interrupts to work with, those that cost most, and
# sets RATE so that each of them is worth a good deal of a CPU's time.
SOURCES=()
RATE=
find_sources() {
	local dir irq before old new i
	SOURCES=()
	[ -x "$INJECT" ] || return
	state observe
	for irq in $(choices); do
		dir=$IRQS/$irq
		# some hardware cannot stand it
		value "$dir/actions" old
		case ,$old, in *,rtc*|*,hpet*|*,i8042,*|*,timer,*|*,acpi,*) continue ;; esac
		before=$(unhandled "$irq")
		for i in 1 2 3; do
			old=$(handler_ns "$irq")
			"$INJECT" "$irq" 50 2000 >/dev/null 2>&1 || continue 2
			echo $(($(handler_ns "$irq") - old))
		done >"$TMP/costs"
		# its handler must take it; a busy host makes one of them look dear
		[ "$(unhandled "$irq")" = "$before" ] &&
			echo "$(sort -n "$TMP/costs" | sed -n 2p)" "$irq"
	done | sort -rn | head -n "$1" >"$TMP/sources"
	state off
	while read -r new irq; do
		SOURCES+=("$irq")
		old=$((new / 50 + 1))
	done <"$TMP/sources"
	[ ${#SOURCES[@]} -gt 0 ] || return
	# 5 % of a CPU if 5000 a second are enough for it; old: ns of the cheapest
	RATE=$((50000000 / old))
	[ $RATE -le 5000 ] || RATE=5000
	[ $RATE -ge 500 ] || RATE=500
	heavy_from $((old * RATE))
	ktap_print_msg "interrupts ${SOURCES[*]}: $old ns, raised $RATE times a second"
}

# Raise these interrupts, RATE times a second each, until quiet() is called;
# $TMP/injected has the numbers then
LOADS=()
load() { # rate, irq...
	local rate=$1 list
	shift
	list=$*
	"$INJECT" "${list// /,}" 100000000 "$rate" >"$TMP/injected" 2>&1 &
	LOADS+=($!)
}
# Real work for interrupts: traffic, or raising SOURCES where TRAFFIC names no
# interface. find_busy fills SOURCES with up to $1 interrupts that cost most of it.
# The test makes others busy, its disk's: those cost without traffic too.
busy() {
	if [ -z "${TRAFFIC:-}" ]; then
		load "$RATE" "${SOURCES[@]}"
		return
	fi
	# shellcheck disable=SC2086
	"$DIR/traffic" 8000 $TRAFFIC &
	LOADS+=($!)
}
find_busy() { # how many
	local ns irq i least
	if [ -z "${TRAFFIC:-}" ]; then
		find_sources "$1"
		return
	fi
	SOURCES=()
	state observe
	for i in 1 2 3 4 5 6 7; do
		[ $i != 4 ] || { busy; sleep 1; }
		for irq in $(choices); do
			echo "$irq $(handler_ns "$irq")"
		done >"$TMP/window.$i"
		sleep 1
	done
	quiet
	state off
	awk 'FNR == 1 { window++ }
		{ ns = $2 - was[$1]; was[$1] = $2 }
		window <= 3 && window > 1 && ns > most[$1] { most[$1] = ns }
		window == 5 || window > 5 && ns < least[$1] { least[$1] = ns }
		END { for (i in least) if (least[i] > 3 * most[i] + 2000000) print least[i], i }
	' "$TMP"/window.[1-7] | sort -rn | head -n "$1" >"$TMP/sources"
	ktap_print_msg "traffic from $TRAFFIC; ns/s and interrupts: $(tr '\n' ' ' <"$TMP/sources")"
	while read -r ns irq; do
		SOURCES+=("$irq")
		least=$ns
	done <"$TMP/sources"
	[ ${#SOURCES[@]} = 0 ] || heavy_from "$least"
}
quiet() {
	[ ${#LOADS[@]} -eq 0 ] && return
	kill "${LOADS[@]}" 2>/dev/null
	wait "${LOADS[@]}" 2>/dev/null
	LOADS=()
}

# All interrupts on the first CPU, as after a suspend
crowd() {
	local cpu
	for cpu in $(online_cpus); do
		[ "$cpu" = 0 ] || echo 0 >"/sys/devices/system/cpu/cpu$cpu/online" || return
	done
	for cpu in "$@"; do
		[ "$cpu" = 0 ] || echo 1 >"/sys/devices/system/cpu/cpu$cpu/online" || return
	done
}

# For tests that take CPUs offline: cleanup brings them back, and the masks that had none left
need_hotplug() {
	local last
	last=$(online_cpus | tail -n 1)
	[ -w "/sys/devices/system/cpu/cpu$last/online" ] || skip_all "CPUs cannot go offline"
	masks >"$TMP/masks.begin"
	ONLINE=$(online_cpus)
}
back_online() {
	local cpu f mask now
	for cpu in $ONLINE; do
		[ "$cpu" = 0 ] || echo 1 >"/sys/devices/system/cpu/cpu$cpu/online"
	done
	[ -n "$ONLINE" ] && while read -r f mask; do
		value "$f" now
		[ "$now" = "$mask" ] || echo "$mask" >"$f"
	done <"$TMP/masks.begin"
}

# stage find_sources|find_busy WANTED LEAST: sets cpus and SOURCES and begins to
# trace, or skips the test
stage() {
	read -ra cpus <<<"$(online_cpus | tr "\n" " ")"
	[ ${#cpus[@]} -ge 2 ] || skip_all "one CPU"
	"$1" "$2"
	[ ${#SOURCES[@]} -ge "$3" ] ||
		skip_all "${#SOURCES[@]} interrupts that can be moved and raised, $3 needed"
	trace_start || skip_all "no tracepoints of the balancer"
}

# Every heavy interrupt moves all the time, to and fro, until quiet() is called
restless() {
	local cpu n=0 lists=() all
	save $BALANCER/interval_ms
	value $BALANCER/cpus all
	echo 20 >$BALANCER/interval_ms
	# A CPU that is offline may separate others
	for cpu in $(online_cpus); do lists[n++ % 2]+=,$cpu; done
	{
		trap 'echo "$all" >$BALANCER/cpus; exit' TERM
		while :; do
			for list in "${lists[@]#,}"; do
				echo "$list" >$BALANCER/cpus
				sleep 0.1
			done
		done
	} &
	LOADS+=($!)
}

places() { # where the interrupts are: "irq:cpu ..."
	local irq
	for irq; do printf '%s:%s ' "$irq" "$(cpu_of "$irq")"; done
}

different_cpus() { # of these interrupts
	local irq
	for irq; do cpu_of "$irq"; done | sort -u | wc -l
}

trace_start() {
	local base=/sys/kernel/tracing
	[ -d $base/instances ] || mount -t tracefs nodev $base 2>/dev/null
	[ -d $base/events/irq_balance ] || return 1
	TRACE=$base/instances/irq_balance_test
	mkdir -p $TRACE && echo 1 >$TRACE/events/irq_balance/enable && : >$TRACE/trace
}
traced() { # event: how many since trace_clear
	grep -c " irq_balance_$1:" "$TRACE/trace"
}
moves_of() { # irq: how many since trace_clear
	grep -c " irq_balance_move: irq=$1 " "$TRACE/trace"
}
show_moves() {
	sed -n 's/.* \([0-9.]*\): irq_balance_move: /# \1 /p' "$TRACE/trace" | head -n 10
}
settle() { # until no move for 2 s, for at most 15 s
	local tries=0 still=0 before now
	before=$(traced move)
	while [ $still -lt 20 ] && [ $((tries += 1)) -lt 150 ]; do
		sleep 0.1
		now=$(traced move)
		still=$((now == before ? still + 1 : 0))
		before=$now
	done
	[ $still -ge 20 ]
}
trace_clear() { : >"$TRACE/trace"; }

trap cleanup EXIT
trap 'exit 1' INT TERM HUP
