#!/usr/bin/env bash
# Runs bottleneck with the arguments in ARGUMENTS, one a line, and adds its result as Markdown to
# GITHUB_STEP_SUMMARY. The exit status is that of bottleneck. If the machine was disturbed (3), it is
# 0 with a warning, unless UNMEASURABLE is fail.
set -uo pipefail
args=()
while IFS= read -r line; do
	[ -z "$line" ] || args+=("$line")
done <<<"$ARGUMENTS"
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
bottleneck "${args[0]}" -format md "${args[@]:1}" >>"$GITHUB_STEP_SUMMARY" 2>"$messages"
status=$?
cat "$messages" >&2
if [ -s "$messages" ]; then
	printf '\n```\n%s\n```\n' "$(cat "$messages")" >>"$GITHUB_STEP_SUMMARY"
fi
if [ "$status" = 3 ] && [ "${UNMEASURABLE:-warn}" != fail ]; then
	echo "::warning title=bottleneck::$(head -n 1 "$messages")"
	exit 0
fi
exit "$status"
