#!/usr/bin/env bash
# tests/readme_test.sh README PROGRAM: every line of a code block that starts with heed or build/heed must run. Each block has a
# folder of its own with small files of the names that the README uses; training stops after three steps.
set -uo pipefail
readme=$(realpath "$1")
program=$(realpath "$2")
target=$(grep -om1 'train\.\(de\|ko\)' "$readme" | cut -d. -f2) # the language of its examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sentences() { # how many
  local words=(the a cat dog mouse bird saw caught and heard small old red tree house)
  for ((i = 0; i < $1; i++)); do
    echo "${words[i % 2]} ${words[2 + i % 4]} ${words[6 + i % 3]} ${words[i / 7 % 15]} ${words[i / 3 % 15]}"
  done
}

idx_images() { # how many, of 28 x 28 pixels
  printf '\0\0\x08\x03\0\0\0\x'"$(printf %02x "$1")"'\0\0\0\x1c\0\0\0\x1c'
  for ((i = 0; i < $1; i++)); do head -c 392 /dev/zero; head -c 392 /dev/zero | tr '\0' "\\$((100 + 20 * (i % 8)))"; done
}

make_files() {
  mkdir build
  ln -s "$program" build/heed
  for part in train:200 more:50 val:20 test:20; do
    for side in en de ko; do sentences "${part#*:}" > "${part%:*}.$side"; done
  done
  sentences 5 > in.txt
  sentences 5 > prompts.txt
  cp in.txt out.txt
  sentences 400 > book.txt
  sentences 200 > more.txt
  sentences 20 > text.txt
  for i in {1..20}; do
    echo '{"messages": [{"role": "user", "content": "who '"$i"'?"}, {"role": "assistant", "content": "the cat"}]}'
  done > talk.jsonl
  idx_images 24 | gzip > train-images-idx3-ubyte.gz
  idx_images 4 | gzip > t10k-images-idx3-ubyte.gz
  { printf '\0\0\x08\x01\0\0\0\x18'; for i in {1..12}; do printf '\0\x01'; done; } | gzip > train-labels-idx1-ubyte.gz
}

# What a person would have at hand by then, and as little work as shows that it runs.
prepared() {
  local line=$1 data="--src train.en --tgt train.$target --valid-src val.en --valid-tgt val.$target"
  line=${line/translate .../translate $data}
  [[ $line == *MODEL1* ]] && cp -r MODEL MODEL1 && cp -r MODEL MODEL2
  [[ $line == "heed train "* ]] && line+=" --preset tiny --max-steps 3"
  echo "$line"
}

export PATH=$folder/bin:$PATH
mkdir "$folder/bin"
ln -s "$program" "$folder/bin/heed"
blocks=0
ran=0
failed=0
while IFS= read -r line; do
  if [[ $line == BLOCK ]]; then
    mkdir "$folder/$((++blocks))" && cd "$folder/$blocks" && make_files
    continue
  fi
  ran=$((ran + 1))
  if ! said=$(bash -e -o pipefail -c "$(prepared "$line")" 2>&1 < /dev/null | tr -d '\0') || [[ $line == build/heed* && -z $said ]]; then
    echo "README: $line"
    echo "$said" | tail -5
    failed=$((failed + 1))
  fi
done < <(awk '/^```/ { inside = !inside; if (inside) print "BLOCK" }
              inside && /^(build\/)?heed / { sub(/ +#.*/, ""); print }' "$readme")

echo "$ran commands of the README, $failed failed"
((ran > 0 && failed == 0))
