#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_test.sh ROOT: tests what scripts/test considers changed, how it ends, and when it fails. Builds, tests and style checks
# are fakes that print texts defined here. Exit 77: no git.
set -eu -o pipefail
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset CI SLUICE_TEST_BUDGET_S # from the run of this test
export SLUICE_TEST_AARCH64=0
command -v git > /dev/null || { echo "skipped: git is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/tests/tidy" "$tree/src/columns" "$tree/src/plan" "$tree/docs" "$work/bin"
cp -r "$1/scripts" "$tree/scripts"
cp "$1/tests/tidy/style.py" "$tree/tests/tidy/"
printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nexit 0\n' > "$tree/tests/tidy/option_names.py"
chmod +x "$tree/tests/tidy/option_names.py"
# shellcheck disable=SC2016 # the fake's
printf '#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\necho "test-aarch64 $*" >> "%s/called"\necho "said by test-aarch64"\nexit "$(cat "%s/cross")"\n' "$work" "$work" > "$tree/scripts/test-aarch64"
echo 0 > "$work/cross"
printf 'build/\n' > "$tree/.gitignore"

fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}
says() { grep -qF -e "$1" "$work/out" || fail "'$1' is missing in the output"; }
fake() { # fake NAME SCRIPT: run instead; `called` has the arguments
    printf '#!/bin/bash\necho "%s $*" >> "%s/called"\n%s\n' "$1" "$work" "$2" > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}
# shellcheck disable=SC2016 # the fakes'
{
    fake dpkg 'echo amd64'
    fake dpkg-query 'for name; do echo "$name amd64 installed"; done'
    fake cmake 'case $1 in --version) echo "cmake version 3.25.1" ;; --preset)
        mkdir -p "build/$2/tests/unit"
        cd "build/$2" || exit
        for module in columns plan; do
            echo "add_test([=[${module}_test]=] \"$PWD/tests/unit/${module}_test\")"
        done | { echo "# Source directory: '"$tree"'/tests/unit"; cat; } > tests/unit/CTestTestfile.cmake ;;
        esac'
    fake gcc 'cp /bin/true "$3"'
    fake ninja 'echo "tests/unit/columns_test: C_EXECUTABLE_LINKER__columns_test_Debug"'
    fake ctest '[ ! -e "'"$work"'/log" ] || { mkdir -p "$2/Testing/Temporary"; cp "'"$work"'/log" "$2/Testing/Temporary/LastTest.log"; }
        for try in {1..1200}; do # while this runs, that one is called
            [ -e "'"$work"'/until" ] && ! grep -qf "'"$work"'/until" "'"$work"'/called" || break
            [ "$try" -lt 1200 ] || exit 1
            sleep 0.1
        done
        cat "'"$work"'/tests"; sleep "$(cat "'"$work"'/seconds")"; exit "$(cat "'"$work"'/status")"'
    fake clang-format-14 'exit 0'
    fake clang-tidy-14 'case $* in *bad.c) echo "bad.c:1: warning: bad"; exit 1 ;; esac'
}
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    printf '%2d/13 Test %4s: part_%s_test ..........   Passed   %2d.50 sec\n' "$number" "#$number" "$number" "$number"
done > "$work/tests"
printf '%s\n' '13/13 Test #113: long_test .......***Failed  104.00 sec' '100% tests passed, 0 tests failed out of 13' >> "$work/tests"
echo 0 > "$work/seconds"
echo 0 > "$work/status"

try() { # try STATUS ARGUMENT...
    local wanted=$1 got=0
    shift
    : > "$work/called"
    PATH=$work/bin:$PATH "$tree/scripts/test" "$@" > "$work/out" 2>&1 || got=$?
    [ "$got" -eq "$wanted" ] || fail "scripts/test $* ended with $got instead of $wanted"
}
ran() { grep -qF -e "$1" "$work/called" || { cat "$work/called"; fail "'$1' was not run"; }; }
ran_no() { ! grep -qE -e "$1" "$work/called" || { cat "$work/called"; fail "'$1' was run"; }; }
in_git() { git -C "$tree" -c user.name=a -c user.email=a@b "$@"; }
longest() { sed -n '/^longest:/,/^[^ l]/s/^ *\([0-9.]*\) s  \(.*\)/\1 \2/p' "$work/out"; }
says_not() { ! grep -qF -e "$1" "$work/out" || fail "'$1' is in the output"; }

