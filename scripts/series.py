# SPDX-License-Identifier: GPL-2.0
"""The series as data: sources and patches to commits on the base kernel, and back.

All work is done in the objects of a kernel tree, with a private index. No work tree
is touched, and no configuration of the user is read.
"""
import difflib
import email.utils
import os
import re
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As in lib.sh
BUILD = os.environ.get('BUILD') or (TOP + '/build' if not re.search(r'\s', TOP) else '%s/irq-balance%s' % (
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), re.sub('[^A-Za-z0-9]', '-', TOP)))
LINUX = os.path.abspath(os.environ.get('LINUX') or BUILD + '/linux')
NAME, EMAIL = 'IRQ balance developers', 'irq-balance@localhost'
# Where a new file of the kernel lives in this repository.
HOMES = {'kernel/irq/': 'kernel-irq/', 'arch/x86/': 'arch-x86/',
         'Documentation/': 'Documentation/', 'tools/testing/': 'tools/testing/'}
# The entries that patches add to MAINTAINERS; a line of the section of a new file
SNIPPET, CREATES = 'MAINTAINERS.snippet', b'\nnew file mode '
# These make the same bytes with every version of git.
CONFIG = ['core.quotePath=true', 'core.autocrlf=false', 'apply.whitespace=nowarn', 'gc.auto=0',
          'safe.directory=*', 'core.abbrev=12',
          'diff.cpp.xfuncname=!^[ \\t]*[A-Za-z_][A-Za-z_0-9]*:[[:space:]]*($|/[/*])\n'
          '^((::[[:space:]]*)?[A-Za-z_].*)$']
FORMAT = ('--zero-commit --no-signature --full-index --no-renames --no-numbered --diff-algorithm=myers '
          '--indent-heuristic --stat=72 --no-color --no-ext-diff --no-textconv --no-notes --no-base --no-thread '
          '--no-cover-letter --no-attach --unified=3 --inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ '
          '--subject-prefix=PATCH --suffix=.patch --summary').split()


class Failure(Exception):
    """The reason, and what to do next."""


def require(good, *lines):
    if not good:
        raise Failure('\n  '.join(line for line in lines if line))


def home(path):
    """kernel/irq/x.c -> kernel-irq/x.c; None for a path without a home."""
    return next((source + path[len(kernel):] for kernel, source in HOMES.items() if path.startswith(kernel)), None)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def mode(path):
    return '100755' if os.access(path, os.X_OK) else '100644'


class Git:
    """git in the objects of the kernel tree TREE, and of ALSO."""

    def __init__(self, tree, also=None):
        require(os.path.exists(tree + '/.git'), tree + ' is not a git tree', 'scripts/get-kernel makes one')
        self.temporary = tempfile.TemporaryDirectory(prefix='series.')
        self.dir = self.temporary.name
        with open(self.dir + '/attributes', 'w') as file:
            file.write('*.c diff=cpp\n*.h diff=cpp\n')
        self.git = ['git'] + [w for setting in [*CONFIG, 'core.attributesFile=%s/attributes' % self.dir] for w in ('-c', setting)]
        self.plain = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
        self.plain.update(LC_ALL='C', TZ='UTC', GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM='1',
                          GIT_ATTR_NOSYSTEM='1', GIT_OPTIONAL_LOCKS='0')
        self.env = dict(self.plain, GIT_DIR=self.at(tree, 'rev-parse', '--absolute-git-dir'), GIT_INDEX_FILE=self.dir + '/index')
        if also:
            self.env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] = os.path.join(also, self.at(also, 'rev-parse', '--git-path', 'objects'))

    def run(self, *args, check=True, env=None, **more):
        done = subprocess.run([*self.git, *args], cwd=self.dir, env=dict(self.env, **(env or {})), capture_output=True, **more)
        require(not check or not done.returncode, 'git %s failed: %s' % (args[0], done.stderr.decode(errors='replace').strip()))
        return done

    def __call__(self, *args, **more):
        return self.run(*args, **more).stdout.decode(errors='surrogateescape').strip('\n')

    def at(self, tree, *args):
        """The output of git in another tree; '' where it fails."""
        done = subprocess.run([*self.git, '-C', tree, *args], env=self.plain, capture_output=True, check=False)
        return '' if done.returncode else done.stdout.decode(errors='replace').strip('\n')


