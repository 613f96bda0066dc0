# SPDX-License-Identifier: GPL-2.0
"""CPUs and interrupts of a machine, from /sys and /proc, and why each interrupt has its mask

  default   default_smp_affinity, or all CPUs
  driver    the driver wrote it (it is affinity_hint, too)
  user      a user or a daemon did, or a driver without a hint
  isolated  it has isolated CPUs only
  managed   the core has placed it, one for each CPU or group of CPUs
  bridge    it has no effect: the bridge takes none (boards.py)
  fixed     the kernel refuses one (smp_affinity is read-only), 8259A
  unknown   of a machine of which there is a trace only
"""
import errno
import os
import re
import stat

import boards
from common import Failure, cpus_of, names, read

SECOND = 10 ** 9
# By the kernel's word, what the balancer does not move
STAY = {'managed': 'managed', **dict.fromkeys(('chained', 'nmi', 'nested', 'per-cpu', 'no-balancing', 'no-affinity', 'forwarded', 'chip',
                                               'banned'), 'fixed')}


def integer(text, default):
    return int(text) if re.fullmatch(r'\s*-?[0-9]{1,9}\s*', text or '') else default


class Machine:
    """CPUs and interrupts, from /sys and /proc."""

    def __init__(self, sysfs='/sys', procfs='/proc'):
        self.sysfs, self.procfs, self.release = sysfs, procfs, os.uname().release
        base = sysfs + '/devices/system/cpu/'
        self.isolated = set(cpus_of(read(base + 'isolated')) + cpus_of(read(base + 'nohz_full')))
        self.online = [cpu for cpu in cpus_of(read(base + 'online')) if cpu < 8192]
        if not self.online:
            raise Failure('no %sonline: is sysfs mounted?' % base)
        self.default = self.in_mask(procfs + '/irq/default_smp_affinity') or set(self.online)
        self.cpus = {cpu: self.topology('%scpu%d/' % (base, cpu), cpu) for cpu in self.online}
        self.irqs, self.nics, self.polled = self.interrupts(), [], {}
        self.judge()

    def in_mask(self, path):
        """The CPUs of a hexadecimal mask that are online."""
        text = (read(path) or '').replace(',', '')
        value = int(text, 16) if re.fullmatch('[0-9a-fA-F]+', text) else 0
        return {cpu for cpu in self.online if value >> cpu & 1}

    @staticmethod
    def topology(path, cpu):
        def lowest(name, default):
            return min(cpus_of(read(path + name)) or [default])
        node = next((int(name[4:]) for name in names(path) if re.fullmatch('node[0-9]{1,5}', name)), -1)
        package = lowest('topology/package_cpus_list', lowest('topology/core_siblings_list', 0))
        caches = sorted((integer(read('%scache/%s/level' % (path, name)), 0), name) for name in names(path + 'cache')
                        if re.fullmatch('index[0-9]+', name))
        return {'node': node, 'package': package, 'core': lowest('topology/thread_siblings_list', cpu),
                'llc': lowest('cache/%s/shared_cpu_list' % caches[-1][1], package) if caches else package,
                'capacity': min(1024, max(1, integer(read(path + 'cpu_capacity'), 1024)))}

    def counts(self):
        """{irq: interrupts so far}"""
        return {irq: sum(map(int, re.findall('[0-9]{1,20}', read('%s/kernel/irq/%d/per_cpu_count' % (self.sysfs, irq)) or '')))
                for irq in self.irqs}

    def interrupts(self):
        found = {}
        for irq in sorted(int(name) for name in names(self.sysfs + '/kernel/irq') if re.fullmatch('[0-9]{1,9}', name)):
            path, proc = '%s/kernel/irq/%d/' % (self.sysfs, irq), '%s/irq/%d/' % (self.procfs, irq)
            name = read(path + 'actions') or ''
            if not name:
                continue
            text = read(proc + 'smp_affinity_list')
            listed = set() if text is None else set(cpus_of(text)) & set(self.online)
            mask = set(self.default) if text is None else listed
            at = cpus_of(read(proc + 'effective_affinity_list'))
            at = at[0] if at and at[0] in self.cpus else min(mask or self.online)
            found[irq] = {
                'name': name, 'chip': read(path + 'chip_name') or '', 'cpu': at, 'mask': mask | {at}, 'listed': listed,
                'node': integer(read(proc + 'node'), -1), 'alone': len(mask | {at}) == 1, 'seen': text is not None,
                'writable': self.writable(proc), 'hint': self.in_mask(proc + 'affinity_hint'), 'status': '',
                'known': 'AFFINITY_MANAGED' in (read('%s/kernel/debug/irq/irqs/%d' % (self.sysfs, irq)) or '')}
        return found

    def writable(self, proc):
        """Whether an interrupt takes a mask, as far as its file shows."""
        try:
            writable = os.stat(proc + 'smp_affinity').st_mode & stat.S_IWUSR != 0
            # Before 6.12 all are writable: what is no mask is refused with EINVAL, or sooner if no mask is taken
            if writable and self.procfs == '/proc' and os.geteuid() == 0:
                with open(proc + 'smp_affinity', 'wb', buffering=0) as file:
                    file.write(b'x')
        except OSError as error:
            writable = error.errno in (errno.EINVAL, errno.EROFS, errno.EACCES)
        return writable

    def old_arm(self):
        """A kernel before 6.12, on which a DesignWare bridge shows masks as writable, and calls itself PCI-MSI as x86 does."""
        version = re.match(r'Linux version ([0-9]{1,3})\.([0-9]{1,3})\D', read(self.procfs + '/version') or '')
        return bool(version) and (int(version[1]), int(version[2])) < (6, 12) and any(
            row['chip'].startswith(('GIC', 'SiFive', 'RISC-V')) for row in self.irqs.values())

    def judge(self):
        """The reason that each interrupt has its mask: why, and bridge; again once it is known where they arrived."""
        found = boards.bridges(self.irqs, set(self.online), self.old_arm())
        for irq, row in self.irqs.items():
            row['bridge'] = found.get(irq, '')
            row['why'] = self.why(row)

    def why(self, row):
        told = STAY.get(row['status'])
        if not row['seen']:
            return 'unknown'
        if row['bridge'] and told != 'managed':
            return 'bridge'
        if told:
            return told
        if row['known'] or re.search(r'nvme[0-9]+q[1-9]', row['name']) or not row['writable'] and 'MSI' in row['chip']:
            return 'managed'
        if not row['writable'] or 'XT-PIC' in row['chip']:
            return 'fixed'
        if row['listed'] >= self.default:
            return 'default'
        if row['listed'] <= self.isolated:
            return 'isolated'
        return 'driver' if row['hint'] == row['listed'] else 'user'

    def threads(self):
        """{pid: irq} of the interrupts' threads, which are children of kthreadd."""
        found = {}
        for pid in names(self.procfs):
            name = re.match('irq/([0-9]{1,9})-', read('%s/%s/comm' % (self.procfs, pid)) or '') if pid.isdigit() else None
            if name and re.search(r'^PPid:\s*2$', read('%s/%s/status' % (self.procfs, pid)) or '', re.M):
                found[int(pid)] = int(name[1])
        return found

    def runs(self, program):
        """Whether a program is running."""
        return any(pid.isdigit() and read('%s/%s/comm' % (self.procfs, pid)) == program for pid in names(self.procfs))

    def times(self):
        """{cpu: (busy with tasks, steal)} in ns so far."""
        tick, found = SECOND // os.sysconf('SC_CLK_TCK'), {}
        for line in (read(self.procfs + '/stat') or '').splitlines():
            words = line.split()
            if re.fullmatch('cpu[0-9]+', words[0] if words else '') and len(words) > 8 and all(w.isdigit() for w in words[1:9]):
                user, nice, system, _, _, _, _, steal = map(int, words[1:9])
                found[int(words[0][3:])] = (user + nice + system) * tick, steal * tick
        return found

    def devices(self):
        """Network devices; of another machine those that were polled, too."""
        return sorted({*names(self.sysfs + '/class/net'), *self.nics})

    def candidates(self, device):
        """The interrupts of a network device, or of its parent (virtio); where sysfs does not tell, by their names."""
        path = '%s/class/net/%s/device' % (self.sysfs, device)
        if '/' in device or not device:
            return set()
        for one in path, path + '/..':
            found = {int(name) for name in names(one + '/msi_irqs') if name.isdigit()}
            alone = integer(read(one + '/irq'), 0)
            found |= {alone} if alone > 0 and not found else set()
            if found & set(self.irqs):
                return found & set(self.irqs)
        return named(self.irqs, device)


def named(irqs, device):
    """Those whose name has the device's: eth0-rx-1."""
    return {irq for irq, row in irqs.items() if device in re.findall(r'[\w.]+', row['name'])}


class Traced(Machine):
    """Another machine, by its trace: each CPU is a core of one package, and takes all interrupts."""

    def __init__(self, text):
        self.sysfs = self.procfs = os.devnull
        self.nics, self.polled, self.release, self.isolated, self.online, self.default = sorted(text.devices), {}, 'unknown', set(), list(text.online), set(text.online)
        self.cpus = {cpu: {'node': -1, 'package': 0, 'core': cpu, 'llc': 0, 'capacity': 1024} for cpu in text.online}
        self.irqs = {irq: {'name': name, 'chip': '', 'cpu': 0, 'mask': set(text.online), 'listed': set(), 'node': -1, 'alone': False, 'seen': False,
                           'writable': True, 'hint': set(), 'status': '', 'known': False} for irq, name in sorted(text.names.items())}
        self.judge()

    def candidates(self, device):
        return named(self.irqs, device)
