#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""overload.py [--json FILE] KERNEL OUT: a guest's CPU 0 is saturated from outside

Boots KERNEL with 4 CPUs of a fixed speed and three network cards whose interrupts are all
on CPU 0. A program on the host feeds two of them more than two CPUs can receive, and sends
pings through the third. See overload/in-guest for the ways in which the guest
deals with that. Of each the medians are shown: packets per second that reached a socket
and that did not, instructions that all CPUs together executed for one of them, and
the round-trip time of the pings. Status 4: the host cannot give the CPUs their speed.
"""
import argparse
import contextlib
import json
import os
import shlex
import socket
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Two cores of a host can give so much; polls of 64 packets then take 9 ms. The rate is more than two CPUs can receive.
NICS, CPUS, MIPS, RATE = 3, 4, 20, 8000
NAMES = {'without': 'Linux 7.3', 'on': 'this balancer, switched on in the flood', 'observe': 'this balancer, from observe',
         'by_hand': 'placed by hand beforehand',
         'user': 'by hand in overload, on', 'user_observe': 'by hand in overload, observe',
         'user_off': 'by hand in overload, off',
         'widen': 'masks widened in overload, on', 'narrow': 'masks narrowed in overload, on',
         'irqbalance': 'irqbalance daemon', 'threaded': 'threaded NAPI beforehand', 'threaded_late': 'threaded NAPI in overload',
         'rps': 'RPS to the other CPUs'}


def free_ports(cards):
    """Two for each"""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2 * cards)]
        for s in sockets:
            s.bind(('127.0.0.1', 0))
        return [s.getsockname()[1] for s in sockets]


def qemu_args(model, ports):
    args = []
    for i, (local, remote) in enumerate(zip(ports[::2], ports[1::2])):
        end = 'type=inet,%s.host=127.0.0.1,%s.port=%d'
        args.append('-netdev dgram,id=x%d,local.%s,remote.%s' % (i, end % ('local', 'local', local), end % ('remote', 'remote', remote)))
        bus = ''
        if model in ('igb', 'e1000e'):
            args.append('-device pcie-root-port,id=rp%d,chassis=%d' % (i, i + 1))
            bus = ',bus=rp%d' % i
        args.append('-device %s,netdev=x%d,mac=52:54:00:00:00:%02x%s' % (model, i, i, bus))
    return ' '.join(args)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


class Slow(Exception):
    """The host cannot give the guest's CPUs their speed."""


def guest(out, *words):
    """Yields what the command of scripts/guest WORDS prints as JSON, and shows the rest."""
    process = subprocess.Popen([HERE + '/../guest', '--share', out, '--live', '--append', 'irqbalance=off', *words],
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith('{'):
            yield json.loads(line)
        else:
            print(line, end='', flush=True)
    if process.wait() == 4:      # it has said why
        raise Slow
    if process.returncode:
        sys.exit('the guest failed (status %d); its log is %s/console.log' % (process.returncode, out))


def boot(kernel, out, model, limit, options, command):
    """Yields what the guest's command prints as JSON. Exits when something fails."""
    os.makedirs(out, exist_ok=True)
    for name in 'ask', 'host.json':
        if os.path.exists(os.path.join(out, name)):
            os.remove(os.path.join(out, name))
    ports = free_ports(NICS)
    host = subprocess.Popen([sys.executable, HERE + '/overload/host.py', out, *map(str, ports)])
    try:
        yield from guest(out, '--smp', str(CPUS), '--mem', '1G', '--timeout', str(limit), '--panic-on-warn',
                         '--qemu-args', qemu_args(model, ports), *options, kernel, '--', *command)
        host.wait(timeout=10)
    except subprocess.TimeoutExpired:
        sys.exit('overload.py: the program on the host did not end')
    except (Slow, SystemExit):
        # No picture is drawn of such a run
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(out, 'host.json'))
        raise
    finally:
        host.kill()


