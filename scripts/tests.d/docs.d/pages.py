#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pages.py FILE...: do the commands and the links of pages render right?

Of .rst files it prints what docutils warns about, and commands and markup that are
rendered as text: a command belongs into a literal block; rows of tables that are torn in
two; and sections that are empty where kernel-doc is not rendered, as on GitHub. Of .md
files, links to a file or a heading that is not there. Prints FILE:LINE: REASON, and fails
if there are any.
"""
import io
import os
import re
import sys

from docutils import core, nodes
from docutils.parsers.rst import Directive, directives, roles

COMMAND = re.compile(r'^\s*[#$] \S.*', re.M)
MARKUP = re.compile(r'``|::$|`_\b|\.\. \w', re.M)


class Elsewhere(nodes.Element):
    """The place of text that the kernel's sphinx takes from a source file."""


class Ours(Directive):
    """A directive of the kernel's sphinx, without content here."""
    has_content = True
    optional_arguments, final_argument_whitespace = 9, True
    option_spec = dict.fromkeys(('doc', 'functions', 'maxdepth', 'caption', 'alt', 'identifiers'), directives.unchanged)

    def run(self):
        if self.name != 'kernel-doc':
            return []
        node = Elsewhere(file=self.arguments[0], doc='doc' in self.options)
        node.line = self.lineno
        return [node]


for name in 'kernel-doc', 'toctree', 'kernel-figure':
    directives.register_directive(name, Ours)
for name in 'doc', 'ref':
    roles.register_local_role(name, lambda kind, raw, text, *rest, **more: ([nodes.literal(raw, text)], []))


def line_of(node):
    while node is not None and node.line is None:
        node = node.parent
    return node.line if node is not None else 0


def torn(document):
    """Rows that are the rest of the row before. Text in the first column of a simple table begins a row, also if it is the rest of a cell."""
    for row in document.findall(nodes.row):
        first, *others = [entry.astext().strip() for entry in row.findall(nodes.entry)]
        if isinstance(row.parent, nodes.tbody) and first and others and (not any(others) or first.endswith(',') or first.startswith('(')):
            yield line_of(next(iter(row.findall(nodes.paragraph)))), '"%s" is a row of its own: one line in the first column, or a list-table' % first


def empty(document):
    """Sections without a word of their own, or that do not name the file that has a comment of theirs."""
    for node in document.findall(Elsewhere):
        said = ' '.join(child.astext() for child in node.parent.findall(nodes.paragraph) if child.parent is node.parent)
        if not said or (node['doc'] and node['file'] not in said):
            yield node.line, 'on GitHub nothing is here: name %s in a sentence' % node['file']


def rst(text):
    """[(line, reason)] of a page."""
    said = io.StringIO()
    document = core.publish_doctree(text, source_path='page', settings_overrides={
        'warning_stream': said, 'report_level': 2, 'halt_level': 5, 'raw_enabled': False, 'file_insertion_enabled': False})
    found = {(int(number), reason) for number, reason in re.findall(r'^page:(\d+): \((?:WARNING|ERROR|SEVERE)/\d\) (.*)', said.getvalue(), re.M)}
    for node in document.findall(nodes.TextElement):
        if isinstance(node, (nodes.literal_block, nodes.comment)) or isinstance(node.parent, nodes.TextElement):
            continue
        text = ''.join(str(n.astext()) for n in node.findall(nodes.Text) if not isinstance(n.parent, nodes.literal))
        found |= {(line_of(node), '"%s" is text: %s' % (match[0].strip(), reason)) for pattern, reason in
                  ((COMMAND, 'a command belongs into a literal block'), (MARKUP, 'markup that does not render'))
                  for match in pattern.finditer(text)}
    found |= {(line_of(n), 'a comment hides commands') for n in document.findall(nodes.comment) if COMMAND.search(n.astext())}
    return found | set(torn(document)) | set(empty(document))


def headings(path):
    """The anchors of a page, as GitHub makes them."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    titles = re.findall(r'^#+ (.*)', text, re.M) if path.endswith('.md') else re.findall(r'^(\S.*)\n[=~-]{4,}$', text, re.M)
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles}


def markdown(path, text):
    for match in re.finditer(r'\]\(([^)\s]+)\)', text):
        name, _, anchor = match[1].partition('#')
        file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        number = text.count('\n', 0, match.start()) + 1
        if '://' in match[1]:
            continue
        if not os.path.exists(file):
            yield number, 'no file ' + name
        elif anchor and anchor not in headings(file):
            yield number, 'no heading #%s in %s' % (anchor, file)


def main(names):
    bad = 0
    for name in names:
        with open(name, encoding='utf-8') as file:
            text = file.read()
        for number, reason in sorted(markdown(name, text) if name.endswith('.md') else rst(text)):
            bad += 1
            print('%s:%d: %s' % (name, number, reason))
    return bad > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
