# SPDX-License-Identifier: GPL-2.0
# For the steps in tests.d that test the scripts themselves: TAP and trees.
#   does NAME COMMAND...             it must succeed
#   refuses NAME PATTERN COMMAND...  it must fail and say something like PATTERN
#   finish                           the count, and the exit status
#   repository DIR                   a copy of this repository, sources and patches, with a commit
#   small_tree DIR                   of the base kernel, what the series touches and some more
#   fingerprint DIR                  content and modes of all files outside .git
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need git git python3 python3
need_kernel
work=$BUILD/test/${0##*/}.work
rm -rf "$work"
mkdir -p "$work"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@localhost
export GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@localhost
number=0 failed=0

verdict() { # status, name, output
	number=$((number + 1))
	[ "$1" -eq 0 ] || { failed=$((failed + 1)); printf 'not '; }
	echo "ok $number - $2"
	[ "$1" -eq 0 ] || head -n 20 <<<"$3" | sed 's/^/#   /'
}

does() {
	local name=$1 out
	shift
	out=$("$@" 2>&1 </dev/null)
	verdict $? "$name" "$out"
}

refuses() {
	local name=$1 pattern=$2 out status
	shift 2
	out=$("$@" 2>&1 </dev/null)
	status=$?
	[ $status -ne 0 ] && [ $status -lt 124 ] && grep -qE -- "$pattern" <<<"$out" && ! grep -q Traceback <<<"$out"
	verdict $? "$name" "status $status, wanted a refusal like: $pattern
$out"
}

finish() {
	rm -rf "$work"
	echo "passed $((number - failed))"
	echo "failed $failed"
	[ $failed -eq 0 ] && [ $number -gt 0 ]
	exit
}

repository() {
	mkdir -p "$1"
	(cd "$TOP" && git ls-files -z -co --exclude-standard | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
		tar --null -T - -cf -) | tar -C "$1" -xf -
	git -C "$1" init -q && git -C "$1" add -A && git -C "$1" commit -q -m all
}

touched() { sed -n 's,^diff --git a/\([^ ]*\) b/.*,\1,p' "$TOP"/patches/*.patch | sort -u; }

small_tree() {
	local names
	mkdir -p "$1"
	mapfile -t names < <(touched | while read -r f; do
		git -C "$LINUX" cat-file -e "base:$f" 2>/dev/null && echo "$f"
	done)
	git -C "$LINUX" archive base -- Makefile Kbuild Kconfig MAINTAINERS kernel/irq "${names[@]}" | tar -C "$1" -xf -
}

git_tree() {
	small_tree "$1" && git -C "$1" init -q && git -C "$1" add -f -A && git -C "$1" commit -q -m base
}

fingerprint() {
	(cd "$1" && find . -path ./.git -prune -o -printf '%p %y %m\n' | sort &&
		find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum)
}

# The same files before and after?
unchanged() { # DIR FILE
	fingerprint "$1" | cmp - "$2"
}
