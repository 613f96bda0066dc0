#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# BPF programs plan, inside the rules, and the planner goes on after them. Needs
# CONFIG_IRQ_BALANCE_BPF, bpftool ($BPFTOOL), the programs of tools/testing/irq_balance/bpf and
# of bad.bpf.c ($BPF_OBJECTS, a directory), 4 CPUs, and QEMU's "edu" devices.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

BPFTOOL=${BPFTOOL:-bpftool} PINS=/sys/fs/bpf/irq_balance_test HERE=/sys/kernel/debug/known_cost
begin
grep -qs irq_balance_ops "${BTF:-/sys/kernel/btf/vmlinux}" || skip_all "no CONFIG_IRQ_BALANCE_BPF"
"$BPFTOOL" version >/dev/null 2>&1 || skip_all "no bpftool: BPFTOOL=path"
[ -e "${BPF_OBJECTS:=$DIR}/hostile.bpf.o" ] || skip_all "no programs in $BPF_OBJECTS"
module=$DIR/test_modules/known_cost.ko
[ -e "$module" ] || skip_all "no known_cost.ko"
if ! insmod "$module" 2>"$TMP/insmod"; then
	! grep -q "No such device" "$TMP/insmod" || skip_all "no device for known_cost.ko"
	ktap_exit_fail_msg "$(cat "$TMP/insmod")"
fi
[ -d $PINS ] || mount -t bpf bpffs /sys/fs/bpf 2>/dev/null
trap 'detach; rm -f /sys/fs/bpf/irq_balance_slow
	rmdir /sys/fs/cgroup/irq_balance_bpf 2>/dev/null; rmmod known_cost; cleanup' EXIT
trace_start || skip_all "no tracepoints of the balancer"
ktap_set_plan 28
dmesg -C

