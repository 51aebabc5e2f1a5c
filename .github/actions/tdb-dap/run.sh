#!/usr/bin/env bash
# Run each command on each context; reports, the summary of the job, and the worst exit code as an output.
# Reads TDB_BIN (install.sh) and the inputs of action.yml as TDB_CONTEXTS, TDB_COMMANDS, TDB_INPUTS, TDB_REFERENCE,
# TDB_CHECK_OPTIONS, TDB_SANITIZE_OPTIONS, TDB_BASELINES, TDB_WRITE_BASELINES, TDB_REPORTS; appends to the files
# GITHUB_STEP_SUMMARY and GITHUB_OUTPUT.
set -uo pipefail
set -f # options such as --except 'conv*' are words, not names of files
shopt -u patsub_replacement 2>/dev/null || true # since Bash 5.2 an & in a path would be the pattern

worst=0
rows=""
details=""
newline=$'\n'
mkdir -p "$TDB_REPORTS/sarif" || exit 2
[ "$TDB_WRITE_BASELINES" != true ] || mkdir -p "$TDB_BASELINES" || exit 2

# Text for a cell of a table: one line, without what Markdown obeys.
cell() { printf '%s' "$1" | tr '\n\r\t' '   ' | sed -e 's/&/\&amp;/g; s/</\&lt;/g; s/[][\\`*_|~]/\\&/g' | cut -c1-400; }

# Text for the log. The runner obeys :: at the beginning of a line and ##[ anywhere in it; a line may end in CR.
harmless() { tr '\r' ' ' | sed -e 's/::/: :/g; s/##\[/# #[/g'; }

# File name for a context: its path with - for /, and a hash after + where the path has other signs or a - itself.
name_of() {
  local path name
  path="$(printf '%s' "$1" | sed -e 's|//*|/|g; s|^\./||; s|/$||')"
  name="$(printf '%s' "$path" | sed -e 's|[^A-Za-z0-9._-]|-|g')"
  case "$path" in
    *[!A-Za-z0-9._/]*) name+="+$(printf '%s' "$path" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)" ;;
  esac
  printf '%s' "$name"
}

run() { # COMMAND CONTEXT
  local command="$1" context="$2" name words base file output code
  name="$(name_of "$context")"
  base="$TDB_REPORTS/$name.$command"
  words=("$command" "$context" --quiet)
  [ -z "$TDB_INPUTS" ] || words+=(--inputs "${TDB_INPUTS//\{context\}/$context}")
  [ -z "$TDB_REFERENCE" ] || words+=(--reference "${TDB_REFERENCE//\{context\}/$context}")
  # shellcheck disable=SC2206 # several options in one text
  if [ "$command" = check ]; then words+=($TDB_CHECK_OPTIONS); else words+=($TDB_SANITIZE_OPTIONS); fi
  for file in "$TDB_REPORTS/sarif/$name.$command.sarif" "$base.xml" "$base.json" "$base.md"; do
    words+=(--report "$file")
  done
  file="$TDB_BASELINES/$name.$command.json"
  [ ! -f "$file" ] || words+=(--baseline "$file")
  [ "$TDB_WRITE_BASELINES" != true ] || words+=(--write-baseline "$file")

  echo "::group::tdb-dap $command $name"
  output="$("$TDB_BIN/tdb-dap" "${words[@]}" 2>&1)"
  code=$?
  printf '%s\n' "$output" | harmless
  echo "::endgroup::"
  [ "$code" -le "$worst" ] || worst="$code"
  local result="nothing new" said
  [ "$code" -ne 1 ] || result="**something is wrong**"
  [ "$code" -lt 2 ] || result="**could not be run**"
  said="$(printf '%s\n' "$output" | tail -n 1)"
  # The verdict of check is its first line; what a baseline makes of it, or an error, is the last one.
  if [[ $command = check && $code -lt 2 && $said != baseline:* ]]; then
    said="$(printf '%s\n' "$output" | head -n 1)"
  fi
  rows+="| $(cell "$context") | $command | $result | $(cell "$said") |$newline"
  if [ "$code" -ne 0 ]; then
    # Indented: no text can end the block.
    details+="${newline}### $command $(cell "$context")$newline$newline"
    details+="$(printf '%s\n' "$output" | tr '\r' ' ' | head -n 60 | cut -c1-400 | sed 's/^/    /')$newline"
  fi
}

while IFS= read -r context; do
  context="$(printf '%s' "$context" | sed -e 's/^[[:space:]]*//; s/[[:space:]]*$//')"
  [ -n "$context" ] || continue
  for command in $TDB_COMMANDS; do
    case "$command" in
      check | sanitize) run "$command" "$context" ;;
      *) printf '%s\n' "tdb-dap: error: commands: $command is neither check nor sanitize" | harmless >&2 && exit 2 ;;
    esac
  done
done <<<"$TDB_CONTEXTS"

if [ -z "$rows" ]; then
  echo "tdb-dap: error: contexts: name at least one context directory, one a line" >&2
  exit 2
fi
{
  echo "## tdb-dap"
  echo
  echo "| model | command | result | |"
  echo "|---|---|---|---|"
  printf '%s' "$rows"
  printf '%s' "$details"
} >>"$GITHUB_STEP_SUMMARY"
{
  echo "exit-code=$worst"
  echo "reports=$TDB_REPORTS"
  [ -z "$(find "$TDB_REPORTS/sarif" -name '*.sarif' -print -quit)" ] || echo "sarif=$TDB_REPORTS/sarif"
} >>"$GITHUB_OUTPUT"
