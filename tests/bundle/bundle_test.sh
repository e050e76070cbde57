#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bundle_test.sh SOURCE BUILD FAKE CUPTI PROGRAM: makes the bundle, moves it, and runs gpu-check there in an empty
# environment: without a GPU, with a failing test, with the fake driver FAKE, with the fake CUPTI that PROGRAM describes, and
# stopped midway.
set -eu
source=$1 build=$2 fake=$3 cupti=$4 program=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    [ ! -s "$work/log" ] || tail -n 60 "$work/log"
    exit 1
}

[ ! -e /dev/nvidiactl ] || { echo "skipped: this machine has a GPU; run scripts/gpu-check"; exit 77; }
"$source/cmake/make-bundle" "$source" "$build" "$work/first" > "$work/log" 2>&1 || fail "make-bundle"
tar -C "$work" -xJf "$work/first.tar.xz" --transform 's/^first/second/'
rm -r "$work/first"
bundle=$work/second

# Only the C library comes from outside the bundle, and no other search path is used. ldd finds the same for all programs of a
# folder with the same libraries, so one of them is checked.
readelf -d "$bundle"/bin/* "$bundle"/tests/* "$bundle"/lib/* | awk -v OFS='|' '
    function end() { if (file != "") print file, paths, needs }
    /^File: / { end(); file = substr($0, 7); paths = needs = "" }
    /\((RPATH|RUNPATH)\)/ { paths = paths substr($NF, 2, length($NF) - 2) }
    /\(NEEDED\)/ { needs = needs $NF }
    END { end() }' > "$work/dynamic"
[ "$(wc -l < "$work/dynamic")" -eq "$(find "$bundle"/{bin,tests,lib} -type f | wc -l)" ] || fail "readelf does not know all files"
declare -A asked=()
while IFS='|' read -r file paths needs; do
    case $paths in
        '' | "\$ORIGIN/../lib") ;;
        *) fail "${file#"$bundle/"} looks for libraries in $paths" ;;
    esac
    [[ $file != */lib/* ]] || continue # the program's libraries meet its needs
    [ -z "${asked["${file%/*} $paths $needs"]-}" ] || continue
    asked["${file%/*} $paths $needs"]=1
    outside=$(env -i ldd "$file" | grep -vF "=> $bundle/" |
        grep -vE '^[[:space:]]*(linux-vdso|/?(lib|lib64)?/?[^ ]*ld-linux|lib(c|m|dl|pthread|rt)\.so)|statically linked' || true)
    [ -z "$outside" ] || fail "${file#"$bundle/"} needs $outside"
done < "$work/dynamic"

# If the kernel allows it, the folders that the bundle was built from are hidden.
hidden=(env -i)
# shellcheck disable=SC2016 # expanded inside
hide='mount -t tmpfs none "$1" && mount -t tmpfs none "$2" && shift 2 && exec env -i "$@"'
case $work in
    "$source"* | "$build"*) ;;
    *) ! unshare -rm true 2> /dev/null || hidden=(unshare -rm sh -c "$hide" sh "$build" "$source") ;;
esac

check() { # check CODE COMMAND_OPTION...: gpu-check's exit code
    local expected=$1 code=0
    shift
    rm -rf "$work/out"
    (cd / && "${hidden[@]}" "$@") > "$work/log" 2>&1 || code=$?
    [ "$code" -eq "$expected" ] || fail "gpu-check ended with $code, not $expected"
    read_out
}

read_out() { # the output: three files, all complete
    /usr/bin/python3 -m json.tool "$work/out/gpu-check.json" > "$work/json" || fail "no JSON"
    grep -q '^step ' "$work/out/gpu-check.txt" || fail "no table"
    tar -tzf "$work/out/gpu-check.logs.tar.gz" > "$work/files" || fail "no logs"
    grep -q '^gpu-check.logs/environment.log$' "$work/files" || fail "the log of a step is missing"
    [ "$(find "$work/out" -type f | wc -l)" -eq 3 ] || fail "not three files: $(ls "$work/out")"
}

row() { sed -n '/^step /,$p' "$work/log" | grep -E "^$1 +$2" > /dev/null || fail "no row '$1 ... $2' in the table"; }

# The tests have all run in the build folder, and the check above shows that each finds its libraries. So only every sixth
# test of each module runs here, starting with its first, and none of the longest. base_cpu_test always runs: it is broken
# below.
awk 'NR == FNR { if ($1 ~ /^[0-9]/) longest[$2] = 1; next }
    !($1 in longest) { split($1, part, "_"); if (seen[part[1]]++ % 6 == 0 || $1 == "base_cpu_test") print }' \
    "$source/tests/costs.txt" "$bundle/tests.list" > "$work/list"
[ "$(grep -c ' quick$' "$work/list")" -ge 4 ] || fail "too few of its tests are run: $(cat "$work/list")"
cp "$work/list" "$bundle/tests.list"
check 77 "$bundle/scripts/gpu-check" --smoke --out "$work/out"
for step in convert order faults loader pinning copies calls overlap graphs idle training waits python trainers sanitizer; do
    row "$step" 'skip .*skip: .*CUDA'
done
for step in environment tests dataset; do row "$step" pass; done
grep -q '^step ' <(tail -n 20 "$work/log") || fail "the table is not last"

# A failure is reported, with the tests of a module that have passed.
grep '^base_' "$bundle/tests.list" > "$work/list"
cp "$work/list" "$bundle/tests.list"
printf '#!/bin/sh\necho "[  ERROR   ] on purpose"\nexit 1\n' > "$bundle/tests/base_cpu_test"
check 1 "$bundle/scripts/gpu-check" --smoke --only environment,tests --out "$work/out"
row tests 'fail .*base_cpu_test ended with 1: .*on purpose'
grep -q '"failed": 1' "$work/json" || fail "the JSON does not count the failure"

# With a fake driver. It interprets kernels, which takes minutes for a training loop: example_cuda_training covers graphs.
mkdir "$work/driver"
cp "$fake" "$work/driver/libcuda.so.1"
check 0 "LD_LIBRARY_PATH=$work/driver" "$bundle/scripts/gpu-check" --smoke --out "$work/out" \
    --only environment,convert,order,faults,loader,pinning,copies,calls
for step in device order faults loader pinning copies calls; do row "$step" pass; done
with_kernels=pass
! grep -q 'built without its CUDA kernels' "$work/log" || with_kernels='skip .*this build has no kernels'
row convert "$with_kernels"
grep -q '"order_wrong_when_broken"' "$work/json" || fail "the JSON has no figures"
sed -n '/^step /,$p' "$work/log" > "$work/table"

# The wheel, tested with the fake driver through ctypes; Debian's torch has no CUDA.
check 0 "LD_LIBRARY_PATH=$work/driver" "$bundle/scripts/gpu-check" --smoke --only environment,training,python \
    --out "$work/out"
with_python='pass .*passed'
if [ ! -e "$build/wheel/_sluice.abi3.so" ] || ! /usr/bin/python3 -c 'import numpy, pytest, PIL'; then with_python=skip; fi
row python "$with_python"
row training 'skip .*torch'

# Idle time of a program that knows how fast it is fed and trains, traced by a fake.
mkdir -p "$bundle/cupti"
cp "$cupti" "$bundle/cupti/libcupti.so.13"
cp "$program" "$bundle/bin/injected_program"
cat > "$bundle/bin/cuda_training" << 'TEXT'
#!/bin/sh
case " $* " in *" --repeat 1000 "*) speed=700 ;; *) speed=9000 ;; esac
echo "epoch 0: 16 batches of 64, $speed images/s"
[ -z "$CUDA_INJECTION64_PATH" ] || exec "${0%/*}/injected_program" cuda marks steps=60
TEXT
check 0 "LD_LIBRARY_PATH=$work/driver" "$bundle/scripts/gpu-check" --smoke --only environment,idle --out "$work/out"
row idle 'pass .*compute-idle 40 %, data-caused 30 %, .*--repeat 155 '
check 0 "LD_LIBRARY_PATH=$work/driver" "SLUICE_CUPTI=$bundle/cupti/libcupti.so.13" \
    FAKE_CUPTI_FAIL=enable_kernel=35 "$bundle/scripts/gpu-check" \
    --smoke --only environment,idle --out "$work/out"
row idle 'skip .*INSUFFICIENT_PRIVILEGES'

# Stopped in the middle of a step: the earlier results, which a killed run leaves as well, and the new ones.
printf '#!/bin/sh\nexec sleep 600\n' > "$bundle/tests/base_cpu_test"
rm -rf "$work/out"
env -i "$bundle/scripts/gpu-check" --smoke --only environment,tests --out "$work/out" > "$work/log" 2>&1 &
run=$!
for _ in $(seq 3000); do
    ! grep -q '"running": "tests"' "$work/out/gpu-check.json" 2> /dev/null || break
    sleep 0.1
done
read_out
grep -q '"name": "environment"' "$work/json" || fail "the JSON does not have the step before"
code=0
kill "$run"
wait "$run" || code=$?
[ "$code" -eq 143 ] || fail "stopped, gpu-check ended with $code"
read_out
grep -q '"running": "tests"' "$work/json" || fail "the JSON does not say where it was stopped"
cat "$work/table"
