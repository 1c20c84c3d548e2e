#!/bin/sh
# Ends at once and leaves a child that holds its output open.
sleep 1000 &
echo '{"result":"done"}'
