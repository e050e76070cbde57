# SPDX-License-Identifier: Apache-2.0
# man.sh SLUICE [FOLDER]: checks that each command has a man page in FOLDER with the text of its
# --help-all.
. "$(dirname "$0")/lib.sh"
need groff
pages=$2

# render NAME: prints the page as text, with one blank between words and each preformatted line
# unchanged.
render() {
    groff -man -ww -Tascii -P-cbou -rLL=400n -rHY=0 "$pages/$1.1" > text 2> err ||
        fail "groff cannot read $1.1"
    [ ! -s err ] || fail "groff warns of $1.1"
    tr -s ' ' < text > page
    # The page's entry for apropos.
    ! command -v lexgrog > /dev/null || lexgrog "$pages/$1.1" | grep -qF ": \"$1 - " || fail "lexgrog: $1.1 has no name"
}

# heads FILE LINE: FILE has a line that is exactly LINE.
heads() { grep -qxF -e "$2" "$1" || fail "$pages/$name.1: no line '$2'"; }

run 0 --help
mapfile -t commands < <(sed -nE 's/^  ([a-z]+)  +.*/\1/p' out)
[ "${#commands[@]}" -ge 8 ] || fail "--help lists ${#commands[@]} commands"
[ "$(find "$pages" -name '*.1' | wc -l)" -eq $((${#commands[@]} + 1)) ] || fail "not a page for each command"

name=sluice
render sluice
says page " sluice COMMAND [OPTION ...] [ARGUMENT ...]"
for command in "${commands[@]}"; do
    grep -qE "sluice-$command\(1\)" page || fail "sluice.1 does not lead to sluice-$command"
done

for command in "${commands[@]}"; do
    name=sluice-$command
    render "$name"
    run 0 "$command" --help-all
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'SEE ALSO'; do heads page "$section"; done
    says page " sluice(1)"
    says page " $name - "
    ! grep -q 'sage:' page || fail "$name.1: the usage is not turned into a synopsis"
    while IFS= read -r usage; do
        heads page " $usage"
    done < <(sed -nE 's/^(Usage|  or):  ?(.*)/\2/p' out)

    # Options: a line that begins with an option in the help is a tag in the page, once; groups are
    # subsections.
    sed '/^Examples:/,$d' out | sed -nE 's/^ {2,6}(-[a-z], )?(--[a-z-]+) ?([^ ]*).*/\1\2 \3/p' | sed 's/ $//' > options
    [ "$(wc -l < options)" -ge 3 ] || fail "$command --help-all has no options"
    sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$pages/$name.1" | sed -E 's/\\(f.|:)//g; s/\\-/-/g' > tags
    grep -A 1 -xF '.TP' tags | grep -E '^--?[a-z]' > found
    cmp -s options found || { diff options found > err; fail "$name.1 has other options than $command --help-all"; }
    sed -nE '/^Examples:/q; s/^([A-Z][A-Za-z ]*):$/\1/p' out | grep -vx Options > groups
    sed -nE 's/^\.SS "(.*)"/\1/p' tags > found
    cmp -s groups found || { diff groups found > err; fail "$name.1 has other sub-sections than $command --help-all"; }

    sed '1,/^Examples:/d; s/^ *//' out > examples
    while IFS= read -r example; do heads page " $example"; done < examples
done

# The same input gives the same bytes at any time, and no build folder is named.
SOURCE_DATE_EPOCH=1000000000 "$(dirname "$0")/../../cmake/make-man" "$sluice" first 2> err || fail "make-man"
mkdir elsewhere
cp "$sluice" elsewhere/sluice
SOURCE_DATE_EPOCH=1000000000 "$(dirname "$0")/../../cmake/make-man" elsewhere/sluice second 2> err || fail "make-man"
diff -r first second > out || fail "two runs of make-man differ"
says first/sluice.1 '"September 2001"'
echo "man: ${#commands[@]} commands"