def base_of(git, tree):
    """The tag that scripts/get-kernel sets, or the root commit."""
    tag = git.at(tree, 'rev-parse', '-q', '--verify', 'base^{commit}')
    if tag:
        return tag
    roots = git.at(tree, 'rev-list', '--max-parents=0', 'HEAD').split()
    require(len(roots) == 1, tree + ': cannot tell the base commit', 'tag it: git tag base COMMIT')
    return roots[0]


def recorded(key):
    """A value of patches/base."""
    return re.search(r'^%s: *(.*)' % key, read(TOP + '/patches/base').decode(), re.M)[1]


class Patch:
    """A patch file: the date and message of its head; {path: diff} of what it edits, and of what it creates."""

    def __init__(self, git, name, data):
        self.number, self.name = name[:4], 'patches/' + name
        info = git('mailinfo', '-b', '--encoding=UTF-8', git.dir + '/msg', git.dir + '/patch', input=data)
        head = dict(line.split(': ', 1) for line in info.splitlines() if ': ' in line)
        for key in 'Subject', 'Date':
            require(key in head, '%s: no %s: in its head' % (self.name, key),
                    'a patch starts like a mail: From:, Date:, Subject:, empty line, message')
        self.date = head['Date']
        message = head['Subject'].encode(errors='surrogateescape') + b'\n\n' + read(git.dir + '/msg')
        self.message = message.strip() + b'\n'
        require(not re.search(rb'^signed-off-by:', self.message, re.I | re.M), self.name + ' has a Signed-off-by line',
                'take it out: a human who sends the series on adds their own')
        parts = sections(re.sub(rb'\n-- \n[^\n]*\n*\Z', b'\n', read(git.dir + '/patch')))[1]
        self.created = {path: part for path, part in parts.items() if CREATES in part}
        self.edited = {path: part.rstrip(b'\n') + b'\n' for path, part in parts.items() if CREATES not in part}


def series_of(name):
    """The series that a patch belongs to: the first two digits of its number."""
    return name[:2]


def patch_files():
    """[(name, content)] in order; two patches of one number are an error."""
    there, seen = TOP + '/patches/', {}
    names = sorted(n for n in os.listdir(there) if n.endswith('.patch')) if os.path.isdir(there) else []
    require(names, TOP + '/patches has no patches')
    for name in names:
        require(re.match('[0-9]{4}-', name), 'patches/%s: a patch is called NNMM-something.patch, patch MM of series NN' % name)
        other = seen.setdefault(name[:4], name)
        require(other == name, 'patches/%s and patches/%s have one number' % (other, name), 'rename one; gaps are closed')
    return [(name, read(there + name)) for name in names]


def numbers(version):
    return tuple(int(n) for n in version.split('.')[:2])


def compat_versions():
    """The kernels with a folder in patches/compat, newest first."""
    there = TOP + '/patches/compat'
    return sorted(os.listdir(there) if os.path.isdir(there) else [], key=numbers, reverse=True)


def sections(data):
    """The head of a patch, and {path: section} of its diff."""
    head, *parts = re.split(rb'^(?=diff --git )', data, flags=re.M)
    found = {}
    for part in parts:
        match = re.match(r'diff --git a/(\S+) b/\1\n', part.decode(errors='replace'))
        require(match, 'cannot take this: ' + part.split(b'\n')[0].decode(errors='replace'),
                'renames and names with blanks are not supported')
        found[match[1]] = part
    return head, found


def created_by(patches):
    """The files that patches create, each as patch_files() gives it."""
    return [path for _, data in patches for path, part in sections(data)[1].items() if CREATES in part]


def patches_for(version):
    """
    patch_files() for an older kernel. patches/compat/X.Y has what X.Y and all before it need:
    0000-*.patch come before the series, 9000-*.patch after it; the sections of NNMM.patch
    replace those of patch NNMM that edit the same file. One without a hunk drops the file.
    """
    around, patches = {'0000-': [], '9000-': []}, dict(patch_files())
    for compat in [v for v in compat_versions() if numbers(v) >= numbers(version)]:
        folder = '%s/patches/compat/%s/' % (TOP, compat)
        for name in sorted(n for n in os.listdir(folder) if n.endswith('.patch')):
            if name[:5] in around:
                around[name[:5]].append(('compat/%s/%s' % (compat, name), read(folder + name)))
                continue
            number = name[:-len('.patch')]
            mine = [n for n in patches if n.startswith(number + '-')]
            require(len(mine) == 1, 'patches/compat/%s/%s replaces hunks of no patch' % (compat, name))
            head, parts = sections(patches[mine[0]])
            for path, part in sections(read(folder + name))[1].items():
                require(path in parts, 'patches/compat/%s/%s: patch %s does not edit %s' % (compat, name, number, path))
                parts[path] = part
            # The diffstat is of the other hunks
            patches[mine[0]] = re.sub(rb'^---\n.*', b'---\n\n', head, flags=re.M | re.S) + b''.join(parts.values())
    for name, data in list(patches.items()):
        head, parts = sections(data)
        parts = [part for part in parts.values() if b'\n@@ ' in part or CREATES in part]
        patches[name] = head + b''.join(parts)
        if not parts:
            del patches[name]
    return around['0000-'] + list(patches.items()) + around['9000-']


