# SPDX-License-Identifier: GPL-2.0
"""Shared by the programs in a guest of overload.py."""
import glob
import os
import subprocess
import threading

NICS, LIGHT = 2, 2
SHARE = os.environ['SHARE']
BALANCER, TRACING = '/sys/kernel/irq_balance/', '/sys/kernel/tracing/'
CPUS = os.cpu_count()


def read(path):
    with open(path) as file:
        return file.read()


def write(path, value):
    with open(path, 'w') as file:
        file.write('%s\n' % value)


def ask(label, rate):
    """Send a request to host.py."""
    new = '%s/ask.%d' % (SHARE, threading.get_ident())
    write(new, '%s %d' % (label, rate))
    os.rename(new, SHARE + '/ask')


def irqs(nic):
    device = '/sys/class/net/eth%d/device/' % nic
    found = [int(os.path.basename(path)) for path in glob.glob(device + 'msi_irqs/*') + glob.glob(device + '../msi_irqs/*')]
    return [irq for irq in found if os.path.exists('/proc/irq/%d' % irq)] or [int(read(device + 'irq'))]


def links_up():
    for nic in range(NICS + 1):
        subprocess.run(['ip', 'link', 'set', 'eth%d' % nic, 'up'], check=False)


def prepare(sockets):
    """NICs that are up, an address for pings, frames that are expensive; returns the process to kill at the end."""
    links_up()
    subprocess.run(['ip', 'addr', 'add', '10.9.0.1/24', 'dev', 'eth%d' % LIGHT], check=True)
    subprocess.run(['ip', 'neigh', 'add', '10.9.0.2', 'lladdr', '52:54:00:00:01:00', 'dev', 'eth%d' % LIGHT], check=True)
    expensive = subprocess.Popen([os.path.dirname(os.path.abspath(__file__)) + '/expensive.py', str(NICS), str(sockets)], stdout=subprocess.PIPE)
    expensive.stdout.readline()
    return expensive
