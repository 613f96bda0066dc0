#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All that an interrupt causes is its load: behind a bridge, in a tunnel, behind a USB controller.
#
# causes.sh              the load map in state observe
# causes.sh rest S       each interrupt keeps to its CPU for S seconds in state on
# causes.sh unmovable    interrupts that have no effective CPU (the first half of OUTSIDE) beside
#                        those that may be moved, on a machine of two CPUs
#
# See outside.sh for OUTSIDE.
# shellcheck disable=SC1091,SC2086
. "$(dirname "$0")/lib.sh"
. "$DIR/outside.sh"

WINDOWS=5 WINDOW_S=3 took_ms=
# The base load is a mean, and forgets what was before in half of its age
SETTLE_S=20

begin
enter
read -ra cpus <<<"$(online_cpus | tr "\n" " ")"

ms() { echo $(($1 / 1000 / took_ms)); }
# The means of what debugfs showed in the window, ns/s
column() { # 2 (load) | 3 (base), cpu
	awk -v c="$1" -v cpu="$2" '$1 == cpu { sum += $c; n++ }
		END { printf "%.0f\n", n ? sum / n : 0 }' "$TMP"/cpus.*
}
window() {
	local i began=${EPOCHREALTIME/./}
	for ((i = 0; i < WINDOW_S; i++)); do
		sleep 1
		cat $DEBUG/cpus >"$TMP/cpus.$i"
	done
	took_ms=$(((${EPOCHREALTIME/./} - began) / 1000))
}

