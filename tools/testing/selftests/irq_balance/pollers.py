#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pollers.py receive|epoll PORT...: receive UDP packets at each PORT, until killed

receive  waits in recv(): with net.core.busy_read the kernel polls the card meanwhile
epoll    as a user without rights; the kernel polls the card for 1 us, 100 times a second
"""
import fcntl
import os
import select
import socket
import struct
import sys
import time

EPIOCSPARAMS = 0x40088a01


def receive(s):
    while True:
        s.recv(2048)


def epoll(s):
    os.setgid(65534)
    os.setuid(65534)
    # The first packet tells the socket its NAPI instance
    s.recv(2048)
    s.setblocking(False)
    poll = select.epoll()
    poll.register(s, select.EPOLLIN)
    fcntl.ioctl(poll.fileno(), EPIOCSPARAMS, struct.pack('IHBB', 1, 8, 0, 0))
    while True:
        try:
            while True:
                s.recv(2048)
        except BlockingIOError:
            pass
        poll.poll(0.002)
        time.sleep(0.008)


def main():
    how = {'receive': receive, 'epoll': epoll}.get(sys.argv[1] if sys.argv[1:] else '')
    if not how or not all(port.isdigit() for port in sys.argv[2:]):
        sys.exit(__doc__)
    for port in sys.argv[2:]:
        if os.fork() == 0:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(('', int(port)))
            how(s)
    os.wait()
    sys.exit('pollers.py: a receiver ended')


if __name__ == '__main__':
    main()