attach() { # program: its output is in $TMP/attach
	mkdir -p $PINS
	"$BPFTOOL" struct_ops register "$BPF_OBJECTS/$1.bpf.o" $PINS >"$TMP/attach" 2>&1
	[ -e "$PINS/$1" ]
}
# The kernel drops the link a moment later
detach() { rm -rf $PINS; sleep 0.5; }
logged() { dmesg | grep -q "irq_balance: program $1"; }
wait_for() { # command...: for at most 20 s
	local tries=0
	until "$@" || [ $((tries += 1)) -gt 100 ]; do sleep 0.2; done
	"$@"
}
mapfile -t irqs < <(awk '{ print $2 }' $HERE/account)
work() { # hard_ns of each source, all on CPU 0, with all CPUs in the mask
	local i state
	value $BALANCER/state state
	state off
	echo 0 >$HERE/run
	for i in "${!irqs[@]}"; do
		echo "$1" >"$HERE/$i/hard_ns"
		echo 500 >"$HERE/$i/rate"
		echo 0 >"/proc/irq/${irqs[i]}/smp_affinity_list"
	done
	echo 1 >$HERE/run
	sleep 0.2
	for i in "${irqs[@]}"; do echo 0-3 >"/proc/irq/$i/smp_affinity_list"; done
	state "$state"
}
are_apart() { [ "$(different_cpus "${irqs[@]:0:3}")" = 3 ]; }
on_cpu0() { [ "$(places "${irqs[@]}" | grep -o :0 | wc -l)" = ${#irqs[@]} ]; }
handled() { awk '{ print $6 }' $HERE/account; } # of each source

state on
work 160000

attach rotate
result "a program is attached" $? "$(tail -n 3 "$TMP/attach")"
trace_clear
wait_for eval '[ "$(traced move)" -ge 8 ]'
result "and plans" $? "$(traced move) moves"
! grep ' irq_balance_move: ' "$TRACE/trace" | grep -qvE 'reason=(program|affinity)'
result "and nothing else does" $? "$(show_moves)"
! attach compact && grep -q 'Device or resource busy' "$TMP/attach"
result "a second one is refused" $? "$(grep -i busy "$TMP/attach" | tail -n 1)"
grep -o 'program=rotate' "$TRACE/trace" | head -n 1 | grep -q .
result "its name is in the recording" $?
state off
sleep 1
before=$(places "${irqs[@]}")
trace_clear
sleep 3
[ "$before" = "$(places "${irqs[@]}")" ] && [ "$(traced plan)" = 0 ]
result "off wins over it" $?
state on
detach
wait_for logged 'rotate detached'
result "it is detached with its link" $? "$(dmesg | grep -o 'irq_balance: program rotate d.*')"
work 160000
trace_clear
wait_for are_apart
result "then the planner goes on" $? "$(places "${irqs[@]}")"

price() { # ns of a pass, over 2 s; needs CONFIG_SCHEDSTATS
	local file ns now passes
	file=/proc/$(pgrep kirqd)/schedstat
	read -r ns _ 2>/dev/null <"$file" || return
	passes=$(statistic passes)
	sleep 2
	read -r now _ <"$file"
	echo $(((now - ns) / ($(statistic passes) - passes)))
}
price=$(price)
attach compact
wait_for eval '[ "$(different_cpus "${irqs[@]}")" -le 2 ]'
result "compact gathers the interrupts" $? "$(places "${irqs[@]}")"
ktap_print_msg "ns of a pass: $price, with compact $(price)"
detach

# A cgroup with the CPUs 0 and 1; then the real-time tasks, on the CPU of an interrupt
attach keepoff
group=/sys/fs/cgroup/irq_balance_bpf
mkdir -p $group
taskset -c 0,1 sleep 1000 &
LOADS+=($!)
echo $! >$group/cgroup.procs
id=$(stat -c %i $group)
"$BPFTOOL" map update name cgroups key 0 0 0 0 value $((id % 256)) $((id / 256)) 0 0 0 0 0 0
off_of() { # CPU...
	local cpu
	for cpu; do ! places "${irqs[@]}" | grep -q ":$cpu " || return; done
}
wait_for off_of 0 1 && sleep 2 && off_of 0 1
result "keepoff keeps interrupts off the CPUs of a cgroup" $? "$(places "${irqs[@]}")"
quiet
rt=$(cpu_of "${irqs[0]}")
taskset -c "$rt" chrt -f 1 sleep 1000 &
LOADS+=($!)
"$BPFTOOL" map update name cgroups key 0 0 0 0 value 1 0 0 0 0 0 0 0
wait_for off_of "$rt" && sleep 2 && off_of "$rt"
result "... and of real-time tasks" $? "$(places "${irqs[@]}")"
quiet
rmdir $group
detach

# The limits of a program. One interrupt is pinned, one banned, one has a mask of two CPUs.
work 160000
pinned=${irqs[0]} out=${irqs[1]} two=${irqs[2]}
echo 2 >"/proc/irq/$pinned/smp_affinity_list"
echo 2,3 >"/proc/irq/$two/smp_affinity_list"
save $BALANCER/ban
echo "$out" >$BALANCER/ban
# No interrupt may go to CPU 3
save $BALANCER/cpus
echo 0-2 >$BALANCER/cpus
sleep 1
masks >"$TMP/before"
before=$(places "$pinned" "$out")
trace_clear
attach hostile
result "hostile: attached" $?
r=0 end=$((SECONDS + 10))
while [ $SECONDS -lt $end ]; do
	[ "$(places "$pinned" "$out")" = "$before" ] || r=1
	[[ $(cpu_of "$two") = [23] ]] || r=1
done
! logged 'hostile ejected' && grep -q ' irq_balance_move: .*reason=program' "$TRACE/trace"
result "hostile: moves what may be moved" $? "$(traced move) moves, $(traced fail) refused"
! grep ' irq_balance_move: ' "$TRACE/trace" | grep -q ' to=3 ' &&
	grep -q " irq_balance_fail: .* to=3 error=-13" "$TRACE/trace" &&
	grep -q " irq_balance_fail: irq=$pinned .* error=-1\$" "$TRACE/trace"
result "hostile: the CPUs of the balancer are respected, and refusals have their reason" $?
result "hostile: pinned, banned and mask are respected" $r "$(places "${irqs[@]}")"
masks >"$TMP/after"
diff "$TMP/before" "$TMP/after" >"$TMP/diff"
result "hostile: no mask has changed" $? "$(cat "$TMP/diff")"
! grep -o 'irq_balance_move: irq=.*' "$TRACE/trace" | grep -E "irq=($pinned|$out) "
result "hostile: no interrupt is moved that may not be" $?
echo 0-N >$BALANCER/cpus
handled >"$TMP/handled"
sleep 2
handled | paste - "$TMP/handled" | awk '$1 - $2 < 100 { bad = 1 } END { exit bad || NR < 3 }'
result "hostile: all interrupts are served" $? "$(handled | xargs)"
echo >$BALANCER/ban
detach

# Without a link in bpffs a program ends with its owner; and interrupts may end before it
"$BPFTOOL" struct_ops register "$BPF_OBJECTS/rotate.bpf.o" >/dev/null 2>&1
[ "$(dmesg | grep -c 'irq_balance: program rotate detached')" = 2 ]
result "a program ends with its owner" $?
attach rotate
work 160000
sleep 3
rmmod known_cost && [ -e $PINS/rotate ] && insmod "$module"
result "interrupts are freed while a program plans" $?
mapfile -t irqs < <(awk '{ print $2 }' $HERE/account)
detach

attach slow
wait_for logged 'slow ejected, it takes too long'
result "a program that loops is ejected" $? "$(dmesg | grep -o 'program slow .*' | tail -n 1)"
# Its link has ended, but is there still, and must not take the next program with it
wait_for eval '! "$BPFTOOL" link show pinned $PINS/slow | grep -q "map_id [1-9]"'
result "and its link ends" $? "$("$BPFTOOL" link show pinned $PINS/slow | head -n 1)"
mv $PINS/slow /sys/fs/bpf/irq_balance_slow
! attach rotate && grep -q 'Resource temporarily unavailable' "$TMP/attach"
result "for two seconds none can be attached" $? "$(tail -n 1 "$TMP/attach")"
sleep 2
attach rotate
rm /sys/fs/bpf/irq_balance_slow
sleep 1
state off
state on
trace_clear
wait_for grep -q 'program=rotate' "$TRACE/trace"
result "another one can be attached, and stays when the old link goes" $?
detach

# Three of 40 % each on one CPU
work 800000
wait_for are_apart
attach pile
wait_for logged 'pile ejected, it overloads a CPU' && wait_for are_apart
result "a program that overloads a CPU is ejected, and the planner goes on" $? \
	"$(places "${irqs[@]}") $(dmesg | grep -o 'program pile .*' | tail -n 1)"
detach

! attach write && grep -q 'only read is supported' "$TMP/attach"
result "a program cannot write to the pass" $? "$(grep 'only read' "$TMP/attach" | tail -n 1)"
! attach sleep && grep -q 'attach to unsupported member plan' "$TMP/attach"
result "a program cannot sleep in a pass" $? "$(tail -n 1 "$TMP/attach")"
! attach unlinked && ! logged 'unlinked plans' && grep -q 'Operation not supported' "$TMP/attach"
result "nor live without a link" $? "$(tail -n 1 "$TMP/attach")"

ktap_finished
