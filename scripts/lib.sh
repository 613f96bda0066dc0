# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts beside it. To be sourced by bash:
#   . "$(dirname "$0")/lib.sh"
#
#   die REASON [NEXT STEP]         say why and what to do, exit 1
#   need PROGRAM PACKAGE ...       install what is missing, through apt
#   need_build_tools               what a kernel build takes
#   need_qemu                      sets $QEMU to a QEMU of 8.1 or newer
#   need_space DIR MB              refuse when the disk is too full
#   kernel_version DIR             7.3.4
#   build_kernel NAME CONFIG[,FRAGMENT...] [MAKE ARGUMENT...]
#   progress LABEL LOG [TOTAL]     filter: a make's output becomes a progress line
#   regen_series [DIR]             check the series out in DIR (build/linux)
#   series_tree NAME [COMMIT]      a second work tree: build/NAME
# shellcheck shell=bash

set -u
set -o pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$TOP/build}
LINUX=${LINUX:-$BUILD/linux}
SCRIPTS=$TOP/scripts
JOBS=${JOBS:-$(nproc)}
me=${0##*/}

export LC_ALL=C.UTF-8
# The same object for the same source, whoever builds it where and when.
export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=irq KBUILD_BUILD_HOST=balance
export CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-20G}
[ -d /usr/lib/ccache ] && case ":$PATH:" in
*:/usr/lib/ccache:*) ;;
*) PATH=/usr/lib/ccache:$PATH ;;
esac
case ":$PATH:" in
*:/usr/sbin:*) ;;
*) PATH=$PATH:/usr/sbin:/sbin ;;
esac
export PATH

say() { printf '%s: %s\n' "$me" "$*" >&2; }
warn() { printf '%s: warning: %s\n' "$me" "$*" >&2; }

