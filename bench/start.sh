#!/usr/bin/env bash
# bench/start.sh [PROGRAM [MODEL...]]: milliseconds from the start of heed to the end of a short answer, best and median of 40; also
# to the first token of a language model, to the first translation of a translator. Without a MODEL that is a translator of three
# steps: what it says does not matter here, its size does. Fails where the best is over its limit.
set -euo pipefail
program=${1:-heed}
models=("${@:2}")
if [[ ${#models[@]} == 0 ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  text=$(dirname "$0")/../README.md
  "$program" train translate --src "$text" --tgt "$text" --preset tiny --max-steps 3 --out "$folder/model" --quiet
  models=("$folder/model")
fi

measure() { # limit in ms, arguments of heed
  local limit=$1 begin
  shift
  for _ in {1..40}; do
    begin=$(date +%s%N)
    "$program" "$@" > /dev/null <<< 'a dog runs through the snow .'
    echo $(($(date +%s%N) - begin))
  done | sort -n | awk -v what="heed ${*:1:2}" -v limit="$limit" '
    { t[NR] = $1 / 1e6 }
    END { printf "%s: %.1f ms at best, %.1f median\n", what, t[1], t[int((NR + 1) / 2)]; exit t[1] >= limit }'
}

measure 50 show attention
for model in "${models[@]}"; do
  if [[ -f $model/source.spm ]]; then
    measure 150 translate "$model" --quiet
  else
    measure 100 generate "$model" --prompt Once --max-tokens 1 --quiet
  fi
done
