#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""expensive.py NICS SOCKETS: makes each frame that eth0 .. receive expensive, in NET_RX

SOCKETS packet sockets for each NIC run a filter of 1500 instructions, which takes no
frame: as a firewall does.
"""
import ctypes
import socket
import struct
import sys
import time

SO_ATTACH_FILTER, ETH_P_TEST = 26, 0x88b5
LENGTH = 1500

code = struct.pack('=HBBI', 0x00, 0, 0, 1)                      # A = 1
code += struct.pack('=HBBI', 0x04, 0, 0, 3) * (LENGTH - 2)      # A += 3
code += struct.pack('=HBBI', 0x06, 0, 0, 0)                     # drop
program = ctypes.create_string_buffer(code)
sockets = []
for nic in range(int(sys.argv[1])):
    for _ in range(int(sys.argv[2])):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack('HL', LENGTH, ctypes.addressof(program)))
        s.bind(('eth%d' % nic, ETH_P_TEST))
        sockets.append(s)
print('ready', flush=True)
time.sleep(86400)
