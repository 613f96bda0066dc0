#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""irqload: calls its verbs, which are the modules and the programs beside this file

An old Python parses this file, so far as to name the one that is needed.
"""
import os
import signal
import sys

if sys.version_info < (3, 7):
    sys.stderr.write('irqload: Python 3.7 or newer is required, this is %d.%d: %s\n' % (sys.version_info[:2] + (sys.executable,)))
    sys.exit(2)

# Of root, in another user's directory, or beside what is installed
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import common

# The programs of C, and the variables that name others
PROGRAMS = {'replay': ('replay', 'REPLAY'), 'order': ('pic-order', 'PIC_ORDER')}


def run(verb, args):
    """The exit status of a verb."""
    if verb in PROGRAMS:
        program = common.program(*PROGRAMS[verb])
        os.execv(program, ['irqload ' + verb] + args)
    if verb == 'advise':
        import advise as module
    elif verb == 'record':
        import record as module
    elif not verb:
        import live as module
    else:
        raise common.Failure('no verb is called %s: advise, record, replay or order' % verb, common.command('--help'))
    return module.run(args)


def main():
    # "irqload | head" ends it without a message
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    verb = sys.argv[1] if sys.argv[1:] and not sys.argv[1].startswith('-') else ''
    name = ' '.join(['irqload'] + [verb] * (verb in ('advise', 'record')))
    try:
        if not sys.stdout:
            raise common.Failure('standard output is closed', 'it shows the result')
        sys.stdout.reconfigure(errors='replace')
        return run(verb, sys.argv[2 if verb else 1:]) or 0
    except OSError as error:
        sys.stderr.write('%s: %s: %s\n' % (name, error.filename or 'standard output', error.strerror))
        # Python writes the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 2
    except common.Failure as failure:
        sys.stderr.write('%s: %s\n' % (name, '\n  '.join(failure.args)))
        return failure.status
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
