# SPDX-License-Identifier: GPL-2.0
"""A trace instance of one's own in tracefs, which is removed in the end

It has the name irqload.PID. A run that was killed leaves its instance, which goes on to record
events. The next run removes it.
"""
import os
import re
import signal
import subprocess
import sys

from common import Failure, called, names, read

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Instance:
    """A directory of tracefs, from __enter__() to __exit__()."""

    def __init__(self, sysfs='/sys'):
        self.held = None
        self.top, self.security = sysfs + '/kernel/tracing', sysfs + '/kernel/security'
        if not os.path.isdir(self.top + '/events'):
            if sysfs == '/sys' and os.geteuid() == 0:
                subprocess.run(['mount', '-t', 'tracefs', 'nodev', self.top], check=False, stderr=subprocess.DEVNULL)
            if not os.path.isdir(self.top + '/events') and os.path.isdir(sysfs + '/kernel/debug/tracing/events'):
                self.top = sysfs + '/kernel/debug/tracing'
        self.mine = '%s/instances/irqload.%d' % (self.top, os.getpid())

    def refuse(self, error):
        locked = re.search(r'\[(integrity|confidentiality)\]', read(self.security + '/lockdown') or '')
        if locked:
            return Failure('the kernel is locked down (%s): it permits no tracing' % locked[1])
        return Failure('%s: %s: cannot trace' % (error.filename or self.top, error.strerror))

    def __enter__(self):
        if os.geteuid():
            raise Failure('only root may trace: sudo ' + called())
        if not os.path.isdir(self.top + '/events'):
            raise self.refuse(OSError(0, 'no tracefs', self.top)) from None
        self.remove_old()
        for number in ENDING:
            # nohup is respected
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, frame: sys.exit(128 + number))
        try:
            os.mkdir(self.mine)
            # The kernel removes no instance that has an open file
            self.held = open(self.mine + '/tracing_on', 'w', encoding='ascii')
            self.set('tracing_on', 0)
            self.prepare()
        except OSError as error:
            self.close()
            raise self.refuse(error) from None
        except BaseException:
            self.close()
            raise
        return self

    def prepare(self):
        """Choose clock, buffer and events."""

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        # A second signal must not leave it half removed
        before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING + (signal.SIGINT,)}
        try:
            self.set('tracing_on', 0)
            self.set('events/enable', 0)
        except OSError:
            pass
        if self.held:
            self.held.close()
        try:
            os.rmdir(self.mine)
        except OSError:
            pass
        for number, handler in before.items():
            signal.signal(number, handler)

    def remove_old(self):
        """The instances of runs that are not there any more, or whose number another program has."""
        for name in names(self.top + '/instances'):
            pid = re.fullmatch(r'irqload\.([0-9]{1,10})', name)
            if not pid or int(pid[1]) != os.getpid() and b'irqload' in self.words(pid[1]):
                continue
            try:
                # One of another PID namespace is held
                os.rmdir('%s/instances/%s' % (self.top, name))
            except OSError:
                continue
            print('irqload: removed the trace instance of a run that was killed: ' + name, file=sys.stderr)

    @staticmethod
    def words(pid):
        """The command line of a process."""
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as file:
                return file.read()
        except OSError:
            return b''

    def set(self, name, value):
        with open('%s/%s' % (self.mine, name), 'w', encoding='ascii') as file:
            file.write('%s\n' % value)
