#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""html.py DIR FILE...: render .rst pages to DIR/PART_NAME.html, without what comes from a kernel tree

As GitHub does, and for screenshots:
    chromium --headless --screenshot=x.png --window-size=830,9000 DIR/admin-guide_irq-balance.html
Other FILEs are left out.
"""
import os
import sys

from docutils import core
import pages


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:]:
        if not name.endswith('.rst'):
            continue
        with open(name, encoding='utf-8') as file:
            document = core.publish_doctree(file.read(), source_path=name, settings_overrides={'report_level': 5})
        for node in list(document.findall(pages.Elsewhere)):
            node.parent.remove(node)
        title = name.split('Documentation/')[-1][:-4].replace('/', '_')
        with open('%s/%s.html' % (sys.argv[1], title), 'wb') as file:
            file.write(core.publish_from_doctree(document, writer_name='html5'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
