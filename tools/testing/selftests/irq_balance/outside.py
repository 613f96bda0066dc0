#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""outside.py [--rate N] [--burst N] [--bytes N] SCENE:TO:FROM[:RATE]...: echo requests for the network cards of a guest

QEMU's netdev "dgram" number I receives at the UDP port TO of 127.0.0.1 and sends to the port
FROM. Each card gets N (1000) requests per second, or RATE, in bursts of N (8), of N (64)
bytes of data, until this program is killed. Answers are not looked at. SCENE says in which frames:

  plain       to the card 52:54:00:00:00:0I, 10.9.I.1 from 10.9.I.2
  udp         UDP packets between the same addresses, to port 9000 + I
  usb         the same as plain, to 40:54:00:00:00:0I, which is how QEMU changes the address of "usb-net"
  bridge      the same, to 52:54:00:00:02:0I, which is behind the card
  vxlan       VXLAN I between the addresses of "plain"; in it to 52:54:00:00:02:0I, 10.8.I.1 from 10.8.I.2
  gre         GRE in the same way
"""
import argparse
import contextlib
import os
import socket
import struct
import time

SCENES = ('plain', 'udp', 'usb', 'bridge', 'vxlan', 'gre')


def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def ethernet(group, i, data, first=0x52):
    return bytes((first, 0x54, 0, 0, group, i, 0x52, 0x54, 0, 0, 1, i, 8, 0)) + data


def ip(net, i, protocol, data):
    head = struct.pack('!BBHHHBBH8B', 0x45, 0, 20 + len(data), 0, 0, 64, protocol, 0, 10, net, i, 2, 10, net, i, 1)
    return head[:10] + struct.pack('!H', checksum(head)) + head[12:] + data


def echo(net, i, size):
    data = struct.pack('!HH', 0x1234, 1) + bytes(size)
    return ip(net, i, 1, struct.pack('!BBH', 8, 0, checksum(b'\x08\x00\x00\x00' + data)) + data)


def frame(scene, i, size):
    if scene == 'bridge':
        return ethernet(2, i, echo(9, i, size))
    if scene == 'vxlan':
        inner = struct.pack('!II', 0x08000000, i << 8) + ethernet(2, i, echo(8, i, size))
        return ethernet(0, i, ip(9, i, 17, struct.pack('!HHHH', 5000 + i, 4789, 8 + len(inner), 0) + inner))
    if scene == 'udp':
        return ethernet(0, i, ip(9, i, 17, struct.pack('!HHHH', 5000 + i, 9000 + i, 8 + size, 0) + bytes(size)))
    if scene == 'gre':
        return ethernet(0, i, ip(9, i, 47, struct.pack('!HH', 0, 0x800) + echo(8, i, size)))
    return ethernet(0, i, echo(9, i, size), 0x40 if scene == 'usb' else 0x52)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split(':', 1)[0], description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rate', type=int, default=1000)
    parser.add_argument('--burst', type=int, default=8)
    parser.add_argument('--bytes', type=int, default=64)
    parser.add_argument('cards', nargs='+')
    args = parser.parse_args()
    if args.rate < 1 or args.burst < 1 or not 0 <= args.bytes <= 1300 or args.bytes % 2:
        parser.error('expected a rate and a burst of at least 1, and an even number of bytes up to 1300')
    with contextlib.suppress(OSError):      # as scripts/guest: before whatever else the host does
        os.setsid()
        with open('/proc/self/autogroup', 'w') as file:
            file.write('-15')
        os.nice(-15)
    cards, now = [], time.monotonic()
    for i, card in enumerate(args.cards):
        scene, to, at, rate = (card.split(':') + [str(args.rate)] * 4)[:4]
        if scene not in SCENES or not all(word.isdigit() and int(word) for word in (to, at, rate)):
            parser.error('%s: expected SCENE:TO:FROM or SCENE:TO:FROM:RATE, with a SCENE out of %s' % (card, ', '.join(SCENES)))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(('127.0.0.1', int(at)))
        s.connect(('127.0.0.1', int(to)))
        s.setblocking(False)
        step = args.burst / int(rate)
        # The bursts of different cards do not meet
        cards.append([now + step * i / len(args.cards), step, s, frame(scene, i, args.bytes)])
    while True:
        card = min(cards, key=lambda c: c[0])
        due, step, s, data = card
        time.sleep(max(0, due - time.monotonic()))
        # Late is late: a burst to make up for it would be another load
        card[0] = max(due, time.monotonic() - step) + step
        for _ in range(args.burst):
            with contextlib.suppress(OSError):      # full, or the guest is not there
                s.send(data)


main()
