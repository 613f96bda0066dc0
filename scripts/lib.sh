# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts beside it, which source it.
#   die REASON [NEXT STEP]         say why and what to do, exit 1; misuse: the same for arguments, exit 2
#   verdict STATUS NAME [FILE]     a result as TAP, with the end of FILE if it failed
#   writable DIR                   make DIR, or refuse
#   need_qemu                      sets $QEMU to a QEMU of 8.1 or newer
#   need_space DIR MB              refuse if the disk is too full
#   logged LABEL LOG COMMAND...    run it with its output in LOG, and show the progress
#   build_module NAME SOURCE       a test module for $LINUX/o-NAME; sets $module
#   build_plugin SOURCE SO WORDS   a plugin for $QEMU, tried with the parameters WORDS
# shellcheck shell=bash

set -u
set -o pipefail
unset CDPATH

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# make cannot build in a path with a blank
if [ -z "${BUILD:-}" ] && [[ $TOP == *[[:space:]]* ]]; then
	export BUILD=${XDG_CACHE_HOME:-$HOME/.cache}/irq-balance${TOP//[!A-Za-z0-9]/-}
	echo "${0##*/}: the path of this repository has a blank: building in $BUILD" >&2
fi
BUILD=$(realpath -m "${BUILD:-$TOP/build}")
LINUX=$(realpath -m "${LINUX:-$BUILD/linux}")
SCRIPTS=$TOP/scripts
JOBS=${JOBS:-$(nproc)}
me=${0##*/}

export LC_ALL=C.UTF-8
# The same object for the same source, on any machine and at any time.
export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=irq KBUILD_BUILD_HOST=balance
export CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-20G}
PATH=/usr/lib/ccache:$PATH:/usr/sbin:/sbin

say() { printf '%s: %s\n' "$me" "$*" >&2; }
warn() { say "warning: $*"; }

die() {
	say "$1"
	shift
	[ $# -eq 0 ] || printf '  %s\n' "${@//$'\n'/$'\n'  }" >&2
	exit 1
}

misuse() {
	(die "$@")
	exit 2
}

verdict() { # status, name, file with the output
	[ "$1" -eq 0 ] && echo "ok - $2" && return
	echo "not ok - $2"
	[ -z "${3:-}" ] || tail -n 25 "$3" | sed 's/^/#   /'
	return 1
}

# The comment block at the head of the script is its help text.
usage() {
	awk 'NR > 1 && /^# SPDX/ { next } NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" || exit 2
	exit "${1:-0}"
}

have() { command -v "$1" >/dev/null 2>&1; }

writable() {
	case $1 in *[[:space:]]*) die "make cannot build in a path with a blank: $1" "name a directory for all that is made: BUILD=/elsewhere $me ..." ;; esac
	mkdir -p "$1" 2>/dev/null && [ -w "$1" ] ||
		die "cannot write in $1" "name a directory for all that is made: BUILD=/elsewhere $me ..."
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif have sudo && { { : </dev/tty; } 2>/dev/null || sudo -n true 2>/dev/null; }; then
		sudo "$@"
	else
		return 126
	fi
}

apt_get() {
	as_root flock -o "$SCRIPTS" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# apt_install PACKAGE... [-- APT OPTION...]
apt_install() {
	local packages=() log=$BUILD/log/apt.$me.log by_hand
	while [ $# -gt 0 ] && [ "$1" != -- ]; do packages+=("$1"); shift; done
	[ $# -eq 0 ] || shift
	by_hand="as root: apt-get update && apt-get install --no-install-recommends ${packages[*]}"
	have apt-get || die "${packages[*]}: not installed, and this machine has no apt" \
		"install it with this machine's package manager and run $me again"
	say "installing through apt: ${packages[*]}"
	writable "${log%/*}"
	apt_get "$@" install --no-install-recommends "${packages[@]}" >"$log" 2>&1 && return
	[ $? -eq 126 ] && die "${packages[*]}: not installed, and neither root nor sudo here" "$by_hand"
	# The package lists may be missing or old.
	apt_get "$@" update >>"$log" 2>&1
	apt_get "$@" install --no-install-recommends "${packages[@]}" >>"$log" 2>&1 && return
	tail -n 5 "$log" >&2
	die "apt could not install ${packages[*]} (whole output: $log)" "$by_hand"
}

# The comments at the head of a step of scripts/test, and the seconds that it may take
head_of() { awk 'NR > 1 { if (!/^#/) exit; print }' "$1"; }
limit_of() { head_of "$1" | sed -n 's/^# timeout: *//p' | grep -m 1 . || echo 900; }

# Whether a step is to run this part of it; the runner looks for the line
part() { { [ -z "${PARTS:-}" ] || [[ " $PARTS " == *" $1 "* ]]; } && echo "# part $1"; }

# need PROGRAM PACKAGE...: install missing PROGRAMs through apt. A PROGRAM with a slash is
# a file, one that starts with python: is a Python module. Waits for the apt of another step.
need() {
	local missing=()
	flock "$SCRIPTS" true
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
	writable "$BUILD"
	need gcc gcc make make flex flex bison bison bc bc perl perl python3 python3 \
		ld binutils xz xz-utils git git ccache ccache \
		/usr/include/stdio.h libc6-dev /usr/include/gelf.h libelf-dev
}

# apt_suite SUITE [deb-src] [ARCHITECTURE]: sets the array $apt_suite to options
# that add SUITE to the sources of apt, from the Debian mirror of this machine, in private
# directories. Fails where no Debian mirror is configured.
apt_suite() {
	local suite=$1 type=${2:-deb} dir=$BUILD/apt/$me.$1.${2:-deb}${3:+.$3} mirror key=/usr/share/keyrings/debian-archive-keyring.gpg
	mirror=$(. /etc/os-release && apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' \
		'Component: main' "Release: ${VERSION_CODENAME:-}" 2>/dev/null | head -n 1)
	[ -n "$mirror" ] && [ -e $key ] && mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/cache/archives/partial" || return
	printf '%s\n' "Types: $type" "URIs: $mirror" "Suites: $suite" 'Components: main' "Signed-By: $key" >"$dir/parts/$suite.sources"
	apt_suite=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$dir/parts"
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache" ${3:+-o "APT::Architecture=$3" -o "APT::Architectures::=$3"}
		-o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none"
		-o "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false")
}

# QEMU before 8.1 panics guests that patch static keys under load.
qemu_good() {
	local version
	version=$("$1" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
	[ -n "$version" ] && [ $((${version% *} * 100 + ${version#* })) -ge 801 ]
}

# need_qemu [PROGRAM PACKAGE]
# shellcheck disable=SC2120
need_qemu() {
	local program=${1:-${QEMU:-qemu-system-x86_64}} package=${2:-qemu-system-x86} codename list
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	if ! qemu_good "$program" && [ "$codename" = bookworm ] && apt_suite "$codename-backports"; then
		list=$BUILD/apt/$me.$codename-backports.deb/parts
		cp /etc/apt/sources.list.d/* "$list/" 2>/dev/null
		[ ! -s /etc/apt/sources.list ] || cp /etc/apt/sources.list "$list/main.list"
		say "QEMU 8.1 or newer is needed: taking it from $codename-backports"
		apt_get "${apt_suite[@]}" update >/dev/null 2>&1
		apt_install "$package" -- "${apt_suite[@]}" -t "$codename-backports"
	fi
	need "$program" "$package" setpriv util-linux
	qemu_good "$program" || die "QEMU 8.1 or newer is needed, here is: $("$program" --version 2>&1 | head -n 1)" \
		"install a newer QEMU and set QEMU=its path"
	export QEMU=$program
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
		NR > 10 { exit } END { if (v "." p !~ /^[0-9]+\.[0-9]+$/) exit 1; print v "." p "." s + 0 }' "$1/Makefile" 2>/dev/null
}

# The value of a key of patches/base, or of patches/compat/X.Y/base after base_of X.Y
BASE=$TOP/patches/base
base() { sed -n "s/^$1: *//p" "$BASE"; }
kernels() { (cd "$TOP/patches" && sed -n 's/^kernel: \([0-9]*\.[0-9]*\).*/\1/p' base compat/*/base) | sort -V | xargs; }
base_of() {
	[ "$1" = "$(kernels | sed 's/.* //')" ] && return
	BASE=$TOP/patches/compat/$1/base
	[ -f "$BASE" ] || misuse "there is no variant of the series for Linux $1" "there is one for each of: $(kernels)"
}

logged() {
	local label=$1 log=$2 ticker status
	shift 2
	while sleep 15 2>&- 7>&- 9>&- && kill -0 $$ 2>/dev/null; do say "$label: $(grep -c '^  [A-Z]' "$log") objects, $SECONDS s"; done >/dev/null &
	ticker=$!
	"$@" >"$log" 2>&1 </dev/null
	status=$?
	kill $ticker
	wait $ticker 2>/dev/null
	[ $status -eq 0 ] || grep -E 'error:|undefined reference|\*\*\*|No space left' "$log" | head -n 20 >&2
	return $status
}

# The options of CONFIG that did not make it into the finished .config.
config_lost() {
	grep -hE '^(CONFIG_[A-Z0-9_]+=|# CONFIG_[A-Z0-9_]+ is not set)' "$1" | while read -r line; do
		case $line in
		\#*) grep -q "^${line:2:-11}=" "$2" && echo "$line" ;;
		*) grep -qxF "$line" "$2" || echo "$line" ;;
		esac
	done
}

# configs_of CONFIG[,CONFIG...]: the options of all, the last word of each. A CONFIG
# is a file or a name in scripts/configs.
configs_of() {
	local file
	for file in ${1//,/ }; do
		[ ! -f "$SCRIPTS/configs/$file.config" ] || file=$SCRIPTS/configs/$file.config
		[ -f "$file" ] || die "$file: no such configuration" "there are: $(cd "$SCRIPTS/configs" && echo *.config)"
		cat "$file"
	done | awk -F= '{ key = $1 } /^# CONFIG_.* is not set/ { split($0, w, " "); key = w[2] }
		!/CONFIG_/ { next } !(key in seen) { order[++n] = key } { seen[key] = $0 }
		END { for (i = 1; i <= n; i++) print seen[order[i]] }'
}

# configure TREE NAME CONFIG[,CONFIG...]: TREE/o-NAME/.config, exactly these
# options and what they need; $config_free: options that the tree lacks are no error.
configure() {
	local tree=$1 out=$1/o-$2 all=$1/o-$2.wanted lost
	configs_of "$3" >"$all.new" || exit 1
	cmp -s "$all.new" "$all" && [ -e "$out/.config" ] &&
		[ -z "$(find "$tree/kernel/irq" "$tree/arch/x86/Kconfig" -name 'Kconfig*' -newer "$out/.config")" ] && return
	mv "$all.new" "$all"
	# From allnoconfig, EXPERT takes what is there by default without it
	grep -v '^CONFIG_EXPERT=y' "$all" >"$all.first"
	{ make -s -C "$tree" O="o-$2" KCONFIG_ALLCONFIG="$all.first" allnoconfig && { cmp -s "$all" "$all.first" ||
		{ cat "$all" >>"$out/.config" && make -s -C "$tree" O="o-$2" olddefconfig; }; }; } >"$out.log" 2>&1 ||
		{ tail -n 20 "$out.log" >&2; die "configuring o-$2 failed (whole output: $out.log)"; }
	lost=$(config_lost "$all" "$out/.config")
	[ -z "$lost" ] || [ -n "${config_free:-}" ] || { rm "$all"; die "o-$2: these options were asked for and did not come out:" "$lost"; }
	touch "$out/.config"
}

# build_kernel NAME CONFIG[,CONFIG...] MAKE ARGUMENT...: in $LINUX/o-NAME.
build_kernel() {
	local name=$1 configs=$2
	shift 2
	need_build_tools
	[ -f "$LINUX/Makefile" ] || die "no kernel tree in $LINUX" "run scripts/get-kernel first"
	need_space "$LINUX" 1000
	{
		flock 7
		configure "$LINUX" "$name" "$configs"
		logged "building o-$name ($*)" "$LINUX/o-$name.log" make -C "$LINUX" O="o-$name" -j"$JOBS" "$@" ||
			die "building o-$name failed (whole output: $LINUX/o-$name.log)"
		[ -f "$LINUX/o-$name/Module.symvers" ] || cp "$LINUX/o-$name/vmlinux.symvers" "$LINUX/o-$name/Module.symvers" 2>/dev/null
	} 7<"$LINUX"
}

build_module() {
	local dir=$BUILD/test/modules/$1
	module=$dir/$(basename "$2" .c).ko
	mkdir -p "$dir" && cp "$2" "$dir/" && echo "obj-m := $(basename "$2" .c).o" >"$dir/Kbuild"
	make -C "$LINUX/o-$1" M="$dir" modules >"$dir/log" 2>&1 </dev/null || { tail -n 20 "$dir/log" >&2; die "$2 does not build for o-$1"; }
}

# Debian has no header that names the version of the interface
build_plugin() {
	local source=$1 plugin=$2 words=$3 api
	for api in 4 2 1 5 6; do
		gcc -O2 -Wall -shared -fPIC -fvisibility=hidden -DAPI_VERSION=$api -o "$plugin" "$source" || die "$source does not compile"
		timeout 20 "$QEMU" -machine none -display none -monitor none -nodefaults -S -daemonize -pidfile "$plugin.pid" \
			-plugin "$plugin,$words" 2>"$plugin.error" && kill "$(cat "$plugin.pid")" && return
	done
	die "$QEMU takes no plugin of ours: $(tail -n 1 "$plugin.error")" \
		"install a QEMU of 9.1 or newer that was built with --enable-plugins, as Debian's is, and set QEMU=its path"
}

# The kernel of most tests, and its tools: $image, $QEMU.
need_test_kernel() {
	need gcc gcc /usr/include/stdio.h libc6-dev ip iproute2 insmod kmod /usr/bin/python3 python3
	need_qemu
	regen_series
	build_kernel test x86-guest,test bzImage modules
	image=$LINUX/o-test/arch/x86/boot/bzImage
}

need_kernel() {
	[ -d "$LINUX/.git" ] || flock -o "$TOP" "$SCRIPTS/get-kernel" ${KERNEL:+--kernel "$KERNEL" "$LINUX"} || exit 1
}

# The variant of the series for $KERNEL as one commit on the base, the same each time
variant_commit() {
	local dir status=0
	dir=$(mktemp -d) && python3 -B "$SCRIPTS/series.py" "$KERNEL" "$dir" || return
	export GIT_INDEX_FILE=$dir/index GIT_AUTHOR_NAME=variant GIT_AUTHOR_EMAIL=variant GIT_AUTHOR_DATE='@0 +0000'
	export GIT_COMMITTER_NAME=variant GIT_COMMITTER_EMAIL=variant GIT_COMMITTER_DATE='@0 +0000'
	git -C "$LINUX" read-tree base && cat "$dir"/*.patch | git -C "$LINUX" apply --cached --whitespace=nowarn - &&
		git -C "$LINUX" commit-tree -p base -m "$KERNEL" "$(git -C "$LINUX" write-tree)" || status=1
	rm -r "$dir"
	return $status
}

# Check the series out in $LINUX (build/linux); refuses to lose edits.
regen_series() {
	local commit
	need_kernel
	if [ -n "${KERNEL:-}" ]; then
		commit=$(variant_commit)
	else
		commit=$("$SCRIPTS/regen" --commit)
	fi || die "patches/ and sources do not fit together" "see scripts/regen"
	checkout "$LINUX" "$commit"
}

checkout() { # tree, commit: one step at a time
	local dirty
	flock 8
	[ "$(git -C "$1" rev-parse HEAD)" = "$2" ] && git -C "$1" diff --quiet HEAD && return
	dirty=$(git -C "$1" status --porcelain -uno | head -n 3)
	[ -z "$dirty" ] || die "$1 has edits that are not committed:" "$dirty" \
		"commit them and take them in with scripts/import $1, or throw them away: git -C $1 checkout -f"
	git -C "$1" checkout -q --detach "$2" || die "cannot check the series out in $1"
} 8<"$1"

# series_tree NAME COMMIT: build/NAME at COMMIT, sharing the objects of $LINUX.
series_tree() {
	need_kernel
	if [ ! -e "$BUILD/$1/.git" ]; then
		need_space "$BUILD" 2500
		git -C "$LINUX" worktree prune
		git -C "$LINUX" worktree add -q -f --detach "$BUILD/$1" "$2" || die "cannot make $BUILD/$1"
	fi
	checkout "$BUILD/$1" "$2"
}