def source_files():
    """MAINTAINERS.snippet and every file of the source directories that git does not ignore."""
    done = subprocess.run(['git', '-c', 'safe.directory=*', '-C', TOP, 'ls-files', '-z', '-co', '--exclude-standard', '--', SNIPPET, *HOMES.values()],
                          capture_output=True, check=False)
    names = done.stdout.decode().split('\0') if not done.returncode else \
        [SNIPPET] + [os.path.relpath(os.path.join(d, n), TOP) for h in HOMES.values() for d, _, files in os.walk(TOP + '/' + h) for n in files]
    return sorted({n for n in names if n and os.path.isfile(TOP + '/' + n) and not os.path.islink(TOP + '/' + n)})


def blobs_here(git):
    """{source: (mode, blob)} of this repository."""
    names = source_files()
    blobs = git('hash-object', '-w', '--no-filters', '--stdin-paths', input='\n'.join(TOP + '/' + n for n in names).encode())
    return {name: (mode(TOP + '/' + name), blob) for name, blob in zip(names, blobs.split())}


def check_rules(patches, sources):
    """Each new file has a source and is created by one patch; the first patch of a series may edit MAINTAINERS."""
    creator = {}
    for before, patch in zip([None, *patches], patches):
        for path in patch.created:
            require(path not in creator, '%s is created by two patches' % path, patch.name, creator.get(path))
            creator[path] = patch.name
            require(home(path), '%s creates %s, which has no home here' % (patch.name, path),
                    'new files are under ' + ', '.join(HOMES))
            require(home(path) in sources, '%s creates %s, but there is no plain file %s' % (patch.name, path, home(path)),
                    'add the source, or take the file out of the patch')
        require('MAINTAINERS' not in patch.edited or not before or series_of(before.number) != series_of(patch.number),
                patch.name + ' touches MAINTAINERS', 'only the first patch of a series does')


def unedited(conflict):
    """Of a conflict of merge-file --diff3 between source and stage: the stage's lines that are or resemble edited ones."""
    new, old, stage = (part.splitlines() for part in re.split(r'^(?:\|{7}|={7})[^\n]*\n', conflict, flags=re.M))
    edited = []
    for kind, low, high, _, _ in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == 'insert':
            # A new line belongs where its neighbours are
            low, high = max(low - 1, 0), low + 1
        edited += old[low:high] if kind != 'equal' else []
    edited = [line.strip() for line in edited if re.search(r'\w', line)]
    return [line for line in stage if difflib.get_close_matches(line.strip(), edited, 1, 0.75)]


