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
SO_ATTACH_FILTER, ETH_P_IP = 26, 0x800
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


def prepare(filters, length):
    """
    NICs that are up, an address for pings, one for the flood with a UDP socket that nobody reads.
    To make frames dearer, for each NIC so many packet sockets run a filter of LENGTH instructions,
    which takes no frame, as a firewall does. Returns the sockets.
    """
    links_up()
    for address, device in ('10.9.0.1/24', 'eth%d' % LIGHT), ('10.9.1.1/32', 'lo'):
        subprocess.run(['ip', 'addr', 'add', address, 'dev', device], check=True)
    subprocess.run(['ip', 'neigh', 'replace', '10.9.0.2', 'lladdr', '52:54:00:00:01:00', 'dev', 'eth%d' % LIGHT], check=True)
    code = struct.pack('=HBBI', 0x00, 0, 0, 1)                      # A = 1
    code += struct.pack('=HBBI', 0x04, 0, 0, 3) * (length - 2)      # A += 3
    code += struct.pack('=HBBI', 0x06, 0, 0, 0)                     # drop
    program = ctypes.create_string_buffer(code)
    held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    held[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
    held[0].bind(('10.9.1.1', 9))
    for nic in list(range(NICS)) * filters:
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack('HL', len(code) // 8, ctypes.addressof(program)))
        s.bind(('eth%d' % nic, ETH_P_IP))
        held.append(s)
    return held
