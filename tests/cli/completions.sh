# SPDX-License-Identifier: Apache-2.0
# completions.sh SLUICE FOLDER: each shell completes the commands of SLUICE and every option of its
# --help-all, using the scripts in FOLDER. zsh and fish are tested if they are installed.
. "$(dirname "$0")/lib.sh"
scripts=$2
PATH=$(dirname "$sluice"):$PATH
unset FPATH
mkdir home data data/folder
touch data/file.tar
export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home XDG_DATA_HOME=$PWD/home TERM=dumb LC_ALL=C.UTF-8

# For each shell, asks_SHELL LINE prints the completions of the last word of LINE, one per line. As
# in bash, _sluice is called with the words, = being a separate one. Files are left to bash.
# shellcheck disable=SC2016 # the inner bash's
asks_bash() {
    bash --norc -c '
        compopt() { :; }
        . "$1/sluice"
        line=${2//=/ = }
        read -r -a COMP_WORDS <<< "$line"
        [[ $line != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _sluice sluice "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$scripts" "$1"
}
asks_fish() {
    # shellcheck disable=SC2016 # fish's
    (cd data && fish --no-config -c 'source $argv[1]/sluice.fish; complete -C $argv[2]' "$scripts" "$1") |
        sed 's/\t.*//' | grep -vx -e '' -e -- || true
}
# Runs in a terminal of its own, where Tab prints the matches and ends the shell.
asks_zsh() { (cd data && zsh -f "$scratch/ask.zsh" "$scratch/prepare.zsh" "$scripts" "$1" | sort -u); }
cat > ask.zsh << 'ZSH'
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal "source ${(q)1} ${(q)2}"
zpty -r terminal text '*PREPARED*'
zpty -w -n terminal "$3"$'\t'
text=
while zpty -r terminal part; do text+=$part; done
for line in ${(f)text}; do
    [[ $line = *HIT:* ]] && print -r -- ${${line##*HIT:}%%$'\r'*}
done
ZSH
cat > prepare.zsh << 'ZSH'
PS1= PS2=
fpath=($1 $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
comppostfuncs=(exit)
compadd() {
    if [[ ${@[1,(i)(-|--)]} = *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a hits
    local hit
    builtin compadd -A hits "$@"
    for hit in $hits; do
        print
        print -r -- "HIT:$hit"
    done
    builtin compadd "$@"
}
print 'PREP''ARED'
ZSH

# offers SHELL LINE WORD ...: expects these words in any order. offers_files: expects the contents
# of `data`.
offers() {
    local shell=$1 line=$2
    shift 2
    "asks_$shell" "$line" | sort -u > out
    { [ $# -eq 0 ] || printf '%s\n' "$@"; } | sort -u > expected
    cmp -s out expected || { diff expected out > err; fail "$shell: '$line' offers something else"; }
}

run 0 --help
mapfile -t commands < <(sed -nE 's/^  ([a-z]+)  +.*/\1/p' out)
[ "${#commands[@]}" -ge 9 ] || fail "--help lists ${#commands[@]} commands"
options_of() { "$sluice" "$1" --help-all | sed -nE '/^Examples:/q; s/^ {2,6}(-., )?(--[a-z-]+).*/\2/p'; }

check() {
    local shell=$1 command
    offers "$shell" 'sluice p' pack
    for command in "${commands[@]}"; do
        mapfile -t options < <(options_of "$command")
        [ "${#options[@]}" -ge 3 ] || fail "$command has ${#options[@]} options"
        offers "$shell" "sluice $command --" "${options[@]}"
    done
    offers "$shell" 'sluice help ver' verify
    offers "$shell" 'sluice bench packed --dtype ' u8 f32 f16 bf16
    offers "$shell" 'sluice view --pipeline e' eval
    offers "$shell" 'sluice pack -z a' auto
    offers "$shell" 'sluice pack --tar'
}

# Each script has each option of a command once.
for command in "${commands[@]}"; do
    options_of "$command" | sort > expected
    sed -n "/^    $command)/,/esac/s/.*options=\"\(.*\)\"/\1/p" "$scripts/sluice" | tr ' ' '\n' | sort > out
    cmp -s out expected || fail "bash: options of $command"
    sed -nE "s/^complete .*'__sluice_command $command'( -s .)? -l ([a-z-]+) .*/--\2/p" "$scripts/sluice.fish" | sort > out
    cmp -s out expected || fail "fish: options of $command"
    sed -n "/^    $command)/,/ret=0/p" "$scripts/_sluice" | grep -oE -e "--[a-z-]+(=|\[|'\[|\}')" | grep -oE -e '--[a-z-]+' | sort > out
    cmp -s out expected || { diff out expected > err; fail "zsh: options of $command"; }
done

check bash
offers bash 'sluice ' "${commands[@]}" help --help --version
offers bash 'sluice bench --dtype=b' bf16
offers bash 'sluice bench --dtype=' u8 f32 f16 bf16
offers bash 'sluice bench -- --dt' # after --
offers bash 'sluice bench --batch '
offers bash 'sluice idle ' --
offers bash 'sluice idle --json -- sluic' sluice
offers bash 'sluice nonsense --'
shells=bash
if command -v fish > /dev/null; then
    check fish
    offers fish 'sluice pack ' file.tar folder/
    offers fish 'sluice bench --batch '
    offers fish 'sluice bench --rank-files ' folder/
    offers fish 'sluice idle -- sluic' sluice
    offers fish 'sluice devices '
    shells+=", fish"
fi
if command -v zsh > /dev/null; then
    check zsh
    shells+=", zsh"
fi
echo "completions: $shells"
