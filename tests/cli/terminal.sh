# SPDX-License-Identifier: Apache-2.0
# Text from data never reaches a terminal raw: names of files, classes and folders, and findings.
. "$(dirname "$0")/lib.sh"
need jq

esc=$(printf '\033')
c1=$(printf '\302\233') # U+009B: 8-bit CSI
class="evil$esc[2Jü$c1"
name="a
b$esc]0;x.JPEG"
run 0 synth photos --count 2 --classes 1
mkdir -p "data$esc[m/$class"
photo=$(find photos -name '*.JPEG' | sort | head -1)
cp "$photo" "data$esc[m/$class/$name"
echo "no picture" > "data$esc[m/$class/z${esc}c.JPEG"
printf 'x' > "$(printf 'data\033[m/evil\033[2J\303\274\302\233/raw\377.JPEG')"

# harmless: checks that `out` and `err` have no control characters except newlines, and only valid
# UTF-8.
harmless() {
    local file
    for file in out err; do
        ! tr -d '\n' < $file | LC_ALL=C grep -q '[[:cntrl:]]' || fail "$* wrote a control to $file"
        ! LC_ALL=C grep -q "$c1" $file || fail "$* wrote a C1 control to $file"
        iconv -f utf-8 -t utf-8 < $file > /dev/null 2>&1 || fail "$* wrote invalid UTF-8 to $file"
    done
}

run 0 info "data$esc[m"
harmless info
says out 'evil\x1b[2Jü\xc2\x9b'
run 0 info "data$esc[m" --sample 0
harmless info --sample
says out 'a\x0ab\x1b]0;x.JPEG'
run 0 info "data$esc[m" --sample 0 --json
harmless info --json
json '.class == "evil\u001b[2Jü\u009b" and (.key | endswith("a\nb\u001b]0;x.JPEG"))'
run 3 verify "data$esc[m"
harmless verify
says out 'z\x1bc.JPEG'
says out 'raw\xff.JPEG'
echo "no picture" > "data$esc[m/$class/y
sluice verify: all good.JPEG"
run 3 verify "data$esc[m"
says out 'y\x0asluice verify: all good.JPEG'
[ "$(wc -l < out)" -eq 4 ] || fail "a finding is a line"
run 3 verify "data$esc[m" --json
json '[.findings[].file | select(test("y\nsluice"))] | length == 1'
run 0 pack "data$esc[m" left-out --on-bad skip
[ "$(wc -l < left-out/rejected.tsv)" -eq 4 ] || fail "a rejected sample is a line"
rm "data$esc[m/$class/y
sluice verify: all good.JPEG"
run 3 verify "data$esc[m"
[ "$(wc -l < out)" -eq 3 ] || fail "a finding is a line"
run 3 verify "data$esc[m" --json
harmless verify --json
json '.findings | length == 2'
run 3 pack "data$esc[m" "out$esc[m"
harmless pack
run 0 pack "data$esc[m" "out$esc[m" --on-bad skip
harmless pack
says out 'out\x1b[m'
run 1 info "$esc[none"
harmless info
says err '\x1b[none'
run 2 bench x --dtype "$esc[31m"
harmless bench
run 0 view "data$esc[m" -o "s$esc.png" --size 32 --draws 1
harmless view

# Progress on a terminal: within its width, without escapes if TERM supports none.
python=/usr/bin/python3
[ -x "$python" ] || skip "$python is not installed"
cat > on_terminal.py <<'PY'
import fcntl, os, pty, struct, subprocess, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
tool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
shown = b""
try:
    while more := os.read(ours, 65536):
        shown += more
except OSError:
    pass  # the other end was closed
sys.stdout.buffer.write(shown)
sys.exit(tool.wait())
PY
TERM=xterm "$python" on_terminal.py 30 "$sluice" verify photos > out || fail "verify on a terminal"
says out "100% 2/2"
tr '\r' '\n' < out | sed "s/$esc\[K//" | while read -r line; do
    [ "${#line}" -lt 30 ] || fail "a line is wider than the terminal: $line"
done || exit 1
for term in dumb ''; do
    TERM=$term "$python" on_terminal.py 80 "$sluice" verify photos > out || fail "TERM=$term"
    ! grep -q "$esc" out || fail "escapes with TERM=$term"
done
