#!/usr/bin/env bash
# tests/check_includes_test.sh CHECKER: builds small trees and expects each to be accepted or rejected, with its reason.
set -euo pipefail
checker=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# expect STATUS MESSAGE FILE LINE: a tree whose FILE holds LINE gives that status and a message that contains MESSAGE.
expect() {
  rm -rf "$root/heed"
  mkdir -p "$root/heed/base" "$root/heed/nn" "$root/heed/cli" "$root/$(dirname "$3")"
  printf 'base\nnn\ncli\n' > "$root/heed/floors.txt"
  printf '#pragma once\n' > "$root/heed/base/a.h"
  printf '#pragma once\n%s\n' "$4" > "$root/$3"
  local status=0 said
  said=$("$checker" "$root" 2>&1) || status=1
  if [[ $status != "$1" || $said != *"$2"* || ($1 == 0 && -n $said) ]]; then
    echo "'$4' in $3: expected status $1 and '$2', found status $status and '$said'"
    exit 1
  fi
}

expect 0 "" heed/nn/x.h '#include "heed/base/a.h"'
expect 0 "" heed/nn/x.cpp '#include "heed/nn/x.h"'
expect 0 "" heed/base/x.cpp '#include <vector>'
expect 0 "" heed/base/x.cpp '// #include "heed/nn/x.h"'
expect 1 'heed/base/x.h:2: "heed/nn/y.h" goes up from base to nn' heed/base/x.h '#include "heed/nn/y.h"'
expect 1 'goes up from nn to cli' heed/nn/x_test.cpp '  #  include <heed/cli/y.h>'
expect 1 'is on no floor' heed/nn/x.cpp '#include "heed/attic/y.h"'
expect 1 'is not named from the root' heed/nn/x.cpp '#include "../cli/y.h"'
expect 1 'is not a plain path' heed/nn/x.cpp '#include "heed/nn/../cli/y.h"'
expect 1 'heed/attic: not a floor' heed/attic/x.h '// nothing'
