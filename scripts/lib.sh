# shellcheck shell=bash
# Shared by the scripts beside it; source it after `set -euo pipefail`. Every message goes to stderr.

say() { printf 'weft: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# print_usage: prints the comment at the top of the calling script.
print_usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# step TITLE COMMAND...: runs COMMAND in silence. When it takes more than a second, shows TITLE and how far ninja has
# come; when it fails, shows what it printed.
step() {
  local title=$1 log reporter rc=0
  shift
  log=$(mktemp)
  report_progress "$title" "$log" &
  reporter=$!
  # shellcheck disable=SC2064  # the values of now are meant
  trap "kill $reporter 2>/dev/null || true; rm -f '$log'" EXIT
  "$@" >"$log" 2>&1 </dev/null || rc=$?
  kill "$reporter" 2>/dev/null || true
  wait "$reporter" 2>/dev/null || true
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((rc != 0)); then
    grep -vE '^\[[0-9]+/[0-9]+\] ' "$log" >&2 || true
    say "$title: failed (exit $rc)"
  fi
  rm -f "$log"
  trap - EXIT
  return "$rc"
}

# report_progress TITLE LOG: on a terminal one line that changes; elsewhere a line now and every half minute.
report_progress() {
  local title=$1 log=$2 every=30 done_of
  if [[ -t 2 ]]; then every=0.5; fi
  sleep 1 >/dev/null 2>&1
  while true; do
    done_of=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" 2>/dev/null | tail -n 1 || true)
    if [[ -t 2 ]]; then
      printf '\r\033[Kweft: %s %s' "$title" "$done_of" >&2
    else
      say "$title $done_of"
    fi
    sleep "$every" >/dev/null 2>&1  # it may outlive us: it must not hold the caller's pipe open
  done
}

# fresh_clone ROOT: clones HEAD to weft/ in a new folder, beside a link to the data that ROOT's tests read where they lie;
# prints the folder.
fresh_clone() {
  local folder shared
  folder=$(mktemp -d "${TMPDIR:-/tmp}/weft-clone.XXXXXX")
  git clone -q --local "$1" "$folder/weft"
  shared=$(dirname "$1")/shared
  if [[ -e $shared ]]; then ln -s "$(readlink -f "$shared")" "$folder/shared"; fi
  printf '%s\n' "$folder"
}

# print_parts LOG: how long each part of .ci/run or scripts/test took.
print_parts() { sed -nE 's/^weft: took +/  /p; s/^weft: ([a-z]+ +(ok|FAILED), )/  \1/p; s/^ci: /  /p' "$1"; }
