#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""host.py DIR PORT...: feeds the NICs of a guest from outside

QEMU's netdev I receives UDP datagrams at the PORT 2 I and sends to the PORT 2 I + 1.
All NICs but the last get frames that nothing receives, at the rate that the guest asks
for. The last NIC gets a ping every 10 ms or so. The guest writes
"LABEL RATE" (frames per second for each NIC, or 0) to DIR/ask. When it writes
"end 0" the counts of each label go to DIR/host.json: seconds, frames sent, pings
sent and their round-trip times in us.
"""
import json
import os
import random
import select
import socket
import struct
import sys
import time

LIGHT_ADDRESSES = bytes((10, 9, 0, 2)), bytes((10, 9, 0, 1))


def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def ping(number, mac):
    body = struct.pack('!HH', 0x1234, number & 0xffff) + bytes(40)
    icmp = struct.pack('!BBH', 8, 0, checksum(b'\x08\x00\x00\x00' + body)) + body
    head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(icmp), 0, 0, 64, 1, 0, *LIGHT_ADDRESSES)
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    return mac + b'\x52\x54\x00\x00\x01\x00' + b'\x08\x00' + head + icmp


def main():
    where, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
    nics = len(ports) // 2 - 1
    sockets = []
    for i in range(nics + 1):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(('127.0.0.1', ports[2 * i + 1]))
        s.connect(('127.0.0.1', ports[2 * i]))
        s.setblocking(False)
        sockets.append(s)
    # An experimental EtherType and a unicast address: stack and filters see each frame
    frames = [b'\x52\x54\x00\x00\x00%c' % i + b'\x52\x54\x00\x00\x01\x00\x88\xb5' + bytes(46) for i in range(nics)]
    records, record, rate, asked = {}, None, 0, ''
    number, next_ping, on_way = 0, 0, {}
    look = owed = last = 0

    while True:
        now = time.monotonic()
        if now >= look:
            look = now + 0.02
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
                        sockets[i].send(frames[i])
                    except OSError:     # full, or the guest is gone
                        pass
            owed -= int(owed)
        if record and now >= next_ping:
            next_ping = now + random.uniform(0.005, 0.015)
            number += 1
            on_way[number & 0xffff] = (now, record)
            record['pings'] += 1
            try:
                sockets[nics].send(ping(number, b'\x52\x54\x00\x00\x00%c' % nics))
            except OSError:
                pass
        if select.select([sockets[nics]], [], [], 0.0005)[0]:
            try:
                frame = sockets[nics].recv(2048)
            except OSError:
                continue
            now = time.monotonic()
            if frame[12:14] == b'\x08\x00' and frame[23] == 1 and frame[34] == 0:
                sent, of = on_way.pop(struct.unpack('!H', frame[40:42])[0], (0, None))
                if of:
                    of['rtt_us'].append(round((now - sent) * 1e6))

    with open(os.path.join(where, 'host.json'), 'w') as file:
        json.dump(records, file)


main()
