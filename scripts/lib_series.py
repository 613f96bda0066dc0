# SPDX-License-Identifier: GPL-2.0
"""The series as data: sources and patches <-> commits on the base kernel.

regen, import and apply are the three ways to walk it. Each new file lives
once, in a source directory; a patch keeps the message and the hunks in
existing files. All git work is done in a private repository beside the kernel
tree's objects, with a private index: no work tree is touched, no user's
configuration or attributes are read.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATCHES = os.path.join(TOP, 'patches')
SNIPPET = os.path.join(TOP, 'MAINTAINERS.snippet')
NAME, EMAIL = 'IRQ balance developers', 'irq-balance@localhost'

# Where a new file of the kernel has its home in this repository.
HOMES = (('kernel/irq/', 'kernel-irq/'),
         ('arch/x86/', 'arch-x86/'),
         ('Documentation/', 'Documentation/'),
         ('tools/testing/', 'tools/testing/'))

# The same bytes from every version of git, whatever the user has set.
CONFIG = {
    'core.abbrev': '12', 'core.autocrlf': 'false', 'core.quotePath': 'true',
    'core.safecrlf': 'false', 'core.compression': '1', 'gc.auto': '0',
    'apply.whitespace': 'nowarn', 'i18n.commitEncoding': 'UTF-8', 'i18n.logOutputEncoding': 'UTF-8',
    'diff.cpp.xfuncname': '!^[ \\t]*[A-Za-z_][A-Za-z_0-9]*:[[:space:]]*($|/[/*])\n'
                          '^((::[[:space:]]*)?[A-Za-z_].*)$',
    'safe.directory': '*', 'log.showSignature': 'false',
}
ATTRIBUTES = '* !diff -text\n*.c diff=cpp\n*.h diff=cpp\n'
FORMAT = ['--zero-commit', '--no-signature', '--full-index', '--no-renames', '--no-numbered',
          '--diff-algorithm=myers', '--indent-heuristic', '--stat=72', '--no-color', '--no-ext-diff',
          '--no-textconv', '--no-notes', '--no-base', '--no-thread', '--no-cover-letter',
          '--no-attach', '--unified=3', '--inter-hunk-context=0', '--src-prefix=a/',
          '--dst-prefix=b/', '--subject-prefix=PATCH', '--suffix=.patch', '--summary']


class Failure(Exception):
    """What went wrong and, if there is one, what to do next."""

    def __init__(self, reason, *steps):
        super().__init__(reason)
        self.text = '\n'.join([reason] + ['  ' + s for s in steps])


def home(path):
    """kernel/irq/x.c -> kernel-irq/x.c; None for a path without a home."""
    for kernel, source in HOMES:
        if path.startswith(kernel):
            return source + path[len(kernel):]
    return None


def run(args, **kw):
    check = kw.pop('check', True)
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    if check and done.returncode:
        raise Failure('%s failed: %s' % (' '.join(args[:4]), done.stderr.decode(errors='replace').strip()))
    return done


def plain_env():
    env = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
    env.update(LC_ALL='C', TZ='UTC', GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_SYSTEM='/dev/null',
               GIT_CONFIG_NOSYSTEM='1', GIT_ATTR_NOSYSTEM='1', GIT_TERMINAL_PROMPT='0',
               GIT_CONFIG_COUNT=str(len(CONFIG)), GIT_OPTIONAL_LOCKS='0')
    for n, (key, value) in enumerate(CONFIG.items()):
        env['GIT_CONFIG_KEY_%d' % n], env['GIT_CONFIG_VALUE_%d' % n] = key, value
    return env


class Git:
    """A private repository and index on top of a kernel tree's objects."""

    def __init__(self, tree, also=None):
        if not os.path.isdir(tree):
            raise Failure('%s: no kernel tree there' % tree, 'scripts/get-kernel brings one')
        self.tree = tree
        self.dir = tempfile.mkdtemp(prefix='series.')
        os.mkdir(self.dir + '/work')
        self.env = plain_env()
        objects = self.objects(tree)
        self.env.update(GIT_DIR=self.dir, GIT_INDEX_FILE=self.dir + '/index',
                        GIT_WORK_TREE=self.dir + '/work', GIT_OBJECT_DIRECTORY=objects)
        if also:
            self.env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] = self.objects(also)
        for name in ('refs/heads', 'info'):
            os.makedirs(os.path.join(self.dir, name))
        for name, text in (('HEAD', 'ref: refs/heads/none\n'), ('info/attributes', ATTRIBUTES),
                           ('config', '[core]\n\trepositoryformatversion = 0\n')):
            with open(os.path.join(self.dir, name), 'w') as f:
                f.write(text)

    def objects(self, tree):
        done = run(['git', '-C', tree, 'rev-parse', '--git-path', 'objects'], env=plain_env(), check=False)
        if done.returncode or not os.path.exists(os.path.join(tree, '.git')):
            raise Failure('%s is not a git tree' % tree, 'scripts/get-kernel makes one')
        return os.path.realpath(os.path.join(tree, done.stdout.decode().strip()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def raw(self, *args, check=True, env=None, **kw):
        return run(['git'] + list(args), cwd=self.dir + '/work', env=dict(self.env, **(env or {})), check=check, **kw)

    def __call__(self, *args, **kw):
        return self.raw(*args, **kw).stdout.decode(errors='surrogateescape').strip('\n')


def base_of(tree):
    """The commit in TREE that the series stands on: its tag, or its root."""
    env = plain_env()
    for name in ('refs/tags/base',):
        done = run(['git', '-C', tree, 'rev-parse', '-q', '--verify', name + '^{commit}'], env=env, check=False)
        if not done.returncode:
            return done.stdout.decode().strip()
    roots = run(['git', '-C', tree, 'rev-list', '--max-parents=0', 'HEAD'], env=env).stdout.decode().split()
    if len(roots) != 1:
        raise Failure('%s: cannot tell the base commit' % tree, 'name it')
    return roots[0]


def recorded():
    """patches/base as a dictionary."""
    facts = {}
    with open(os.path.join(PATCHES, 'base')) as f:
        for line in f:
            key, colon, value = line.partition(':')
            if colon and not line.startswith('#'):
                facts.setdefault(key.strip(), value.strip())
    return facts


# --- patches -----------------------------------------------------------------

class Patch:
    """A patch file: head (author, date, message) and sections, one a file."""

    def __init__(self, git, name, data):
        self.name = name
        mail = tempfile.mkdtemp(dir=git.dir)
        info = git('mailinfo', '-b', '--encoding=UTF-8', mail + '/msg', mail + '/patch', input=data)
        head = dict(line.split(': ', 1) for line in info.splitlines() if ': ' in line)
        if 'Subject' not in head:
            raise Failure('patches/%s: no subject in its head' % name,
                          'a patch starts like a mail: From:, Date:, Subject:, empty line, message')
        if 'Date' not in head:
            raise Failure('patches/%s: no Date: in its head' % name, 'add one; `date -R` prints it')
        self.date = head['Date']
        with open(mail + '/msg', 'rb') as f:
            body = f.read()
        self.message = (head['Subject'].encode(errors='surrogateescape') + b'\n\n' + body).strip() + b'\n'
        if re.search(rb'^signed-off-by:', self.message, re.I | re.M):
            raise Failure('patches/%s has a Signed-off-by line' % name,
                          'take it out: a human who sends the series on adds his own')
        with open(mail + '/patch', 'rb') as f:
            diff = f.read()
        diff = re.sub(rb'\n-- \n[^\n]*\n*\Z', b'\n', diff)
        parts = re.split(rb'^(?=diff --git )', diff, flags=re.M)
        self.sections = [Section(name, p) for p in parts[1:]]

    @property
    def created(self):
        return [s for s in self.sections if s.created]

    @property
    def edited(self):
        return [s for s in self.sections if not s.created]


class Section:
    """What a patch does to one file."""

    def __init__(self, patch, data):
        head = data.split(b'\n@@ ', 1)[0].decode(errors='replace')
        match = re.match(r'diff --git a/(\S+) b/(\S+)\n', head + '\n')
        if not match or match[1] != match[2] or re.search(r'^(rename|copy) ', head, re.M):
            raise Failure('patches/%s: cannot take this: %s' % (patch, head.splitlines()[0]),
                          'renames and names with spaces are not supported; write the file as new')
        self.path = match[1]
        self.created = bool(re.search(r'^new file mode ', head, re.M))
        self.data = data if data.endswith(b'\n') else data + b'\n'


def patch_files(directory):
    """[(name, bytes)] in order; two patches of one number are an error."""
    names = sorted(n for n in os.listdir(directory) if n.endswith('.patch'))
    seen = {}
    for name in names:
        match = re.match(r'\d{4}', name)
        if not match:
            raise Failure('patches/%s: a patch is called NNNN-something.patch' % name, 'rename it')
        if match[0] in seen:
            raise Failure('patches/%s and patches/%s have one number' % (seen[match[0]], name),
                          'which of them comes first? rename one (scripts/regen closes gaps)')
        seen[match[0]] = name
    if not names:
        raise Failure('%s has no patches' % directory)
    result = []
    for name in names:
        with open(os.path.join(directory, name), 'rb') as f:
            result.append((name, f.read()))
    return result


# --- sources -----------------------------------------------------------------

def source_files():
    """Every file of the source directories that git does not ignore."""
    dirs = [source for _, source in HOMES]
    done = run(['git', '-C', TOP, 'ls-files', '-z', '-co', '--exclude-standard', '--'] + dirs,
               env=plain_env(), check=False)
    if done.returncode == 0:
        names = {n for n in done.stdout.decode().split('\0') if n}
    else:
        names = {os.path.relpath(os.path.join(root, n), TOP)
                 for d in dirs for root, _, files in os.walk(os.path.join(TOP, d)) for n in files}
    return sorted(n for n in names if os.path.lexists(os.path.join(TOP, n)))


class Sources:
    """Content and mode of the sources; an overlay stands for files to come."""

    def __init__(self, overlay=None, snippet=None):
        self.overlay = overlay or {}
        self.new_snippet = snippet

    def get(self, name):
        if name in self.overlay:
            return self.overlay[name]
        path = os.path.join(TOP, name)
        if os.path.islink(path):
            raise Failure('%s is a symbolic link' % name, 'the series has plain files only')
        if not os.path.isfile(path):
            return None
        with open(path, 'rb') as f:
            return ('100755' if os.access(path, os.X_OK) else '100644', f.read())

    def snippet(self):
        if self.new_snippet is not None:
            return self.new_snippet
        if not os.path.exists(SNIPPET):
            return None
        with open(SNIPPET, 'rb') as f:
            return f.read()


def entries(text):
    """The entries of MAINTAINERS or of the snippet: blocks between empty lines."""
    return [b.strip(b'\n') for b in re.split(rb'\n\s*\n', text.strip(b'\n')) if b.strip()]


def title(entry):
    return entry.split(b'\n', 1)[0]


def add_maintainers(text, snippet):
    """TEXT (MAINTAINERS) with every entry of SNIPPET in its alphabetical place."""
    for new in entries(snippet):
        lines = text.split(b'\n')
        # An entry starts where a line with text follows an empty one and is
        # itself followed by a tag line.
        starts = [n for n in range(1, len(lines) - 1)
                  if lines[n] and not lines[n - 1] and re.match(rb'[A-Z]:\t', lines[n + 1])
                  and lines[n] != b'THE REST']
        if not starts:
            raise Failure('MAINTAINERS of the kernel tree has no entries')
        # The place with the fewest neighbours out of order; the list has a few.
        wrong = sum(lines[n] < title(new) for n in starts)
        best, place = wrong, 0
        for k, n in enumerate(starts):
            wrong += 1 if lines[n] > title(new) else -1
            if wrong < best:
                best, place = wrong, k + 1
        at = starts[place] if place < len(starts) else lines.index(b'THE REST')
        lines[at:at] = new.split(b'\n') + [b'']
        text = b'\n'.join(lines)
    return text


# --- the series as commits ---------------------------------------------------

def apply_hunks(git, patch, names, data):
    """Hunks into the index; the failure names the patch and the file."""
    if not data:
        return
    done = git.raw('apply', '--cached', '-', input=data, check=False)
    if done.returncode:
        # Counts in a hunk's head may be off in a patch that was edited.
        again = git.raw('apply', '--cached', '--recount', '-', input=data, check=False)
        if again.returncode:
            files = sorted(set(re.findall(r'error: (?:patch failed: )?([^\s:]+)(?::\d+)?', done.stderr.decode(
                errors='replace'))) & set(names)) or names
            raise Failure('patches/%s does not apply: %s' % (patch, ', '.join(files)),
                          *done.stderr.decode(errors='replace').strip().splitlines())


def store(git, files):
    """{path: bytes} into the object store, by one process; {path: blob}."""
    directory = tempfile.mkdtemp(dir=git.dir)
    for n, data in enumerate(files.values()):
        with open('%s/%d' % (directory, n), 'wb') as f:
            f.write(data)
    names = ''.join('%s/%d\n' % (directory, n) for n in range(len(files)))
    return dict(zip(files, git('hash-object', '-w', '--no-filters', '--stdin-paths', input=names.encode()).split()))


def build(git, base, patches, sources, strays=True):
    """The series as commits on BASE; returns [(commit, patch)].

    PATCHES is [(name, bytes)]. Every break of the rules is an error here, so
    that whatever comes out of this can be written back.
    """
    patches = [Patch(git, name, data) for name, data in patches]
    creator = {}
    for patch in patches:
        for section in patch.created:
            if section.path in creator:
                raise Failure('%s is created by two patches' % section.path,
                              'patches/' + creator[section.path].name, 'patches/' + patch.name)
            creator[section.path] = patch
            if home(section.path) is None:
                raise Failure('patches/%s creates %s, which has no home here' % (patch.name, section.path),
                              'new files are under ' + ', '.join(k for k, _ in HOMES))
            if sources.get(home(section.path)) is None:
                raise Failure('patches/%s creates %s, but there is no %s' % (
                    patch.name, section.path, home(section.path)), 'add the source, or take the file out of the patch')
    for patch in patches:
        for section in patch.edited:
            if section.path in creator:
                raise Failure('patches/%s edits %s' % (patch.name, section.path),
                              'a new file is created whole by one patch (%s): edit %s instead' % (
                                  creator[section.path].name, home(section.path)))
    owned = {home(path) for path in creator}
    lost = [n for n in source_files() if n not in owned]
    if lost:
        reason = 'no patch creates ' + ', '.join(lost)
        step = 'scripts/import adds files; by hand: "new file" lines in a patch, see scripts/regen --help'
        if strays:
            raise Failure(reason, step)
        print('note: ' + reason, file=sys.stderr)

    snippet = sources.snippet()
    for patch in patches:
        touches = [s for s in patch.sections if s.path == 'MAINTAINERS']
        if touches and (patch is not patches[-1] or len(patch.sections) > 1):
            raise Failure('patches/%s touches MAINTAINERS' % patch.name,
                          'only the last patch does, and nothing else (its text is in MAINTAINERS.snippet)')
        if touches and snippet is None:
            raise Failure('patches/%s touches MAINTAINERS, but there is no MAINTAINERS.snippet' % patch.name)
    if snippet is not None and not (patches[-1].sections and patches[-1].sections[0].path == 'MAINTAINERS'):
        raise Failure('there is a MAINTAINERS.snippet, but the last patch does not touch MAINTAINERS',
                      'add a patch with a message and a section for MAINTAINERS at the end')

    blobs = store(git, {path: sources.get(home(path))[1] for path in creator})
    git('read-tree', base)
    commit, tree, result = base, git('rev-parse', base + '^{tree}'), []
    for patch in patches:
        if patch.edited and patch.edited[0].path == 'MAINTAINERS':
            old = git.raw('cat-file', 'blob', ':MAINTAINERS').stdout
            text = add_maintainers(old, snippet)
            info = ['100644 %s\tMAINTAINERS' % git('hash-object', '-w', '--stdin', input=text)]
        else:
            apply_hunks(git, patch.name, [s.path for s in patch.edited], b''.join(s.data for s in patch.edited))
            info = []
        paths = [section.path for section in patch.created]
        there = git('ls-files', '--', *paths) if paths else ''
        if there:
            raise Failure('patches/%s creates %s, which the kernel has already' % (patch.name, there.splitlines()[0]))
        for path in paths:
            mode, data = sources.get(home(path))
            info.append('%s %s\t%s' % (mode, blobs[path], path))
        git('update-index', '--add', '--index-info', input=''.join(i + '\n' for i in info).encode())
        new = git('write-tree')
        if new == tree:
            raise Failure('patches/%s changes nothing' % patch.name, 'take it out, or give it something to do')
        tree = new
        commit = git('commit-tree', tree, '-p', commit, input=patch.message, env={
            'GIT_AUTHOR_NAME': NAME, 'GIT_AUTHOR_EMAIL': EMAIL, 'GIT_AUTHOR_DATE': patch.date,
            'GIT_COMMITTER_NAME': NAME, 'GIT_COMMITTER_EMAIL': EMAIL, 'GIT_COMMITTER_DATE': patch.date})
        result.append((commit, patch))
    return result


def format_series(git, base, commit):
    """{name: bytes}: git format-patch, the same bytes everywhere."""
    out = tempfile.mkdtemp(dir=git.dir)
    git('format-patch', '-q', *FORMAT, '-o', out, '%s..%s' % (base, commit))
    result = {}
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), 'rb') as f:
            result[name] = f.read()
    return result


