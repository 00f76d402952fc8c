#!/usr/bin/env bash
# tests/readme_test.sh README PROGRAM: every line of a code block that starts with build/heed must run and print something.
set -uo pipefail
readme=$1
program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/build"
ln -s "$program" "$folder/build/heed"
cd "$folder" || exit 1

ran=0
failed=0
while IFS= read -r line; do
  ran=$((ran + 1))
  if ! said=$(bash -c "$line" 2>&1 < /dev/null) || [[ -z $said ]]; then
    echo "README: $line"
    echo "$said" | tail -5
    failed=$((failed + 1))
  fi
done < <(awk '/^```/ { inside = !inside } inside && /^build\/heed / { sub(/ +#.*/, ""); print }' "$readme")

echo "$ran commands of the README, $failed failed"
((ran > 0 && failed == 0))
