#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which faults of the planner, and of the order of the 8259A, do the tests see?

Makes small faults in the sources, one at a time: a comparison or an operator
swapped, a condition negated, a constant off by one, a statement left out. A
mutant that does not compile, or whose object is that of the source, does not
count. The rest are run against the tests of this directory and the KUnit suites in
user space, until one fails: first without sanitizers and with few seeds, what
survives with sanitizers and --seeds. Prints the survivors.

Fails if less than 92 % of the planner's mutants are killed, or if one of
i8259_order.c or pic-analysis.c survives. Those in the file mutants.equivalent do not count. A line of that
file has the name of the source, the line before and after, and why no test can tell
them apart, with " | " between. The line before may be a regular expression between
slashes, which matches a part of it, and so may the line after; * means every mutant.
"""
import argparse
import os
import re
import resource
import subprocess
import sys

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST = 92                  # per cent of the planner's
SWAPS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&',
         '+': '-', '-': '+', '*': '/', '/': '*', '+=': '-=', '-=': '+=', '<<': '>>', '>>': '<<', '|': '&', '&': '|'}


def mask(text):
    """TEXT with its comments, strings and preprocessor lines blanked; #define lines stay."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match[0])
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"', blank, text, flags=re.S)
    return re.sub(r'^#(?!define).*', blank, text, flags=re.M)


def closing(code, at):
    """The position of the bracket that closes the one at AT."""
    depth = 0
    for position in range(at, len(code)):
        depth += {'(': 1, ')': -1}.get(code[position], 0)
        if not depth:
            return position
    return None


def mutants_of(text):
    """[(begin, end, replacement)] in the order of the text"""
    code, found = mask(text), []
    for match in re.finditer(r'(?<= )(%s)(?=[ \n])' % '|'.join(re.escape(op) for op in sorted(SWAPS, key=len, reverse=True)), code):
        found.append((match.start(), match.end(), SWAPS[match[0]]))
    for match in re.finditer(r'\b(?:if|while) (\()', code):
        end = closing(code, match.start(1))
        if end:
            found.append((match.start(1), end + 1, '(!%s)' % text[match.start(1):end + 1]))
    for match in re.finditer(r'(?<![\w.\'])(0x[0-9a-fA-F]+|\d+)([uUlL]*)\b', code):
        number = int(match[1], 0)
        found += [(match.start(), match.end(), '%d%s' % (n, match[2])) for n in (number + 1, number - 1) if n >= 0]
    for match in re.finditer(r'^\t+(?:break|continue|[a-z_*(+-][^;{}\n]*(?:=|\(|\+\+|--)[^;{}\n]*);$', code, re.M):
        statement = match[0].strip()
        if not re.match(r'(return|for|goto|case|const|struct|enum|unsigned|int|bool|static|[su]\d+|s?size_t)\b', statement):
            found.append((match.start(), match.end(), ';'))
    return sorted(found)


class Group:
    """Sources, and the programs and scripts that test them."""

    def __init__(self, name, sources, programs, scripts, options):
        self.name, self.sources, self.programs, self.scripts, self.options = name, sources, programs, scripts, options
        self.limits = {}
        self.stages = (('fast', ['-O2'], 2),
                       ('full', ['-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'], options.seeds))
        for stage, flags, seeds in self.stages:
            for source in sorted({s for parts in programs.values() for s in parts} | set(sources)):
                # Objects of one name, without debug information, can be compared
                if not (self.mutate(flags, source, read(source), self.object(stage, source)) if source in sources else
                        self.compile(flags + ['-c'], source, self.object(stage, source))):
                    sys.exit('mutants.py: %s does not compile' % source)
            if self.fails(stage, flags, seeds):
                sys.exit('mutants.py: %s: the tests fail without a mutant' % name)

    def object(self, stage, source):
        return '%s/%s.%s.o' % (self.options.work, stage, os.path.basename(source))

    def compile(self, flags, source, target, *more):
        command = ['gcc', *self.options.flags, *flags, '-w', '-o', target, source, *more]
        return not subprocess.run(command, cwd=HERE, stderr=subprocess.DEVNULL, check=False).returncode

    def mutate(self, flags, source, text, target):
        """Compile TEXT, which is in the place of SOURCE."""
        path = self.options.work + '/mutant.c'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return self.compile(flags + ['-c', '-I' + os.path.dirname(source)], path, target)

    def run(self, name, command, environment):
        """Whether COMMAND fails. A mutant may take four times the CPU time of the source."""
        limit = self.limits.get(name, 1000)
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        with subprocess.Popen(command, cwd=HERE, env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))) as process:
            for line in process.stdout:
                if line.startswith(b'not ok'):
                    process.kill()
                    return True
        self.limits.setdefault(name, 2 + int(4 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin)))
        return process.returncode != 0

    def fails(self, stage, flags, seeds, source=None, mutant=None):
        """Whether a test fails, with the object MUTANT in place of that of SOURCE"""
        environment = {'COUNT': str(seeds)}
        for name, parts in self.programs.items():
            program = '%s/%s' % (self.options.work, name)
            objects = [mutant if part == source else self.object(stage, part) for part in parts + self.sources]
            if not self.compile(flags, objects[0], program, *objects[1:]):
                sys.exit('mutants.py: %s does not link' % name)
            environment[name.upper().replace('-', '_')] = program
            if name.startswith(('kunit', 'test')) and self.run(stage + name, [program, str(seeds)], environment):
                return True
        return any(self.run(stage + script, [sys.executable, '-B', *script.split()], environment) for script in self.scripts)

    def killed(self, source, text):
        """None for a mutant that does not count"""
        mutant = self.options.work + '/mutant.o'
        for stage, flags, seeds in self.stages:
            if not self.mutate(flags, source, text, mutant) or stage == 'fast' and same(mutant, self.object(stage, source)):
                return None
            if self.fails(stage, flags, seeds, source, mutant):
                return True
        return False


