#!/usr/bin/env bash
# Every shell script of the tree passes shellcheck. Usage: shell.sh, from the root of the tree.
set -euo pipefail

is_shell() {
  local first
  [[ -f $1 && ! -L $1 ]] || return 1
  [[ $1 == *.sh ]] || { IFS= read -r first <"$1" && [[ $first =~ ^#!.*[/\ ](bash|dash|sh)( |$) ]]; } 2>/dev/null
}

scripts=()
while IFS= read -r -d '' file; do
  if is_shell "$file"; then scripts+=("$file"); fi
done < <(git ls-files -z --cached --others --exclude-standard)

if ((${#scripts[@]} != 0)) && ! shellcheck --external-sources --source-path=. --format=gcc "${scripts[@]}"; then
  echo "To do: each SC number is explained at https://www.shellcheck.net/wiki/SCnnnn; excuse a wrong one on its line" \
    "with '# shellcheck disable=SCnnnn  # why'."
  exit 1
fi
