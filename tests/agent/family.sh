#!/bin/sh
# Ignores SIGTERM and starts: a child, a daemon in its own session, and a daemon without environment.
# Writes their process ids to `pids`, then does what the first argument says.
trap '' TERM
sleep 1000 & echo $! > pids.new
setsid sh -c 'trap "" TERM; echo $$ >> pids.new; sleep 1000 & touch marked; wait' &
env -i setsid sh -c 'echo $$ >> pids.new; touch bare; exec sleep 1000' &
while [ ! -e marked ] || [ ! -e bare ]; do sleep 0.02; done
echo $$ >> pids.new
mv pids.new pids
case "$1" in
    hang) while :; do sleep 1; done ;;
    end) echo done ;;
esac