# All presets: lists the ten longest tests, and has no time budget by hand.
CI='' SLUICE_TEST_BUDGET_S=1 try 0 --preset release --preset debug
[ "$(longest | wc -l)" -eq 10 ] || fail "these are not ten"
ran '--no-tests=error -LE' # ctest runs no test with -R ''
ran_no '-R ( |$)'
[ "$(longest | head -n 3 | tr '\n' ',')" = "104.0 long_test (release),104.0 long_test (debug),12.5 part_12_test (release)," ] || fail "these are not the longest"
CI=true SLUICE_TEST_BUDGET_S=3000 try 0
CI=true SLUICE_TEST_BUDGET_S=soon try 1
says "'soon' is not a number of seconds"
echo 0.6 > "$work/seconds" # four presets, so more than two seconds
CI=true SLUICE_TEST_BUDGET_S=1 try 0
says " s of 1 s (SLUICE_TEST_BUDGET_S)"
CI='' SLUICE_TEST_BUDGET_S=1 try 0
says_not "OVER BUDGET"
echo 1.2 > "$work/seconds"
CI=true SLUICE_TEST_BUDGET_S=1 try 0 --preset release --preset debug
says_not "OVER BUDGET"
CI=true SLUICE_TEST_BUDGET_S=0 try 0 -R part --preset release
ran '-LE tidy|fuzz|group$'
echo 0 > "$work/seconds"

# A sanitizer's preset builds what its tests need, and the first tests run while everything is built.
rm -rf "$tree/build"
echo 'cmake --build --preset tsan' > "$work/until"
try 0
rm "$work/until"
ran "cmake --build --preset asan -j $(nproc) --target tests/unit/columns_test"
ran "cmake --build --preset release -j $(nproc)"
ran_no 'preset release .*--target'
ran 'ctest --test-dir build/asan --output-on-failure -j '
ran "-LE tidy|unsanitized|grouped"
ran "-LE tidy|fuzz|grouped"
ran_no 'SLUICE_UNITY=[1-9]|IMAGES=/'
# TSan's tests run beside others.
echo 'ctest --test-dir build/tsan' > "$work/until"
try 0
CI=true try 0
rm "$work/until"
grep -n '^ctest' "$work/called" | tail -n 1 | grep -q 'build/release .*-L tidy' || fail "style is not the last"
echo 1 > "$work/status"
try 1
says "FAILED: release, asan, tidy, tsan ("
echo 0 > "$work/status"
try 1 --preset nothing

# CI compiles once: several files as one, and no CUDA kernels that release already has.
CI=true try 0
ran "cmake --preset asan -DSLUICE_BUILD_TESTS=ON -DSLUICE_BUILD_BENCH=OFF -DSLUICE_UNITY=16 -DSLUICE_CUDA_IMAGES=$tree/build/release "
ran "cmake --preset release -DSLUICE_BUILD_TESTS=ON -DSLUICE_BUILD_BENCH=ON -DSLUICE_UNITY=0 -DSLUICE_CUDA_IMAGES= "
ran_no aarch64
# CI also builds for AArch64, beside the first tests; if that is not possible, the reason comes last.
SLUICE_TEST_AARCH64=1
CI=true try 0
ran 'test-aarch64 --quick --build-only'
ran "ctest --test-dir build/aarch64/build-quick --output-on-failure -j $((2 * $(nproc))) --no-tests=error -R ^("
try 0
ran_no aarch64
echo 77 > "$work/cross"
CI=true try 0
says "said by test-aarch64"
says "aarch64: it was not built, see above"
ran_no 'ctest .*aarch64'
echo 1 > "$work/cross"
CI=true try 1
says "FAILED: aarch64 (build) ("
echo 0 > "$work/cross"
CI=true SLUICE_TEST_BUDGET_S=0 try 0
says "aarch64 is left out: "
ran_no 'ctest .*aarch64'
CI=true try 0 -R part
ran_no aarch64
SLUICE_TEST_AARCH64=0
try 1 --preset aarch64 -R part
says "--preset aarch64 takes no -R"
CI=true try 0 --preset tsan --preset release
ran "-DSLUICE_UNITY=16 -DSLUICE_CUDA_IMAGES= "

