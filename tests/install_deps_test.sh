#!/usr/bin/env bash
# tests/install_deps_test.sh SCRIPT: runs it with a made-up dpkg-query and apt-get, as on a bare machine and a full one.
set -euo pipefail
script=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/bin"

die() { echo "$1"; exit 1; }
fake() { printf '#!/bin/bash\n%s\n' "$2" > "$root/bin/$1"; chmod +x "$root/bin/$1"; }
fake apt-get 'echo "$*" >> "$LOG"'
fake sudo 'exec "$@"'
export LOG=$root/log PATH=$root/bin:$PATH

fake dpkg-query 'for p in "${@:4}"; do printf "installed:%s " "$p"; done'
said=$("$script" build bench lint long 2>&1)
[[ -z $said ]] || die "nothing missing, yet it said: $said"
[[ ! -e $LOG ]] || die "nothing missing, yet apt-get was called: $(cat "$LOG")"

fake dpkg-query 'for p in "${@:4}"; do [[ $p == cmake || $p == libfmt-dev ]] || printf "installed:%s " "$p"; done; exit 1'
"$script" build > /dev/null
grep -q 'update' "$LOG" || die "the lists were not updated: $(cat "$LOG")"
grep -qE 'install .*--no-install-recommends cmake libfmt-dev$' "$LOG" || die "expected cmake and libfmt-dev: $(cat "$LOG")"
[[ $(wc -l < "$LOG") == 2 ]] || die "expected one update and one install: $(cat "$LOG")"

fake apt-get 'exit 100'
! "$script" build > /dev/null 2>&1 || die "apt-get failed, yet the script did not"
! "$script" attic > /dev/null 2>&1 || die "an unknown group was accepted"