# Scene number I has the CPU number I + 1. This script and all else have the first one.
spread_scenes() {
	local i irq
	[ ${#cpus[@]} -gt ${#SCENES[@]} ] ||
		skip_all "${#cpus[@]} CPUs, fewer than ${#SCENES[@]} scenes and the rest need"
	# Of idle CPUs the first one balances tasks for all, in its SCHED softirqs
	at=$((${#cpus[@]} > ${#SCENES[@]} + 1 ? 2 : 1))
	taskset -pc "${cpus[0]}" $$ >/dev/null
	state off
	for irq in $(choices); do
		save "/proc/irq/$irq/smp_affinity" &&
			echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
	done
	for i in "${!SCENES[@]}"; do
		put "${cpus[i + at]}" ${LINES[i]} ||
			ktap_exit_fail_msg "${SCENES[i]}: ${LINES[i]} not at CPU${cpus[i + at]}"
	done
}

# A window of each scene: "answers-per-cent base own seen", the last three in ms/s, to $TMP/scene.N
measure() {
	local i cpu was=() own=() rx=() tx=()
	witness_begin "${cpus[@]:at:${#SCENES[@]}}" ||
		ktap_exit_fail_msg "the ticks cannot be traced"
	for i in "${!SCENES[@]}"; do
		was[i]=$(load_of ${LINES[i]})
		rx[i]=$(packets rx "${NICS[i]}") tx[i]=$(packets tx "${NICS[i]}")
	done
	window
	witness_end
	for i in "${!SCENES[@]}"; do
		own[i]=$(($(load_of ${LINES[i]}) - was[i]))
		rx[i]=$(($(packets rx "${NICS[i]}") - rx[i]))
		tx[i]=$(($(packets tx "${NICS[i]}") - tx[i]))
	done
	witness_sum
	for i in "${!SCENES[@]}"; do
		cpu=${cpus[i + at]}
		[ $((rx[i])) -ge $((100 * WINDOW_S)) ] || rx[i]=0
		echo "$((rx[i] ? 100 * tx[i] / rx[i] : 0)) $(($(column 3 "$cpu") / 1000000))" \
			"$(ms "${own[i]}") $(ms "$(witness_of "$cpu")") $((own[i] / 1000))" \
			"$(($(witness_of "$cpu") / 1000))" >>"$TMP/scene.$i"
	done
}
middle() { # scene, expression of awk: the median of the windows
	awk "{ print ($2) }" "$TMP/scene.$1" | sort -n | sed -n $((WINDOWS / 2 + 1))p
}

observe() {
	local i show ratio first least most
	spread_scenes
	ktap_set_plan $((3 * ${#SCENES[@]}))
	state observe
	sleep $SETTLE_S
	for ((i = 0; i < WINDOWS; i++)); do measure; done
	for i in "${!SCENES[@]}"; do
		show=$(awk '{ printf "%d,%d,%d ", $2, $3, $4 }' "$TMP/scene.$i")
		[ "$(middle "$i" '$1')" -ge 90 ]
		result "${SCENES[i]}: requests come and are answered" $? "$(middle "$i" '$1') %"
		ratio=$(middle "$i" '$3 > 0 ? int($2 * 1000 / $3) : 9999')
		[ "$ratio" -le 100 ]
		result "${SCENES[i]}: the base load is at most a tenth of the interrupt's" $? \
			"$ratio per mille; base,own,/proc/stat in ms/s of each window: $show"
		# Of all windows: an emulated CPU that its host stops makes single ones wrong.
		# /proc/stat has what comes before and after the handler, too: the more of it the
		# slower the CPU. The first scene shows how much; the others may differ from it by
		# a fifth: behind the USB card 0.87 to 1.05 of it are seen.
		ratio=$(awk '{ own += $5; seen += $6 }
			END { printf "%d", seen ? own * 1000 / seen : 0 }' "$TMP/scene.$i")
		if [ "$i" = 0 ]; then
			least=800 most=1050 first=$ratio
		else
			least=$((first * 80 / 100)) most=$((first * 120 / 100))
		fi
		[ "$ratio" -ge $least ] && [ "$ratio" -le $most ]
		result "${SCENES[i]}: its load is that of /proc/stat, less ticks and IPIs" $? \
			"$ratio per mille, $least to $most"
	done
}

rest() { # seconds
	local i irq all early=() late rx=() tx=()
	trace_start || skip_all "no tracepoints of the balancer"
	echo 0 >"$TRACE/events/irq_balance/enable"
	echo 1 >"$TRACE/events/irq_balance/irq_balance_move/enable"
	spread_scenes
	ktap_set_plan $((3 * ${#SCENES[@]}))
	find_heaviest
	for i in "${!SCENES[@]}"; do
		# The others of its card would be company for it
		for irq in ${LINES[i]}; do
			[ "$irq" = "${HEAVIEST[i]}" ] ||
				echo "${cpus[0]}" >"/proc/irq/$irq/smp_affinity_list"
		done
		echo "${cpus[0]}-${cpus[-1]}" >"/proc/irq/${HEAVIEST[i]}/smp_affinity_list"
	done
	# Less to gain suffices, so that this test sees a wish to move without a larger load
	save $BALANCER/min_gain
	echo 30 >$BALANCER/min_gain
	sleep 1
	for i in "${!SCENES[@]}"; do
		rx[i]=$(packets rx "${NICS[i]}") tx[i]=$(packets tx "${NICS[i]}")
	done
	trace_clear
	state on
	# If a move does not bring what it promised, the next one may follow after a minute
	sleep 120
	for irq in "${HEAVIEST[@]}"; do early[irq]=$(moves_of "$irq"); done
	sleep $(($1 - 120))
	show_moves
	for i in "${!SCENES[@]}"; do
		rx[i]=$(($(packets rx "${NICS[i]}") - rx[i]))
		tx[i]=$(($(packets tx "${NICS[i]}") - tx[i]))
		[ $((rx[i])) -ge $((100 * $1)) ] && [ $((tx[i] * 10)) -ge $((rx[i] * 9)) ]
		result "${SCENES[i]}: requests come and are answered" $? "${tx[i]} of ${rx[i]}"
		irq=${HEAVIEST[i]}
		all=$(moves_of "$irq") late=$((all - early[irq]))
		[ "$all" -le 3 ]
		result "${SCENES[i]}: a lone interrupt makes at most 3 moves in $1 s" $? \
			"$all: $(places "$irq")"
		[ $late = 0 ]
		result "${SCENES[i]}: none of them after the first two minutes" $? "$late"
	done
}

# CPU 0 has the interrupts that have no effective CPU, the other one all that may be moved, which
# are less: there is nothing to gain.
unmovable() {
	local i cpu irq half=$((${#SCENES[@]} / 2)) r seen load least
	[ ${#cpus[@]} = 2 ] && [ $half -ge 1 ] || skip_all "needs two CPUs and two interfaces"
	trace_start || skip_all "no tracepoints of the balancer"
	state off
	for i in "${!SCENES[@]}"; do
		if [ "$i" -lt $half ]; then
			[ -z "$(cpu_of ${LINES[i]})" ] ||
				skip_all "interrupt ${LINES[i]} of ${NICS[i]} has an effective CPU"
		else
			for irq in ${LINES[i]}; do save "/proc/irq/$irq/smp_affinity"; done
			put 1 ${LINES[i]} ||
				ktap_exit_fail_msg "interrupt ${LINES[i]} does not move"
			for irq in ${LINES[i]}; do
				echo 0-1 >"/proc/irq/$irq/smp_affinity_list"
			done
		fi
	done
	ktap_set_plan 4
	state observe
	sleep $SETTLE_S
	witness_begin 0 1 || ktap_exit_fail_msg "the ticks cannot be traced"
	window
	witness_end
	witness_sum
	for cpu in 0 1; do
		seen=$(witness_of $cpu) load=$(($(column 2 $cpu) * took_ms / 1000))
		# CPU 1 is there to compare with, in a single short window
		least=$((cpu ? 75 : 90))
		[ "$seen" -gt 0 ] && [ $((load * 100)) -ge $((seen * least)) ]
		result "CPU $cpu: the load map has $least % of /proc/stat, less ticks and IPIs" $? \
			"$(ms $load) and $(ms "$seen") ms/s"
	done
	r=0
	for ((i = 0; i < half; i++)); do
		value "$IRQS/${LINES[i]}/load_ns_per_s" load
		[ "$load" -gt 0 ] || r=1
		ktap_print_msg "interrupt ${LINES[i]} of ${NICS[i]}: $load ns/s"
	done
	result "an interrupt without effective CPU has a load" $r
	for irq in $(choices); do
		value "$IRQS/$irq/load_ns_per_s" load
		[ "$load" -lt 5000000 ] || ktap_print_msg "interrupt $irq may be moved: $load ns/s"
	done
	trace_clear
	state on
	sleep 10
	show_moves
	[ "$(witness_of 0)" -gt "$(witness_of 1)" ] &&
		[ "$(grep -c ' irq_balance_move: .* to=0 ' "$TRACE/trace")" = 0 ]
	result "none is moved to their CPU, which has more than the other one" $? \
		"$(traced move) moves"
}

case ${1:-observe} in
observe) observe ;;
rest) rest "${2:-600}" ;;
unmovable) unmovable ;;
*) ktap_exit_fail_msg "unknown argument $1" ;;
esac
ktap_finished