die() {
	printf '%s: %s\n' "$me" "$1" >&2
	shift
	[ $# -eq 0 ] || printf '  %s\n' "$@" >&2
	exit 1
}

# The comment block at the head of the script is its help text.
usage() {
	awk 'NR > 1 && /^# SPDX/ { next } NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"
	exit "${1:-0}"
}

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
		sudo "$@"
	else
		return 126
	fi
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# apt_install PACKAGE... [-- APT OPTION...]
apt_install() {
	local packages=() log=$BUILD/log/apt.log status

	while [ $# -gt 0 ] && [ "$1" != -- ]; do packages+=("$1"); shift; done
	[ $# -eq 0 ] || shift
	have apt-get || die "${packages[*]}: not installed, and this machine has no apt" \
		"install it with this machine's package manager and run $me again"
	say "installing through apt: ${packages[*]}"
	mkdir -p "${log%/*}"
	apt_get "$@" install --no-install-recommends "${packages[@]}" >"$log" 2>&1 && return
	status=$?
	[ $status -eq 126 ] && die "${packages[*]}: not installed, and neither root nor sudo here" \
		"as root: apt-get install --no-install-recommends ${packages[*]}"
	# The package lists may be missing or old.
	apt_get "$@" update >>"$log" 2>&1
	apt_get "$@" install --no-install-recommends "${packages[@]}" >>"$log" 2>&1 && return
	tail -n 5 "$log" >&2
	die "apt could not install ${packages[*]} (whole output: $log)" \
		"as root: apt-get update && apt-get install --no-install-recommends ${packages[*]}"
}

# need PROGRAM PACKAGE [PROGRAM PACKAGE ...]; a PROGRAM with a slash is a file,
# one that starts with python: is a Python module.
need() {
	local missing=()

	while [ $# -gt 1 ]; do
		case $1 in
		python:*) /usr/bin/python3 -c "import ${1#python:}" 2>/dev/null || missing+=("$2") ;;
		*/*) [ -e "$1" ] || missing+=("$2") ;;
		*) have "$1" || missing+=("$2") ;;
		esac
		shift 2
	done
	[ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
	hash -r
}

need_build_tools() {
	need gcc gcc make make flex flex bison bison bc bc perl perl python3 python3 \
		ld binutils xz xz-utils git git ccache ccache \
		/usr/include/stdio.h libc6-dev /usr/include/gelf.h libelf-dev
	[ -d /usr/lib/ccache ] && case ":$PATH:" in
	*:/usr/lib/ccache:*) ;;
	*) PATH=/usr/lib/ccache:$PATH ;;
	esac
}

# Debian's archive as this machine's own apt knows it: apt options that add
# SUITE from the same mirror with the same keyring, in private directories.
# Sets the array $apt_suite; fails when no Debian mirror is configured. The
# second word may be deb-src.
apt_suite() {
	local suite=$1 dir=$BUILD/apt/$1${2:+.$2}

	mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/cache/archives/partial" || return
	/usr/bin/python3 "$SCRIPTS/lib-suite" "$@" >"$dir/parts/$suite.sources" || return
	apt_suite=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$dir/parts"
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none"
		-o "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false")
}

# The kernel takes no sparse that does not know typeof_unqual (and says so in
# one line only): 0.6.5 is needed. Where the machine's is older, it is built
# from the source package of Debian's next release. Status 1: there is none.
need_sparse() {
	local dir=$BUILD/sparse

	need sparse sparse
	PATH=$dir/bin:$PATH
	sparse_good && return
	say "sparse here is too old for this kernel: building a newer one in $dir (20 s)"
	rm -rf "$dir" && mkdir -p "$dir/bin" "$dir/source" || return
	apt_suite forky deb-src &&
		(cd "$dir" && apt-get -qq "${apt_suite[@]}" update && apt-get -qq "${apt_suite[@]}" source --download-only sparse) >"$dir/log" 2>&1 &&
		tar -C "$dir/source" --strip-components=1 -xf "$dir"/sparse_*.orig.tar.* &&
		make -C "$dir/source" -j"$JOBS" sparse >>"$dir/log" 2>&1 &&
		cp "$dir/source/sparse" "$dir/bin/" && hash -r && sparse_good
}

sparse_good() { [ "$("$LINUX/scripts/checker-valid.sh" sparse --arch=x86 -m64 2>/dev/null)" = 1 ]; }

# QEMU before 8.1 panics guests that patch static keys under load.
qemu_good() {
	local version

	version=$("$1" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
	[ -n "$version" ] && [ "${version% *}" -gt 8 ] ||
		{ [ "${version% *}" = 8 ] && [ "${version#* }" -ge 1 ]; }
}

need_qemu() {
	local id codename list

	QEMU=${QEMU:-qemu-system-x86_64}
	qemu_good "$QEMU" && return
	id=$(. /etc/os-release && echo "${ID:-}")
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	if ! have "$QEMU" && [ "$codename" != bookworm ]; then
		apt_install qemu-system-x86
	elif [ "$id" = debian ]; then
		apt_suite "$codename-backports" ||
			die "QEMU here is older than 8.1" "install QEMU 8.1 or newer and set QEMU=its path"
		list=$BUILD/apt/$codename-backports
		cp /etc/apt/sources.list.d/* "$list/parts/" 2>/dev/null
		[ ! -s /etc/apt/sources.list ] || cp /etc/apt/sources.list "$list/parts/main.list"
		say "QEMU 8.1 or newer is needed: taking it from $codename-backports"
		apt_get "${apt_suite[@]}" update >/dev/null 2>&1
		apt_install qemu-system-x86 -- "${apt_suite[@]}" -t "$codename-backports"
	fi
	hash -r
	qemu_good "$QEMU" && return
	die "QEMU 8.1 or newer is needed, here is: $("$QEMU" --version 2>&1 | head -n 1)" \
		"install a newer QEMU and set QEMU=its path"
}

need_space() {
	local dir=$1 free

	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[ "${free:-0}" -ge "$2" ] ||
		die "$dir: $free MB free, about $2 MB are needed" \
			"make room, or name a directory on another disk: BUILD=/elsewhere $me ..."
}

kernel_version() {
	awk '$1 == "VERSION" { v = $3 } $1 == "PATCHLEVEL" { p = $3 } $1 == "SUBLEVEL" { s = $3 }
		NR > 10 { exit } END { if (v == "") exit 1; print v "." p "." s + 0 }' "$1/Makefile" 2>/dev/null
}

base() { awk -v key="$1:" '$1 == key { $1 = ""; sub(/^ +/, ""); print; exit }' "$TOP/patches/base"; }

# Reads make's output, keeps it in LOG, shows how far it is and any error.
progress() { python3 "$SCRIPTS/lib-progress" "$@"; }

# What of CONFIG did not make it into the finished .config?
config_lost() {
	grep -hE '^(CONFIG_[A-Z0-9_]+=|# CONFIG_[A-Z0-9_]+ is not set)' "$1" | while read -r line; do
		case $line in
		\#*) grep -q "^${line:2:-11}=" "$2" && echo "$line" ;;
		*) grep -qxF "$line" "$2" || echo "$line" ;;
		esac
	done
}

# configure TREE NAME CONFIG[,CONFIG...]: TREE/o-NAME/.config, exactly these
# options and what they need. A CONFIG is a file or a name in scripts/configs.
configure() {
	local tree=$1 out=$1/o-$2 all lost

	all=$out/.config.wanted
	mkdir -p "$out"
	configs_of "$3" >"$all.new" || exit 1
	cmp -s "$all.new" "$all" && [ -f "$out/.config" ] && [ ! "$tree/kernel/irq/Kconfig" -nt "$out/.config.done" ] &&
		{ rm "$all.new"; return; }
	mv "$all.new" "$all"
	make -s -C "$tree" O="o-$2" KCONFIG_ALLCONFIG="$all" allnoconfig >"$out.log" 2>&1 ||
		{ tail -n 20 "$out.log" >&2; die "configuring o-$2 failed (whole output: $out.log)"; }
	lost=$(config_lost "$all" "$out/.config")
	[ -z "$lost" ] || die "o-$2: these options were asked for and did not come out:" "$lost"
	touch "$out/.config.done"
}

# configs_of CONFIG[,CONFIG...]: the options of all, the last word of each.
configs_of() {
	local file

	for file in ${1//,/ }; do
		[ -f "$file" ] || file=$SCRIPTS/configs/$file.config
		[ -f "$file" ] || die "$file: no such configuration" "there are: $(cd "$SCRIPTS/configs" && echo *.config)"
		cat "$file"
	done | awk -F= '{ key = $1 } /^# CONFIG_.* is not set/ { split($0, w, " "); key = w[2] }
		!/CONFIG_/ { next } !(key in seen) { order[++n] = key } { seen[key] = $0 }
		END { for (i = 1; i <= n; i++) print seen[order[i]] }'
}

# build_kernel NAME CONFIG[,CONFIG...] [MAKE ARGUMENT...]: in $LINUX/o-NAME.
build_kernel() {
	local name=$1 configs=$2
	shift 2
	[ $# -gt 0 ] || set -- bzImage

	need_build_tools
	[ -f "$LINUX/Makefile" ] || die "no kernel tree in $LINUX" "run scripts/get-kernel first"
	need_space "$LINUX" 1000
	configure "$LINUX" "$name" "$configs"
	make -C "$LINUX" O="o-$name" -j"$JOBS" "$@" 2>&1 </dev/null |
		progress "building o-$name ($*)" "$LINUX/o-$name.log" ||
		die "building o-$name failed (whole output: $LINUX/o-$name.log)"
}

need_kernel() {
	[ -d "$LINUX/.git" ] || "$SCRIPTS/get-kernel" || exit 1
}

# Checks the series out in $LINUX, whatever was there; refuses to lose edits.
regen_series() {
	local commit

	need_kernel
	commit=$("$SCRIPTS/regen" --commit) || die "patches/ and sources do not fit together" "see scripts/regen"
	checkout "$LINUX" "$commit"
}

checkout() {
	local dirty

	[ "$(git -C "$1" rev-parse HEAD)" = "$2" ] && git -C "$1" diff --quiet HEAD && return
	dirty=$(git -C "$1" status --porcelain -uno | head -n 3)
	[ -z "$dirty" ] || die "$1 has edits that are not committed:" "$dirty" \
		"commit them and take them in with scripts/import $1, or throw them away: git -C $1 checkout -f"
	git -C "$1" checkout -q --detach "$2" || die "cannot check the series out in $1"
}

# objects_of TREE O-NAME FILE...: the make targets that FILEs end up in, as
# far as TREE/O-NAME/.config has them on; the directories kernel/irq and
# kernel/softirq.o always.
objects_of() {
	local tree=$1 out=$1/$2 file line option

	{ echo kernel/irq/; echo kernel/softirq.o; [ ! -f "$tree/arch/x86/kernel/i8259.c" ] || echo arch/x86/kernel/i8259.o; }
	for file in "${@:3}"; do
		case $file in
		kernel/irq/* | kernel/softirq.c | arch/x86/kernel/i8259.c | tools/* | samples/*) continue ;;
		*.c) [ -f "$tree/$file" ] || continue ;;
		*) continue ;;
		esac
		line=$(grep -E "^obj-.*[[:space:]]$(basename "${file%.c}")\.o\b" "$tree/${file%/*}/Makefile" 2>/dev/null | head -n 1)
		option=$(sed -n 's/^obj-\$(\(CONFIG_[A-Z0-9_]*\)).*/\1/p' <<<"$line")
		if [ -z "$line" ]; then
			echo "${file%/*}/"
		elif [ -z "$option" ] || grep -q "^$option=" "$out/.config"; then
			echo "${file%.c}.o"
		fi
	done | sort -u
}

# make_objects TREE NAME CONFIG[,CONFIG...] LOG [MAKE ARGUMENT... --] FILE...:
# configure TREE/o-NAME, options of patches that are not there yet left out,
# and compile what FILEs end up in.
make_objects() {
	local tree=$1 name=$2 log=$4 arguments=()
	configs_of "$3" >"$tree/o-$name.wanted" || exit 1
	shift 4
	case " $* " in *' -- '*)
		while [ "$1" != -- ]; do arguments+=("$1"); shift; done
		shift ;;
	esac
	make -s -C "$tree" O="o-$name" KCONFIG_ALLCONFIG="$tree/o-$name.wanted" allnoconfig >"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; return 1; }
	# shellcheck disable=SC2046
	make -C "$tree" O="o-$name" -j"$JOBS" "${arguments[@]}" $(objects_of "$tree" "o-$name" "$@") 2>&1 </dev/null |
		progress "o-$name" "$log"
}

# series_tree NAME COMMIT: a work tree of its own, build/NAME, sharing the
# objects of $LINUX; prints nothing, leaves build/NAME at COMMIT.
series_tree() {
	local dir=$BUILD/$1

	need_kernel
	if [ ! -e "$dir/.git" ]; then
		need_space "$BUILD" 2500
		git -C "$LINUX" worktree prune
		git -C "$LINUX" worktree add -q -f --detach "$dir" "$2" || die "cannot make $dir"
	fi
	checkout "$dir" "$2"
}
