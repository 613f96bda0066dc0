#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""walk.py TOP: run the documentation's commands, and compare what they print

Runs in a guest whose machine is busy. A block of commands is one that follows
a mark, in .rst files ".. walk" and in .md files "<!-- walk -->". Lines that
begin with "# " or "$ " are commands; they run in one shell, the block goes on
where the last one ended. Other lines are what is printed: a number stands for
any number, but one of two digits or more for none that is 0; "..." for any lines.

Also, everything that the documentation names in /sys/kernel/irq_balance/ or
/sys/kernel/irq/N/ has to be there, and the other way round: what is there is
in the ABI file. Prints TAP.
"""
import glob
import os
import re
import subprocess
import sys
import time

ABI = 'Documentation/ABI/testing/sysfs-kernel-irq_balance'
PAGES = ['README.md', 'Documentation/admin-guide/irq-balance-start.rst', 'Documentation/admin-guide/irq-balance.rst']
END = 'walk: that was it'
WAIT_S = 5
count = failed = 0


def result(name, problem=''):
    global count, failed
    count += 1
    failed += bool(problem)
    print('%sok %d - %s' % ('not ' if problem else '', count, name))
    if problem:
        print('\n'.join('#   ' + line for line in problem.splitlines()))
    sys.stdout.flush()


def blocks(page, text):
    """Blocks of commands: lists of (command, lines that it prints)."""
    mark = '<!-- walk -->' if page.endswith('.md') else '.. walk'
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.strip() != mark:
            continue
        block, started = [], False
        for line in lines[at + 1:]:
            inside = line.startswith('    ' if page.endswith('.md') else '  ')
            if not inside and started and line.strip():
                break
            if not inside:
                continue
            line = line.strip()
            if line[:2] in ('# ', '$ '):
                block.append((line[2:], []))
                started = True
            elif block:
                block[-1][1].append(line)
        yield at + 1, block


def pattern(lines):
    parts = []
    for line in lines:
        if line == '...':
            parts.append(r'(?:.*\n)*?')
        else:
            text = [r'\s+'.join(map(re.escape, re.split(' +', word))) if not word.isdigit() else r'\d*[1-9]\d*' if int(word) > 9 else r'\d+'
                    for word in re.findall(r'\d+|\D+', line)]
            parts.append(r'\s*' + ''.join(text) + r'\s*\n')
    return ''.join(parts)


class Shell:
    def __init__(self):
        self.bash = subprocess.Popen(['bash'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        self.bash.stdin.write('%s\necho; echo "%s $?"\n' % (command, END))
        self.bash.stdin.flush()
        said = []
        for line in self.bash.stdout:
            if line.startswith(END):
                # Ours is the empty line before
                return ''.join(said)[:-1], int(line.split()[-1])
            said.append(line)
        return ''.join(said), -1


def documented(text):
    """The attributes that a text names, as patterns for glob."""
    for match in re.finditer(r'/sys/kernel/irq_balance/[\w/<>*{},-]*|/sys/kernel/irq/(?:N|<irq>|\*)/\w+', text):
        name = re.sub(r'/irq/(N|<irq>)/', '/irq/*/', match[0].rstrip('.,/'))
        if '{' not in name:
            yield re.sub(r'<\w+>|(?<=/cpu)N\b', '*', name)


def check_names(text):
    for page in text:
        result('%s: the attributes that it names are there' % page,
               '\n'.join(sorted({name for name in documented(text[page]) if not glob.glob(name)})))
        # Of the kernel's own files, only those that the series adds are here.
        names = {n.rstrip('.,)') for n in re.findall(r'(?<![\w/])(?:scripts|Documentation|tools/testing|patches)/[\w./-]+', text[page])}
        result('%s: the files of the repository that it names are there' % page, '\n'.join(sorted(
            n for n in names if ('irq' in n or n.split('/')[0] in ('scripts', 'patches')) and not os.path.exists(n))))
    there = [f for f in glob.glob('/sys/kernel/irq_balance/**', recursive=True) if os.path.isfile(f)]
    there += sorted({'/sys/kernel/irq/*/' + os.path.basename(f)
                     for f in glob.glob('/sys/kernel/irq/*/*') if re.match('balance|load_', os.path.basename(f))})
    whats = [re.sub(r'<\w+>', '*', w) for w in re.findall(r'^What:\s+(\S+)', text[ABI], re.M)]
    known = {f for w in whats for f in glob.glob(w)} | set(whats)
    result('every attribute is in the ABI file', '\n'.join(f for f in there if f not in known))


def main():
    os.chdir(sys.argv[1])
    pages = sorted(set(PAGES + [ABI] + glob.glob('Documentation/**/irq-balance*.rst', recursive=True)))
    text = {page: open(page).read() for page in pages}
    walks = [(page, number, block) for page in PAGES for number, block in blocks(page, text[page])]
    print('1..%d' % (2 * len(pages) + len(walks) + 2))
    check_names(text)
    shell, commands = Shell(), 0
    for page, number, block in walks:
        problem = [] if block else ['no command follows']
        for command, lines in block:
            commands += 1
            output, status = shell.run(command)
            # Commands with output only read. A slow machine may take a moment longer.
            for _ in range(WAIT_S if lines else 0):
                if re.fullmatch(pattern(lines), output):
                    break
                time.sleep(1)
                output, status = shell.run(command)
            if not re.fullmatch(pattern(lines), output) or (status and not lines):
                problem += ['# ' + command, 'documented:'] + lines + ['printed (status %d):' % status] + \
                    output.splitlines()
        result('%s:%d: %s' % (page, number, block[0][0] if block else ''), '\n'.join(problem))
    result('commands were run', '' if commands > 10 else 'only %d' % commands)
    return 1 if failed else 0


sys.exit(main())
