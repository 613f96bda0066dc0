# SPDX-License-Identifier: GPL-2.0
"""Commands for what a move cannot help: they divide the work of an interrupt, or widen its mask"""
import array
import fcntl
import os
import re
import shlex
import socket
import struct

from common import cpulist, hexmask, names

WIFI = r'(?i)ath[0-9]+k|wlan|wifi|wcss|iwl|mt7|rtw|brcmf|mhi|bhi|ce[0-9]+$|dp_ext|reo|wbm|pci[0-9]+_wlan'
STORAGE = r'(?i)(virtio[0-9]+-req|mpt|mega|aac|qla|lpfc|hpsa|smartpqi|ahci|ata|scsi|sdhci|mmc|ufs)'
REBOOTED = '   # boot with threadirqs before'


def channels(device):
    """(kind, most, now) of a device's queues, as ethtool -l shows them."""
    block = array.array('B', struct.pack('=9I', 0x3c, *[0] * 8))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, 0x8946, struct.pack('16sP', device.encode()[:15], block.buffer_info()[0]) + bytes(16))
    except (OSError, ValueError):
        return '', 0, 0
    words = struct.unpack('=9I', block.tobytes())
    return ('combined', words[4], words[8]) if words[4] else ('rx', words[1], words[5])


def widen(machine, irqs):
    """The command that gives interrupts the default mask."""
    line = 'echo %s > /proc/irq/%%s/smp_affinity_list' % cpulist(machine.default)
    return line % irqs[0] if len(irqs) == 1 else 'for n in %s; do %s; done' % (' '.join(map(str, sorted(irqs))), line % '$n')


def keep_wide(machine, irqs):
    """Commands that install a unit of systemd, which widens the masks that a driver writes at each boot, by the names of the interrupts."""
    known = sorted({re.sub(r'[^a-zA-Z0-9_@:.+-]', '*', re.split('[,/]', machine.irqs[irq]['name'])[0]) for irq in irqs})
    start = os.path.commonprefix(known)
    loop = start + '*' if len(known) > 4 and len(start) > 2 else ' '.join(known)
    line = 'for n in %s; do for d in /proc/irq/*/$$n; do echo %s > $$d/../smp_affinity_list; done; done' % (loop, cpulist(machine.default))
    unit = ('[Unit]', 'Wants=network-online.target', 'After=network-online.target suspend.target', '[Service]', 'Type=oneshot',
            'ExecStart=/bin/sh -c "%s"' % line, '[Install]', 'WantedBy=multi-user.target suspend.target')
    return ["printf '%%s\\n' %s > /etc/systemd/system/widen-irqs.service" % ' '.join(map(shlex.quote, unit)), 'systemctl enable widen-irqs']


def network(machine, irq):
    """The network device of an interrupt, or None."""
    devices, polled = machine.devices(), machine.polled.get(irq)
    known = [device for device in devices if device == polled or irq in machine.candidates(device)]
    if known:
        return known[0]
    # A radio polls for a device without a name
    radios = [device for device in devices if device.startswith('wl') or
              {'wireless', 'phy80211'} & set(names('%s/class/net/%s' % (machine.sysfs, device)))]
    return radios[0] if radios and (polled is not None or re.match(WIFI, machine.irqs[irq]['name'])) else None


def owner(machine, irq):
    """The owner of an interrupt: ('net', device), ('nvme', controller), ('storage', name) or ('other', name)."""
    name, device = machine.irqs[irq]['name'], network(machine, irq)
    if device:
        return 'net', device
    nvme = re.match(r'(nvme[0-9]+)q', name)
    if nvme or re.match(STORAGE, name):
        return ('nvme', nvme[1]) if nvme else ('storage', re.split('[-:@. ]', name)[0])
    return 'other', re.sub(r'[-_.@:][a-zA-Z]*[0-9]+$', '', name)


def divide(machine, irqs):
    """Commands that divide the work of the interrupts of one owner; any of them helps."""
    what, name = owner(machine, irqs[0])
    others = set(machine.cpus) - machine.isolated - {machine.irqs[irqs[0]]['cpu']} or set(machine.cpus)
    if what == 'net':
        return of_network(machine, irqs, name, others) or threads(machine, irqs, others)
    block = {'nvme': '/sys/block/%sn*' % name, 'storage': '/sys/block/*'}.get(what)
    # The CPU that asked for a request ends it
    return threads(machine, irqs, others) + (['for q in %s/queue; do echo 2 > $q/rq_affinity; done' % block] if block else [])


def threads(machine, irqs, others):
    """Handlers in threads, on other CPUs."""
    what, name = owner(machine, irqs[0])
    if len(irqs) == 1:
        line = "taskset -cp %s $(pgrep '^irq/%d-')" % (cpulist(others), irqs[0])
    else:
        pattern = '[0-9]+-%sq' % name if what == 'nvme' else '(%s)-' % '|'.join(map(str, sorted(irqs)))
        line = "for p in $(pgrep '^irq/%s'); do taskset -cp %s $p; done" % (pattern, cpulist(others))
    return [line + ('' if set(machine.threads().values()) >= set(irqs) else REBOOTED)]


def of_network(machine, irqs, device, others):
    """More queues where they help, RPS, and polls in threads."""
    path, commands = '%s/class/net/%s/' % (machine.sysfs, device), []
    bridged = any(machine.irqs[irq]['bridge'] for irq in irqs)
    # A copy of another machine's sysfs does not have them
    seen = os.path.exists(path + 'queues')
    rx = sorted(int(n[3:]) for n in names(path + 'queues') if re.fullmatch('rx-[0-9]+', n))
    quoted = shlex.quote(device)
    kind, most, now = channels(device) if machine.sysfs == '/sys' and not bridged else ('', 0, 0)
    want = min(most, len(machine.cpus))
    if want > now:
        commands.append('ethtool -L %s %s %d' % (quoted, kind, want))
    number = re.search(r'([0-9]+)(?:@.*)?$', machine.irqs[irqs[0]]['name'])
    queue = int(number[1]) if number and (int(number[1]) in rx or not seen) else rx[0] if rx else 0
    if rx or not seen:
        line = 'echo %s > /sys/class/net/%s/queues/rx-%d/rps_cpus' % (hexmask(others), quoted, queue)
        if bridged and len(rx) > 1:
            line = 'for q in /sys/class/net/%s/queues/rx-*; do echo %s > $q/rps_cpus; done' % (quoted, hexmask(others))
        commands.append(line)
    if os.path.exists(path + 'threaded') or not seen:
        commands.append('echo 1 > /sys/class/net/%s/threaded' % quoted)
    return commands
