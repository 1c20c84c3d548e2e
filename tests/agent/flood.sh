#!/bin/sh
# Writes 200 MB to its output, as much to its error output when asked to, then a result.
head -c 200000000 /dev/zero | tr '\0' 'x'
echo
[ "$1" = both ] && head -c 200000000 /dev/zero | tr '\0' 'y' >&2
echo '{"type":"result","text":"still here"}'
