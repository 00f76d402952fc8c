#!/usr/bin/env bash
# tests/sources_test.sh TOOLS: what is not found is an error, so that nobody takes a lint that looked at nothing for a clean one.
set -euo pipefail
tools=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/tools" "$root/bin"
cp "$tools/sources" "$tools/lint" "$root/tools"
for command in bash dirname sort grep; do ln -s "$(command -v $command)" "$root/bin"; done
export GIT_CEILING_DIRECTORIES=$root

die() { echo "$1"; exit 1; }
! PATH=$root/bin "$root/tools/sources" > "$root/out" 2>&1 || die "without git it passed"
! "$root/tools/sources" > "$root/out" 2>&1 || die "outside of a checkout it passed"
! "$root/tools/lint" > "$root/out" 2>&1 || die "lint passed without a list"
command -v git > /dev/null || exit 0

git -C "$root" init -q
! "$root/tools/sources" 2> "$root/out" || die "an empty list passed"
grep -q 'no C++ file' "$root/out" || die "an empty list without a word: $(cat "$root/out")"
touch "$root/a.cpp" "$root/b.h" "$root/c.md"
git -C "$root" add a.cpp
[[ $("$root/tools/sources") == $'a.cpp\nb.h' ]] || die "expected a.cpp and b.h: $("$root/tools/sources")"
rm "$root/a.cpp"
[[ $("$root/tools/sources") == b.h ]] || die "a file that is gone was listed"
git -C "$root" -c user.name=a -c user.email=a@b commit -qm a
git -C "$root" add -A
git -C "$root" -c user.name=a -c user.email=a@b commit -qm b
[[ -z $("$root/tools/sources" HEAD) ]] || die "nothing changed, yet something was listed"
! "$root/tools/sources" none > "$root/out" 2>&1 || die "an unknown revision passed"
