# SPDX-License-Identifier: GPL-2.0
"""Shared by the programs in a guest of overload.py."""
import ctypes
import glob
import os
import socket
import struct
import subprocess
import threading

NICS, LIGHT = 2, 2
SO_ATTACH_FILTER, ETH_P_TEST, LENGTH = 26, 0x88b5, 1500
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


def prepare():
    """
    NICs that are up, an address for pings, frames that are expensive: eight packet sockets
    for each NIC run a filter of 1500 instructions, which takes no frame, as a firewall does. Returns them.
    """
    links_up()
    subprocess.run(['ip', 'addr', 'add', '10.9.0.1/24', 'dev', 'eth%d' % LIGHT], check=True)
    subprocess.run(['ip', 'neigh', 'add', '10.9.0.2', 'lladdr', '52:54:00:00:01:00', 'dev', 'eth%d' % LIGHT], check=True)
    code = struct.pack('=HBBI', 0x00, 0, 0, 1)                      # A = 1
    code += struct.pack('=HBBI', 0x04, 0, 0, 3) * (LENGTH - 2)      # A += 3
    code += struct.pack('=HBBI', 0x06, 0, 0, 0)                     # drop
    program = ctypes.create_string_buffer(code)
    held = []
    for nic in list(range(NICS)) * 8:
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack('HL', LENGTH, ctypes.addressof(program)))
        s.bind(('eth%d' % nic, ETH_P_TEST))
        held.append(s)
    return held
