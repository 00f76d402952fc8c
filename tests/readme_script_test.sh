#!/usr/bin/env bash
# tests/readme_script_test.sh SCRIPT: of several commands in a line of a README, each one counts.
set -euo pipefail
script=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
printf '#!/bin/sh\n[ "$1" != wrong ]\n' > "$root/heed"
chmod +x "$root/heed"

# expect STATUS LINE: a README with this line gives that status.
expect() {
  printf '```\n%s\n```\ntrain.de\n' "$2" > "$root/README.md"
  local status=0 said
  said=$("$script" "$root/README.md" "$root/heed") || status=1
  [[ $status == "$1" ]] || { echo "'$2': expected status $1, found $status and '$said'"; exit 1; }
}

expect 0 'heed info; heed right  # heed wrong'
expect 1 'heed wrong'
expect 1 'heed info; heed wrong'
expect 1 'heed wrong; heed info'
expect 1 'heed info; heed wrong; heed info'
expect 1 'heed wrong | cat'
