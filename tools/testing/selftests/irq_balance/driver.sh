#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Drivers free their interrupts and descriptors and request new ones while the
# balancer's thread reads and moves them.
# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

begin
now=
[ -n "${UNBIND:-}" ] || skip_all "UNBIND=... names no network interface that may be unbound"
stage find_sources 6 2

# The PCI device that an interrupt belongs to
device_of() {
	local f
	for f in /sys/bus/pci/devices/*/msi_irqs/"$1"; do
		[ -e "$f" ] && basename "${f%/msi_irqs/*}"
	done
}
device=
for i in "${SOURCES[@]}"; do
	now=$(device_of "$i")
	for net in $UNBIND; do
		[ -n "$now" ] && [ -d "/sys/bus/pci/devices/$now/net/$net" ] && device=$now
	done
done
[ -n "$device" ] || skip_all "none of $UNBIND has an MSI that can be moved"
driver=$(basename "$(readlink -f "/sys/bus/pci/devices/$device/driver")")
net=$(basename "$(echo "/sys/bus/pci/devices/$device/net/"*)")
stay=()
for i in "${SOURCES[@]}"; do [ "$(device_of "$i")" = "$device" ] || stay+=("$i"); done
[ ${#stay[@]} -ge 1 ] || skip_all "all interrupts belong to $device"
ktap_set_plan 4
trap 'echo "$device" >"/sys/bus/pci/drivers/$driver/bind" 2>/dev/null; cleanup' EXIT

descriptors() { find $IRQS -mindepth 1 -maxdepth 1 | wc -l; }
masks_of() { for i in "${stay[@]}"; do cat "/proc/irq/$i/smp_affinity"; done; }

before=$(descriptors)
masks_of >"$TMP/masks.0"
restless
state on
trace_clear
load "$RATE" "${SOURCES[@]}"
sleep 0.5
r=0
for round in 1 2 3 4 5 6; do
	echo "$device" >"/sys/bus/pci/drivers/$driver/unbind" || r=1
	[ "$(descriptors)" -lt "$before" ] || r=1
	sleep 0.2
	echo "$device" >"/sys/bus/pci/drivers/$driver/bind" || r=1
	# the interface may have another name
	net=$(basename "$(echo "/sys/bus/pci/devices/$device/net/"*)")
	ip link set "$net" up || r=1
	sleep 0.3
	ip link set "$net" down && ip link set "$net" up || r=1
done
result "$driver is unbound and bound $round times" $r
[ "$(traced move)" -ge 5 ] && [ "$(descriptors)" = "$before" ]
result "the balancer goes on, no descriptor is left over" $? \
	"$(traced move) moves, $before descriptors, now $(descriptors)"
quiet

r=0
for i in /sys/bus/pci/devices/"$device"/msi_irqs/*; do
	value "$IRQS/${i##*/}/balance_status" now
	value "$IRQS/${i##*/}/actions" act
	# shellcheck disable=SC2154
	[ -z "$act" ] || may_move "$now" || { r=1; ktap_print_msg "${i##*/} $act: $now"; }
done
result "the new interrupts can be moved" $r \
	"$(ls "/sys/bus/pci/devices/$device/msi_irqs" | tr '\n' ' ')"

[ "$BREAK" = mask ] && echo 1 >"/proc/irq/${stay[0]}/smp_affinity"
masks_of | cmp -s - "$TMP/masks.0"
result "no mask of the others has changed" $?

ktap_finished
