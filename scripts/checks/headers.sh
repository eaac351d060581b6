#!/usr/bin/env bash
# Every header of the layers compiles alone, and its documentation comments are true to its code (-Wdocumentation).
# Usage: headers.sh, from the root of the tree, with build/lint configured.
set -euo pipefail

# A header's entry in compile_commands.json without the flag would make this check say yes to everything.
without_flag=$(grep '"command"' build/lint/compile_commands.json | grep '_verify_interface_header_sets' |
  grep -cv -- '-Wdocumentation' || true)
if ((without_flag != 0)); then
  echo "CMakePresets.json: lint compiles $without_flag headers without -Wdocumentation. To do: give the flag to the" \
    "header sets too, for instance in CMAKE_CXX_FLAGS of the preset."
  flagged=no
fi

if ! output=$(cmake --build build/lint --target all_verify_interface_header_sets -- -k 0 2>&1); then
  # What Ninja and CMake say of their wrapper files says nothing about the header.
  grep -vE '^\[[0-9]+/|^FAILED: |^ninja: |_verify_interface_header_sets/|^[0-9]+ (errors?|warnings?).* generated' \
    <<<"$output" | sed -E "s#^(In file included from )?($PWD/|\.\./\.\./)?((build/lint/)?include/weft/)?#\1#"
  echo "To do: include or declare what the header uses, and correct the comments that -Wdocumentation names."
  exit 1
fi
[[ ${flagged-} != no ]]
