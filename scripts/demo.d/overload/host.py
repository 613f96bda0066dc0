#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""host.py DIR PORT...: feeds the NICs of a guest from outside

QEMU's netdev I receives UDP datagrams at the PORT 2 I and sends to the PORT 2 I + 1.
All NICs but the last get UDP packets of many flows, at the rate that the guest asks
for. The last NIC gets a ping every 10 ms or so. The guest writes
"LABEL RATE" (frames per second for each NIC, or 0) to DIR/ask. When it writes
"end 0" the counts of each label go to DIR/host.json: seconds, frames sent, pings
sent and their round-trip times in us.
"""
import contextlib
import json
import os
import random
import select
import socket
import struct
import sys
import time

FLOWS = 64


def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def frame(nic, net, protocol, data):
    """From 10.9.NET.2 to 10.9.NET.1"""
    head = struct.pack('!BBHHHBBH8B', 0x45, 0, 20 + len(data), 0, 0, 64, protocol, 0, 10, 9, net, 2, 10, 9, net, 1)
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    return bytes((0x52, 0x54, 0, 0, 0, nic, 0x52, 0x54, 0, 0, 1, 0, 8, 0)) + head + data


def ping(number, nic):
    body = struct.pack('!HH', 0x1234, number & 0xffff) + bytes(40)
    return frame(nic, 0, 1, struct.pack('!BBH', 8, 0, checksum(b'\x08\x00\x00\x00' + body)) + body)


def main():
    where, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
    with contextlib.suppress(OSError):      # as scripts/guest: before whatever else the host does
        os.setsid()
        with open('/proc/self/autogroup', 'w') as file:
            file.write('-15')
        os.nice(-15)
    nics, parent = len(ports) // 2 - 1, os.getppid()
    sockets = []
    for i in range(nics + 1):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(('127.0.0.1', ports[2 * i + 1]))
        s.connect(('127.0.0.1', ports[2 * i]))
        s.setblocking(False)
        sockets.append(s)
    frames = [[frame(i, 1, 17, struct.pack('!HHHH', 1000 + flow, 9, 26, 0) + bytes(18)) for flow in range(FLOWS)] for i in range(nics)]
    records, record, rate, asked = {}, None, 0, ''
    number, next_ping, on_way = 0, 0, {}
    look = owed = last = 0

    while True:
        now = time.monotonic()
        if now >= look:
            look = now + 0.02
            if os.getppid() != parent:      # killed: it does not end this program
                return
            try:
                with open(os.path.join(where, 'ask')) as file:
                    ask = file.read()
            except OSError:
                ask = ''
            if ask.endswith('\n') and ask != asked:
                asked = ask
                label, rate = ask.split()[0], float(ask.split()[1])
                if record:
                    record['seconds'] = now - record['start']
                if label == 'end':
                    break
                record = records[label] = {'start': now, 'sent': [0] * nics, 'pings': 0, 'rtt_us': []}
                owed, last = 0, now
        if record:
            # Late is late: a burst to make up for it would be another load
            owed = min(owed + (now - last) * rate, rate * 0.01)
            last = now
            for i in range(nics):
                for _ in range(int(owed)):
                    record['sent'][i] += 1
                    try:
                        sockets[i].send(frames[i][record['sent'][i] % FLOWS])
                    except OSError:     # full, or the guest is gone
                        pass
            owed -= int(owed)
        if record and now >= next_ping:
            next_ping = now + random.uniform(0.005, 0.015)
            number += 1
            on_way[number & 0xffff] = (now, record)
            record['pings'] += 1
            try:
                sockets[nics].send(ping(number, nics))
            except OSError:
                pass
        if select.select([sockets[nics]], [], [], 0.0005)[0]:
            try:
                got = sockets[nics].recv(2048)
            except OSError:
                continue
            now = time.monotonic()
            if got[12:14] == b'\x08\x00' and got[23] == 1 and got[34] == 0:
                sent, of = on_way.pop(struct.unpack('!H', got[40:42])[0], (0, None))
                if of:
                    of['rtt_us'].append(round((now - sent) * 1e6))

    with open(os.path.join(where, 'host.json'), 'w') as file:
        json.dump(records, file)


main()