# Files of one test have separate lines, and a crashing one is named.
printf '%s\n' 'python_tar: passed in 55.25 s' 'python_mds: ended by SIGABRT in 3.00 s' > "$work/log"
try 1 --preset asan
says "python_mds ended by SIGABRT"
longest | grep -qx '55.2 python_tar (asan)' || longest | grep -qx '55.3 python_tar (asan)' || fail "python_tar is not among the longest"
rm -r "$work/log" "$tree/build"

# The times of the longest tests, for ctest in a fresh clone.
echo '# seconds' > "$tree/tests/costs.txt"
SLUICE_WRITE_COSTS=1 try 0 --preset release --preset debug
[ "$(head -n 3 "$tree/tests/costs.txt" | tr '\n' ',')" = "# seconds,104 long_test,12 part_12_test," ] ||
    { cat "$tree/tests/costs.txt"; fail "the costs"; }

# Changed files: those that differ from HEAD, including new ones; otherwise everything since main.
in_git init -q -b main
for file in src/columns/boxes.c src/plan/plan.c docs/page.md; do printf '/* SPDX-License-Identifier: Apache-2.0 */\n' > "$tree/$file"; done
for module in columns plan; do printf 'sluice_module(%s SOURCES boxes.c plan.c bad.c)\n' $module > "$tree/src/$module/CMakeLists.txt"; done
printf '/* boxes: all. */\n' >> "$tree/src/columns/boxes.c"
printf '/* plan: all. */\n' >> "$tree/src/plan/plan.c"
in_git add -A
in_git commit -q -m one
try 0 --changed
says "Nothing has changed since"
ran_no ctest
printf '/* more */\n' >> "$tree/src/columns/boxes.c"
rm -f "$tree/build/asan/CMakeCache.txt"
try 0 --changed
ran -DSLUICE_WERROR=OFF
touch "$tree/build/asan/CMakeCache.txt"
try 0 --changed
ran_no WERROR
says "1 changed since HEAD"
says "  src/columns: 1 test (asan)"
says "left out (scripts/test runs everything):"
ran "cmake --build --preset asan"
# shellcheck disable=SC2016 # ctest's
ran 'ctest --test-dir build/asan --output-on-failure -j '
ran "-R ^(columns_test)\$"
ran "clang-format-14 --dry-run -Werror src/columns/boxes.c"
ran "clang-tidy-14 -p build/asan --quiet src/columns/boxes.c"
ran_no 'preset release|plan'
[ "$(longest | wc -l)" -eq 10 ] || fail "these are not ten"
in_git commit -qam two
try 0 --changed
says "Nothing has changed since"
in_git checkout -q -b branch HEAD
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* bad: all. */\n' > "$tree/src/plan/bad.c"
try 1 --changed
says "FAILED: clang-tidy ("
says "bad.c:1: warning: bad"
ran "-R ^(plan_test)\$"
in_git add -A
in_git commit -q -m three
try 1 --changed
says "1 changed since"
ran "-R ^(plan_test)\$"
try 1 --changed HEAD~2
ran "-R ^(columns_test|plan_test)\$"
try 1 --changed HEAD~2 -R plan
ran "-R ^(plan_test)\$"
in_git checkout -q main # commits that only main has do not count as changes
printf '/* more */\n' >> "$tree/src/columns/boxes.c"
in_git commit -q -am four
in_git checkout -q branch
try 1 --changed main
ran "-R ^(plan_test)\$"
in_git branch -q -D main
try 1 --changed
says "there is no branch main to compare with: write --changed REF"
try 1 --changed nowhere
says "'nowhere' is not a commit"
try 1 --changed --quick
says "leave out --quick and --preset"

# A failing test, and a style error.
in_git checkout -q HEAD~1
printf '/* more */\n' >> "$tree/src/columns/boxes.c"
echo 8 > "$work/status"
try 1 --changed
says "FAILED: asan ("
echo 0 > "$work/status"
printf 'blank \n' >> "$tree/docs/page.md"
try 1 --changed
says "docs/page.md:2: [blank]"
says "FAILED: style.py ("
says "docs/page.md: no test is known to be about it"
echo "scripts/test: ends as it should"
