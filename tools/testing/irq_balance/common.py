# SPDX-License-Identifier: GPL-2.0
"""The parts of irqload share this: errors, the command's name, small files, lists of CPUs

The modules import in one direction: common, instance, tracetimes, tracetext; common, loadmap,
boards, machine, measure; and above these remedy, advise, record and live, which irqload calls.
"""
import argparse
import os
import re
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """The error, and the next step; a line each."""
    status = 2


class Nothing(Failure):
    """There is nothing to measure."""
    status = 1


def command(*words):
    """The command as it was called, with these words."""
    return ' '.join([shlex.quote(sys.argv[0])] + list(words))


def called():
    """The command and the verb as they were called."""
    return command(*[word for word in sys.argv[1:2] if not word.startswith('-')])


def program(name, variable):
    """The path of a program of C that is built, or installed, beside this file."""
    path = os.environ.get(variable) or os.path.join(HERE, name)
    if not os.access(path, os.X_OK):
        raise Failure('%s is not built: make -C %s' % (path, shlex.quote(os.path.dirname(path))))
    return path


def read(path):
    """The text of a file, without blanks at its ends; None if there is none or it cannot be read."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def names(path):
    """The names in a directory, none if it cannot be read."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def to_write(path):
    """Refuse a PATH that cannot be written: before measuring."""
    try:
        new = not os.path.lexists(path)
        if os.path.isdir(path):
            raise OSError(0, 'this is a directory')
        # A path that is no file, such as /dev/full or a pipe, is only opened to be written
        if new or os.path.isfile(path):
            with open(path, 'ab'):
                pass
        if new:
            os.unlink(path)
    except OSError as error:
        raise Failure('%s: %s' % (path, error.strerror), 'name a file that can be written') from None


def cpus_of(text):
    """The CPUs of a list like 0-3,8."""
    found = []
    for part in (text or '').strip().split(','):
        ends = part.split('-')
        if len(ends) <= 2 and all(re.fullmatch('[0-9]{1,5}', end) for end in ends):
            found += range(int(ends[0]), int(ends[-1]) + 1)
    return found


def cpulist(cpus):
    parts = []
    for cpu in sorted(cpus):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ','.join('%d' % a if a == b else '%d-%d' % (a, b) for a, b in parts)


def hexmask(cpus):
    """As rps_cpus takes it."""
    value = sum(1 << cpu for cpu in cpus)
    words = []
    while value or not words:
        words.append('%x' % (value & 0xffffffff) if value < 1 << 32 else '%08x' % (value & 0xffffffff))
        value >>= 32
    return ','.join(reversed(words))


def printable(text):
    return ''.join(c if c.isprintable() else '?' for c in text)


def options(verb, page):
    """A parser whose help is PAGE, for the words that a user may give to a verb."""
    parser = argparse.ArgumentParser(prog=('irqload ' + verb).strip(), description=page, usage=argparse.SUPPRESS, allow_abbrev=False,
                                     add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-h', '--help', action='help', help=argparse.SUPPRESS)
    return parser


def between(kind, low, high):
    """The type of an option's number."""
    def convert(text):
        if not re.fullmatch(r'-?[0-9]{1,10}(\.[0-9]{1,10})?' if kind is float else '-?[0-9]{1,10}', text, re.A):
            raise argparse.ArgumentTypeError('%s is no number' % text)
        if not low <= kind(text) <= high:
            raise argparse.ArgumentTypeError('%s is not between %s and %s' % (text, low, high))
        return kind(text)
    return convert