def run(kernel, out, ways, rounds=3, model='e1000', options=(), mips=MIPS, length=0, say=print):
    """Returns {way: [figures of each round]}."""
    # By round: a second boot replaces what the first one has measured
    found = {way: {} for way in ways}
    for figures in boot(kernel, out, model, 90 + rounds * len(ways) * 20, ['--mips', str(mips), *options],
                        ['env', 'IRQBALANCE=' + os.environ.get('IRQBALANCE', ''),
                         HERE + '/overload/in-guest', str(RATE * mips // MIPS), str(length), str(rounds), *ways]):
        found[figures['way']][figures['round']] = figures
        say(figures)
    if any(len(each) != rounds for each in found.values()):
        sys.exit('overload.py: the guest did not measure %d rounds of each way' % rounds)
    with open(os.path.join(out, 'host.json')) as file:
        sent = json.load(file)
    for way in ways:
        for figures in found[way].values():
            of = sent['%d.%s' % (figures['round'], way)]
            figures['lost'] = max(0, round(sum(of['sent']) / of['seconds']) - figures['pps'])
            figures['insns'] = round(figures['busy'] * mips * 1e6 / max(1, figures['pps']))
            figures['rtt_us_p50'] = percentile(of['rtt_us'], 0.5)
            figures['rtt_us_p99'] = percentile(of['rtt_us'], 0.99)
    return {way: list(each.values()) for way, each in found.items()}


def modes(rounds):
    """
    [rounds that are alike]: pings have two modes if p50 of some rounds is three times that of the others, as with a
    daemon that moves the interrupt of their card or does not. A median would be that of either.
    """
    known = sorted((r for r in rounds if r['rtt_us_p50'] is not None), key=lambda r: r['rtt_us_p50'])
    split = next((n for n in range(1, len(known)) if known[n]['rtt_us_p50'] >= 3 * known[n - 1]['rtt_us_p50']), 0)
    return [each for each in (known[:split], known[split:]) if each] or [rounds]


def median(rounds, key):
    return None if any(r[key] is None for r in rounds) else round(statistics.median(r[key] for r in rounds))


def medians(rounds):
    """
    And the spread of the packets: percent by which the best round is above the worst. Each of modes is
    [number of rounds, p50, p99]
    """
    pps, pings = [r['pps'] for r in rounds], ('rtt_us_p50', 'rtt_us_p99')
    return dict({key: median(rounds, key) for key in ('pps', 'lost', 'insns', *pings)},
                spread=round(100 * (max(pps) / max(1, min(pps)) - 1), 1),
                modes=[[len(each), *(median(each, key) for key in pings)] for each in modes(rounds)])


def table(found):
    form = '%-40s %10s %8s %13s %14s %14s'
    print(form % ('CPU 0 is saturated', 'packets/s', 'lost/s', 'insns/packet', 'ping ms (p50)', 'ping ms (p99)') + '   (packets/s of each round)')
    for way, rounds in found.items():
        m = medians(rounds)
        ms = [' or '.join('-' if mode[n] is None else '%.1f' % (mode[n] / 1000) for mode in m['modes']) for n in (1, 2)]
        print(form % (NAMES[way], m['pps'], m['lost'], m['insns'], *ms) + '   (%s)' % ', '.join(str(r['pps']) for r in rounds))


def some_of(known):
    """The type of an argument: different words of KNOWN with commas between them"""
    def found(text):
        words = text.split(',')
        if not set(words) <= set(known) or len(set(words)) != len(words):
            raise argparse.ArgumentTypeError('%r: expected different ways with commas between them: %s' % (text, ','.join(known)))
        return words
    return found


def count(text):
    if not text.isdigit() or not 0 < int(text) < 100:
        raise argparse.ArgumentTypeError('%r: expected a number from 1 to 99' % text)
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kernel')
    parser.add_argument('out')
    parser.add_argument('--model', default='e1000', help='of the network cards')
    parser.add_argument('--irqremap', action='store_true')
    parser.add_argument('--mips', type=int, default=MIPS, help='million instructions per second of each CPU (%(default)d)')
    parser.add_argument('--filter', type=int, default=0, help='instructions of a packet filter that sees each packet (%(default)d)')
    parser.add_argument('--rounds', type=count, default=3)
    parser.add_argument('--ways', type=some_of(NAMES), default='without,on,observe,by_hand')
    parser.add_argument('--command', help='run this in the guest instead, for 400 s at most, and show what it prints')
    parser.add_argument('--json', help='write the figures of all rounds there')
    args = parser.parse_args()
    options = ['--irqremap'] if args.irqremap else []
    if not 0 <= args.filter <= 4096:
        parser.error('--filter %d: expected 0 to 4096 instructions' % args.filter)
    if 'irqbalance' in args.ways and not os.environ.get('IRQBALANCE'):
        parser.error('--ways irqbalance: set IRQBALANCE= to the path of the daemon')
    if args.command:
        for printed in boot(args.kernel, os.path.abspath(args.out), args.model, 400, options, shlex.split(args.command)):
            print(json.dumps(printed))
        with open(os.path.join(args.out, 'host.json')) as file:
            final = json.load(file)['final']
        print(json.dumps({'pings': final['pings'], 'answered': len(final['rtt_us'])}))
        return
    found = run(args.kernel, os.path.abspath(args.out), args.ways, args.rounds, args.model, options, args.mips, args.filter,
                say=lambda f: print('# round %(round)d %(way)s: %(pps)d packets/s, %(busy).2f CPUs, '
                                    '%(moves)d moves, %(failed)d failed' % f, flush=True))
    table(found)
    if args.json:
        with open(args.json, 'w') as file:
            json.dump(found, file, indent=1)


if __name__ == '__main__':
    try:
        main()
    except Slow:
        sys.exit(4)