def stages(git, patches, sources=None):
    """
    {path: [blob, once each patch is applied that touches it]}, of new files that later patches edit.

    The patches have the text of each stage as it was when they were made. A change of the source
    since then is made in each stage that has the lines. Where a stage has other lines it stays;
    those that resemble edited ones are printed: they may have to change, too.
    Without SOURCES all are as the patches have them.
    """
    created, env, found = set(), {'GIT_INDEX_FILE': tempfile.mkdtemp(dir=git.dir) + '/index'}, {}
    names = {}
    for patch in patches:
        found.update({path: [] for path in created & set(patch.edited)})
        names.update({path: [] for path in created & set(patch.edited)})
        created |= set(patch.created)
    for patch in patches if found else []:
        mine = {path: part for path, part in {**patch.created, **patch.edited}.items() if path in found}
        if not mine:
            continue
        done = git.run('apply', '--cached', '--recount', '-', input=b''.join(mine.values()), check=False, env=env)
        require(not done.returncode, patch.name + ' does not apply to what patches before it create', *done.stderr.decode(errors='replace').splitlines())
        for line in git('ls-files', '-s', '--', *mine, env=env).splitlines():
            found[line.split('\t')[1]].append(line.split()[1])
            names[line.split('\t')[1]].append(patch.name)
    for path, blobs in found.items() if sources else []:
        new = sources[home(path)][1]
        for i, blob in enumerate(blobs if blobs[-1] != new else []):
            for side, name in (new, 'new'), (blobs[-1], 'old'), (blob, 'stage'):
                with open('%s/%s' % (git.dir, name), 'wb') as file:
                    file.write(git.run('cat-file', 'blob', side).stdout)
            merged = git.run('merge-file', '-p', '--theirs', 'new', 'old', 'stage').stdout if i + 1 < len(blobs) else read(git.dir + '/new')
            if i + 1 < len(blobs):
                conflicts = git.run('merge-file', '-p', '--diff3', 'new', 'old', 'stage', check=False).stdout.decode(errors='replace')
                lines = [line for conflict in re.findall(r'^<{7} new\n(.*?)^>{7} stage\n', conflicts, re.M | re.S) for line in unedited(conflict)]
                if lines:
                    print('%s leaves in %s:' % (names[path][i], path), *lines, sep='\n  ', file=sys.stderr)
                    print('  If the change is due there, too, make it in that patch, and run regen again.', file=sys.stderr)
            found[path][i] = git('hash-object', '-w', '--stdin', input=merged)
    return found


def entries(git, sources):
    """{title: text} of the entries in MAINTAINERS.snippet."""
    require(SNIPPET in sources, 'there is no ' + SNIPPET)
    text = git.run('cat-file', 'blob', sources[SNIPPET][1]).stdout
    return {entry.split(b'\n')[0]: entry.strip(b'\n') + b'\n' for entry in re.split(rb'\n\n+', text.strip(b'\n'))}


def with_entry(patch, known):
    """Make what a PATCH adds to MAINTAINERS the entry of that title; takes it out of KNOWN."""
    title = re.search(rb'^\+(?!\+\+ )(.*)', patch.edited['MAINTAINERS'], re.M)[1]
    require(title in known, '%s adds "%s" to MAINTAINERS' % (patch.name, title.decode(errors='replace')), '%s has no entry of that title' % SNIPPET)
    entry = re.sub(rb'^', b'+', known.pop(title), flags=re.M) + b'\n'
    patch.edited['MAINTAINERS'] = re.sub(rb'^(\+(?!\+\+ ).*\n)+', lambda _: entry, patch.edited['MAINTAINERS'], flags=re.M)


def build(git, base, patches, sources):
    """The series as commits on BASE, of PATCHES as from patch_files(), SOURCES as from blobs_here(): [commit]."""
    patches = [Patch(git, name, data) for name, data in patches]
    check_rules(patches, sources)
    staged = stages(git, patches, sources)
    known = entries(git, sources)
    def indexed():
        return {line.split('\t')[1]: line.split()[:2] for line in git('ls-files', '-s').splitlines()}
    # An index of these files alone, as most commands write the whole of it
    paths = sorted({path for patch in patches for path in [*patch.created, *patch.edited]})
    git('update-index', '--index-info', input=git.run('ls-tree', '-r', base, '--', *paths).stdout)
    files, stream = indexed(), b'reset refs/heads/series\nfrom %s\n' % base.encode()
    for number, patch in enumerate(patches, 1):
        info = {path: list(sources[home(path)]) for path in [*patch.created, *patch.edited] if path in patch.created or path in staged}
        for path in info:
            if path in staged:
                info[path][1] = staged[path].pop(0)
        there = ' '.join(path for path in patch.created if path in files)
        require(not there, '%s creates %s, which the kernel has already' % (patch.name, there))
        if 'MAINTAINERS' in patch.edited:
            with_entry(patch, known)
        edited = b''.join(part for path, part in patch.edited.items() if path not in info)
        if edited:
            done = git.run('apply', '--cached', '--recount', '-', input=edited, check=False)
            require(not done.returncode, patch.name + ' does not apply', *done.stderr.decode(errors='replace').splitlines())
        git('update-index', '--add', '--index-info', input=''.join('%s %s\t%s\n' % (*info[path], path) for path in info).encode())
        before, files = files, indexed()
        changes = ['M %s %s %s' % (*files[path], path) if path in files else 'D ' + path for path in paths if files.get(path) != before.get(path)]
        require(changes, patch.name + ' changes nothing', 'take it out, or give it something to do')
        head = 'commit refs/heads/series\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n' % (
            number, *['%s <%s> %s' % (NAME, EMAIL, patch.date)] * 2, len(patch.message))
        stream += head.encode() + patch.message + '\n'.join(changes + ['']).encode()
    require(not known, 'no patch adds this entry of %s: %s' % (SNIPPET, b', '.join(known).decode()))
    # A directory of its own has the reference; the objects are the tree's
    env = {'GIT_OBJECT_DIRECTORY': git('rev-parse', '--git-path', 'objects'), 'GIT_DIR': git.dir + '/import'}
    git('init', '-q', '--bare', env=env)
    git('-c', 'fastimport.unpackLimit=10000', 'fast-import', '--quiet', '--date-format=rfc2822', '--export-marks=marks', input=stream, env=env)
    return [line.split()[1] for line in read(git.dir + '/marks').decode().splitlines()]


