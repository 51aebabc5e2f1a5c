#!/usr/bin/env bash
# Kate's own debug client under a virtual screen: start, breakpoint by keyboard, continue, step, end.
#
# Environment: PYTHON, EXPECTED (output of ../sample.py), SHOTS, TRANSCRIPT.
# Debian: kate xvfb xdotool imagemagick dbus.
set -euo pipefail
field() { "$PYTHON" -c "import json,sys; value = json.load(open('$EXPECTED'))
for name in sys.argv[1:]: value = value[name]
print(value)" "$@"; }
directory=$(field directory)
mlir=$(field mlir)
line=$(field lines pool)
work=$(mktemp -d)
mkdir -p "$work/home/.config/kate/gdbplugin" "$work/home/.local/share/kate" "$work/run"
chmod 700 "$work/run"
cat > "$work/home/.config/kate/gdbplugin/dap.json" << END
{"dap": {"a-tdb": {"url": "tdb",
  "run": {"command": ["$PYTHON", "-m", "tdb_dap.adapter", "--log", "$TRANSCRIPT"], "supportsSourceRequest": true},
  "configurations": {"launch": {"request": {"command": "launch", "program": "$directory"}}}}}}
END
printf '[Kate Plugins]\nkategdbplugin=true\nkateprojectplugin=false\nlspclientplugin=false\n' \
  > "$work/home/.local/share/kate/anonymous.katesession"
export HOME="$work/home" XDG_RUNTIME_DIR="$work/run"
# The server picks a free display and says which.
Xvfb -displayfd 3 -screen 0 1500x950x24 3> "$work/display" 2> "$work/xvfb.log" &
screen=$!
for _ in $(seq 20); do [ -s "$work/display" ] && break; sleep 0.5; done
DISPLAY=:$(cat "$work/display")
export DISPLAY
setsid dbus-run-session -- kate --startanon -n "$mlir" > "$work/kate.log" 2>&1 &
kate=$!
leave() {
  local code=$?
  kill -- -$kate 2> /dev/null || kill $kate 2> /dev/null
  kill $screen
  wait
  rm -rf "$work" || { sleep 1; rm -rf "$work"; }
  exit $code
}
trap leave EXIT
window=
for _ in $(seq 30); do
  window=$(xdotool search --onlyvisible --name final.mlir 2> /dev/null | tail -1) && [ -n "$window" ] && break
  sleep 1
done
[ -n "$window" ] || { echo 'Kate does not start'; exit 1; }
sleep 2
xdotool windowsize "$window" 1500 950 windowmove "$window" 0 0
sleep 1
shot() { import -window root "$SHOTS/kate-$1.png"; }
click() { xdotool mousemove "$1" "$2" click 1; sleep 0.8; }
said() { # the adapter has said this by now
  for _ in $(seq 20); do grep -q "$1" "$TRANSCRIPT" 2> /dev/null && return; sleep 0.5; done
  shot failed
  echo "the transcript lacks $1"
  return 1
}
click 207 938 # the tool view "Debug"
click 172 742 # its settings
click 153 768 # the list of profiles: ours is the first behind GDB's
xdotool key Down Return
sleep 0.8
shot profile
click 400 201 # into the text
xdotool key ctrl+F7 # start; Kate waits before configurationDone
said '"event": "initialized"'
xdotool key ctrl+g
sleep 0.8
xdotool type "$line"
xdotool key Return
sleep 0.8
xdotool key shift+F11 # toggle a breakpoint
said "\"verified\": true.*\"line\": $line\\|\"line\": $line.*\"verified\": true"
click 913 38 # continue: now it is configured, and stops at the entry
said '"reason": "entry"'
sleep 1
click 913 38
said '"reason": "breakpoint"'
sleep 1
shot breakpoint
xdotool key F9 # step over
said '"reason": "step"'
sleep 1
shot step
xdotool key alt+F7
sleep 1
