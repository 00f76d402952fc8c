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

# A file that nothing compiles would not be looked at; the examples alone may be such.
mkdir -p "$root/stubs" "$root/build-lint" "$root/examples/x" "$root/heed"
for command in cmake clang-format-14 clang-tidy-14; do printf '#!/bin/sh\n' > "$root/stubs/$command"; done
cp "$root/stubs/cmake" "$root/tools/check-includes"
chmod +x "$root"/stubs/* "$root/tools/check-includes"
touch "$root/examples/x/main.cpp" "$root/heed/known.cpp"
echo "\"file\": \"$root/heed/known.cpp\"" > "$root/build-lint/compile_commands.json"
PATH=$root/stubs:$PATH "$root/tools/lint" > "$root/out" 2>&1 || die "lint refused what is compiled: $(cat "$root/out")"
touch "$root/heed/forgotten.cpp"
! PATH=$root/stubs:$PATH "$root/tools/lint" > "$root/out" 2>&1 || die "lint passed over a file that nothing compiles"
grep -q 'heed/forgotten.cpp is compiled by no target' "$root/out" || die "lint did not name the file: $(cat "$root/out")"
