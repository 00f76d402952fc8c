#!/usr/bin/env bash
# bench/start.sh [PROGRAM]: milliseconds from the start of heed to the end of a short answer, best and median of 40;
# fails when the best is 50 or more.
set -euo pipefail
program=${1:-heed}
times=$(for _ in {1..40}; do
  begin=$(date +%s%N)
  "$program" show attention > /dev/null
  echo $(($(date +%s%N) - begin))
done | sort -n)
awk '{ t[NR] = $1 / 1e6 } END { printf "heed show attention: %.1f ms at best, %.1f median\n", t[1], t[int((NR + 1) / 2)]
                                 exit t[1] >= 50 }' <<< "$times"