def read(path):
    with open(os.path.join(HERE, path), encoding='utf-8') as file:
        return file.read()


def same(one, other):
    with open(one, 'rb') as a, open(other, 'rb') as b:
        return a.read() == b.read()


class Equivalents:
    """The file mutants.equivalent"""

    def __init__(self, text):
        self.exact, self.patterns = set(), []
        for line in text.splitlines():
            words = [word.strip() for word in line.split(' | ')]
            if line.startswith('#') or len(words) < 4:
                continue
            name, was, now = words[:3]
            if was[0] == was[-1] == '/':
                self.patterns.append((name, re.compile(was[1:-1]), re.compile(now.strip('/*') if now[0] in '/*' else re.escape(now) + '$')))
            else:
                self.exact.add((name, was, now))

    def has(self, name, was, now):
        return bool(self.exact & {(name, was, now), (name, was, '*')}) or any(
            name == of and before.search(was) and after.search(now) for of, before, after in self.patterns)


def judge(group, known, every, start):
    """Run mutants of GROUP that are not KNOWN; returns how many count, and how many of these are killed."""
    options, count, killed = group.options, 0, 0
    for source in group.sources:
        text, sums = read(source), (count, killed)
        for nth, (begin, end, new) in enumerate(mutants_of(text)):
            if nth % every != start or options.only not in source:
                continue
            mutant = text[:begin] + new + text[end:]
            line = text.count('\n', 0, begin)
            was, now = text.split('\n')[line].strip(), mutant.split('\n')[line].strip()
            seen = None if known.has(os.path.basename(source), was, now) else group.killed(source, mutant)
            if seen is not None:
                count, killed = count + 1, killed + seen
            if seen is False:
                print('# survives: %s:%d: %s -> %s' % (os.path.basename(source), line + 1, was, now), flush=True)
            if nth // every % 20 == 19:
                print('# %s: %d of %d killed so far' % (os.path.basename(source), killed - sums[1], count - sums[0]), flush=True)
        if options.only in source:
            print('# %s: %d of %d killed' % (os.path.basename(source), killed - sums[1], count - sums[0]), flush=True)
    return count, killed


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--every', type=cases.whole(1), default=1, help='only each N-th mutant of the planner', metavar='N')
    parser.add_argument('--from', type=cases.whole(0), default=0, dest='start', help='of these N samples the K-th, from 0', metavar='K')
    parser.add_argument('--seeds', type=cases.whole(1), default=6, help='of the tests with sanitizers')
    parser.add_argument('--only', help='only sources whose path contains WORD', metavar='WORD', default='')
    parser.add_argument('--plan', default='../../../kernel-irq/balance', help='directory of the planner')
    parser.add_argument('--x86', default='../../../arch-x86/kernel', help='directory of i8259_order.c')
    parser.add_argument('--work', default='../../../build/irq_balance/mutants', help='directory to work in')
    options = parser.parse_args()
    options.work = os.path.abspath(os.path.join(HERE, options.work))
    os.makedirs(options.work, exist_ok=True)
    options.flags = ['-I' + options.plan, '-I' + options.x86, '-I.', '-isystem', 'include', '-D_GNU_SOURCE', '-std=gnu11']
    known = Equivalents(read('mutants.equivalent'))

    def planner(name):
        return '%s/%s.c' % (options.plan, name)
    sim, failed = ['sim.c', 'workload.c'], False
    programs = ['bpf/%s.bpf.c' % name for name in ('rotate', 'compact', 'keepoff')]
    plan = ('the planner', [planner(name) for name in ('plan', 'place', 'average', 'program')], {
        'kunit-plan': [planner('tests/plan_kunit')],
        'test': ['test.c', 'test_small.c', 'test_place.c', 'test_search.c', 'test_topology.c', 'test_average.c',
                 'test_time.c', 'test_rules.c', 'test_beyond.c', 'world.c'],
        'replay': ['replay.c', *sim, *programs]}, ['test_replay.py'], LEAST)
    order = ('the order of the 8259A', [options.x86 + '/i8259_order.c', 'pic-analysis.c'], {
        'kunit-i8259': [options.x86 + '/i8259_order_kunit.c'], 'test-pic': ['test_pic.c'],
        'pic-order': ['pic-order.c', 'pic-measure.c']}, ['test_pic_order.py -f PicOrder'], 100)
    if not any(options.only in source for group in (order, plan) for source in group[1]):
        cases.fail('--only %s: no source has this in its path' % options.only)
    # Before the first mutant: are they all there?
    for source in order[1] + plan[1]:
        read(source)
    for name, sources, programs, scripts, least in order, plan:
        if not any(options.only in source for source in sources):
            continue
        sample = (options.every, options.start % options.every) if least < 100 else (1, 0)
        count, killed = judge(Group(name, sources, programs, scripts, options), known, *sample)
        bad = not count or killed * 100 < least * count
        failed |= bad
        print('%sok - %s: %d of %d mutants killed, at least %d %%' % ('not ' * bad, name, killed, count, least), flush=True)
    return failed


if __name__ == '__main__':
    cases.guard(main)
