# SPDX-License-Identifier: GPL-2.0
# For the steps in tests.d that test the scripts themselves: TAP and trees.
#   does NAME COMMAND...             it must succeed
#   refuses NAME PATTERN COMMAND...  it must fail and print something like PATTERN
#   repository DIR                   a copy of this repository, sources and patches, with a commit
#   small_tree DIR [PATH...]         of the base kernel, the files that the series touches, some more, and PATHs
#   git_tree DIR [PATH...]           the same as a git tree
#   unchanged DIR FILE               the fingerprint of DIR is in FILE
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need git git python3 python3
need_kernel
work=$BUILD/test/${0##*/}.work
rm -rf "$work"
mkdir -p "$work"
export BUILD LINUX GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@localhost
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@localhost

does() {
	local name=$1 out
	shift
	out=$("$@" 2>&1 </dev/null)
	verdict $? "$name" <(echo "$out")
}

refuses() {
	local name=$1 pattern=$2 out status
	shift 2
	out=$("$@" 2>&1 </dev/null)
	status=$?
	[ $status -ne 0 ] && [ $status -lt 124 ] && grep -qE -- "$pattern" <<<"$out" && ! grep -q Traceback <<<"$out"
	verdict $? "$name" <(printf '%s\n' "$out" "status $status, expected a refusal like: $pattern")
}

repository() {
	mkdir -p "$1"
	(cd "$TOP" && git -c safe.directory='*' ls-files -z -co --exclude-standard | xargs -0 -r ls -d 2>/dev/null | tar -T - -cf -) | tar -C "$1" -xf -
	git -C "$1" init -q && git -C "$1" add -A && git -C "$1" commit -q -m all ||
		die "git names no files of $TOP" "the tests of the scripts copy them from a git repository"
}

touched() { sed -n 's,^diff --git a/\([^ ]*\) b/.*,\1,p' "$TOP"/patches/*.patch | sort -u; }

small_tree() {
	local names
	mkdir -p "$1"
	mapfile -t names < <(git -C "$LINUX" ls-tree -r --name-only base | grep -xFf <(touched))
	git -C "$LINUX" archive base -- Makefile Kbuild Kconfig MAINTAINERS kernel/irq "${names[@]}" "${@:2}" | tar -C "$1" -xf -
}

git_tree() {
	small_tree "$@" && git -C "$1" init -q && git -C "$1" add -f -A && git -C "$1" commit -q -m base
}

fingerprint() {
	tar -C "$1" --sort=name --mtime=@0 --exclude=./.git -cf - . | sha256sum
}

unchanged() { fingerprint "$1" | cmp - "$2"; }