def differences(new, loose=False):
    """How patches/ differs from NEW, as lines for people."""
    def bare(data):
        if loose:
            data = re.sub(rb'^index [0-9a-f.]+', b'index', data, flags=re.M)
            data = re.sub(rb'^@@ [-+0-9, ]+@@.*', b'@@', data, flags=re.M)
        return data.split(b'\n')

    old = dict(patch_files(PATCHES))
    lines = []
    for name in sorted(set(old) | set(new)):
        if name not in new:
            lines.append('patches/%s should not be there (another name?)' % name)
        elif name not in old:
            lines.append('patches/%s is missing' % name)
        else:
            a, b = bare(old[name]), bare(new[name])
            if a != b:
                n = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                lines.append('patches/%s differs from line %d on' % (name, n + 1))
                lines += ['  %s %s' % (sign, text[n].decode(errors='replace')) for sign, text in (('-', a), ('+', b))
                          if n < len(text)]
    return lines


def write_file(path, data, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + '.new', 'wb') as f:
        f.write(data)
    os.chmod(path + '.new', mode)
    os.rename(path + '.new', path)


def write_patches(new):
    for name, data in new.items():
        path = os.path.join(PATCHES, name)
        if not os.path.exists(path) or open(path, 'rb').read() != data:
            write_file(path, data)
    for name in os.listdir(PATCHES):
        if name.endswith('.patch') and name not in new:
            os.unlink(os.path.join(PATCHES, name))


def guard(name, main):
    """Run MAIN; a Failure becomes a message and exit status 1."""
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print('%s: %s' % (name, failure.text), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        print('%s: %s: %s' % (name, error.filename or '', error.strerror), file=sys.stderr)
        sys.exit(1)
