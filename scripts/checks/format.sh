#!/usr/bin/env bash
# The layout of .clang-format. Usage: format.sh [--fix], from the root of the tree.
set -euo pipefail

mode=(--dry-run -Werror)
if [[ ${1-} == --fix ]]; then mode=(-i); fi

# sources: NUL-separated; what is deleted but not yet staged is still in git's list.
sources() {
  local file
  git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' '*.cu' '*.cuh' | sort -zu |
    while IFS= read -r -d '' file; do
      if [[ -f $file ]]; then printf '%s\0' "$file"; fi
    done
}

if ! output=$(sources | xargs -0 -r -n 64 clang-format-19 "${mode[@]}" 2>&1); then
  # One line a file: where the first difference is, and how many there are.
  awk -F: '/: error: code should be clang-formatted/ { if (!n[$1]++) at[$1] = $2; next }
           /: (error|warning): |^[^ ]+: / { print }
           END { for (f in n) printf "%s:%d: %d places are laid out differently\n", f, at[f], n[f] }' <<<"$output" | sort
  echo "To do: scripts/check --fix format"
  exit 1
fi