def format_series(git, base, commits, names):
    """{name: content} as git format-patch makes the COMMITS, which were built of patches called NAMES."""
    new, first = {}, base
    for number in sorted(set(map(series_of, names))):
        out = tempfile.mkdtemp(dir=git.dir)
        last = ([base] + commits)[sum(series_of(name) <= number for name in names)]
        git('format-patch', '-q', *FORMAT, '--start-number=%s01' % number, '-o', out, '%s..%s' % (first, last))
        new.update({name: read(out + '/' + name) for name in sorted(os.listdir(out))})
        first = last
    return new


def replace(path, data, executable=False):
    """Write DATA to PATH, the whole of it or nothing."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.new', 'wb') as file:
        file.write(data)
    os.chmod(path + '.new', 0o755 if executable else 0o644)
    os.rename(path + '.new', path)


def uninterrupted():
    """Let signals wait until all is written."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, signal.SIG_IGN)


def write_patches(new):
    """Make patches/ NEW; returns how many files changed."""
    uninterrupted()
    old = dict(patch_files())
    changed = [name for name, data in new.items() if old.get(name) != data]
    for name in changed:
        replace('%s/patches/%s' % (TOP, name), new[name])
    for name in set(old) - set(new):
        os.unlink('%s/patches/%s' % (TOP, name))
    return len(changed)


def guard(name, main):
    """Run MAIN; a Failure becomes a message and status 1."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except Failure as failure:
        sys.exit('%s: %s' % (name, failure))
    except OSError as error:
        sys.exit('%s: %s: %s' % (name, error.filename or 'standard output', error.strerror))
    except KeyboardInterrupt:
        sys.exit(130)


def mails(version, wanted):
    """The cover letter and the patches of one series as a thread, in the order in which git am takes them."""
    patches = patches_for(version)
    known = sorted({series_of(name) for name, _ in patches if not name.startswith('compat/')})
    require(wanted in known, 'there is no series ' + wanted, 'there are: ' + ', '.join(known))
    mine = [data.decode() for name, data in patches if series_of(name) == wanted]
    letter = read('%s/patches/%s00-cover-letter.txt' % (TOP, wanted)).decode()
    head, body = letter.split('\n\n', 1)
    date = max(mine, key=lambda data: email.utils.parsedate(re.search('^Date: (.*)', data, re.M)[1]))
    first = 'From %s Mon Sep 17 00:00:00 2001\nFrom: %s <%s>\n%s\n%s\n\n%s' % (
        '0' * 40, NAME, EMAIL, re.search('^Date: .*', date, re.M)[0], head, body)
    tag = re.search(r'\[(.*) 0/N\]', head)[1]
    for number, data in enumerate([first, *mine]):
        prefix = '[%s %d/%d]' % (tag, number, len(mine))
        thread = 'Message-ID: <irq-balance-%s%02d@localhost>' % (wanted, number)
        if number:
            thread += '\nIn-Reply-To: <irq-balance-%s00@localhost>' % wanted
        yield re.sub(r'^Subject: \[[^]]*\]', lambda _: '%s\nSubject: %s' % (thread, prefix), data, count=1, flags=re.M).rstrip('\n') + '\n\n'


def main():
    """series.py VERSION DIR: the patches for a kernel, with names in their order; series.py --mails VERSION NN"""
    if sys.argv[1] == '--mails':
        print(''.join(mails(*sys.argv[2:])), end='')
        return
    for number, (name, data) in enumerate(patches_for(sys.argv[1])):
        if name.startswith('compat/'):
            name = re.sub('.*/([09]000-)', r'\g<1>%02d-' % number, name)
        replace('%s/%s' % (sys.argv[2], name), data)


if __name__ == '__main__':
    guard('series', main)
