# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh: functions shared by the test servers' scripts. Each script is called as
#   NAME start DIR [FOLDER]   starts the server and writes DIR/address: one line, which is also printed
#   NAME stop DIR             ends its processes and removes DIR
# Servers listen on 127.0.0.1 only and need no root. They keep everything in DIR. WATCH_PID=N in the environment ends the
# server soon after process N ends, so an interrupted test run leaves none; WATCH_PID=parent watches the caller. If a package
# is missing, the exit status is 77 and DIR/absent has the reason.

skip() { # only from `start`, with DIR in $dir
    printf 'skipped: %s\n' "$*"
    # shellcheck disable=SC2154 # the caller's
    printf '%s\n' "$*" > "$dir/absent"
    exit 77
}

need() { # need COMMAND PACKAGE
    PATH=$PATH:/usr/sbin command -v "$1" > /dev/null || skip "$1 is not installed (package $2)"
}

free_ports() { # free_ports COUNT: prints the first of COUNT consecutive free ports, below the kernel's own range
    local try port at
    for try in $(seq 100); do
        port=$((15000 + RANDOM % 15000))
        for ((at = port; at < port + $1; at++)); do
            # A connection succeeds if the port is in use.
            ! (exec 3<> "/dev/tcp/127.0.0.1/$at") 2> /dev/null || continue 2
        done
        echo "$port"
        return
    done
    echo "there are no $1 free ports in a row, after $try tries" >&2
    return 1
}

worker_user() { # for nginx: started by root, its workers' user could not read the tests' folders
    [ "$(id -u)" -ne 0 ] || echo 'user root;'
}

await_port() { # await_port PORT: waits until a server listens, at most two minutes
    local try
    for try in $(seq 1200); do
        (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null && return
        sleep 0.1
    done
    echo "nobody listens on port $1 after $try tries" >&2
    return 1
}

failed() { # failed STATUS DIR: prints the start's output, returns its status; keeps DIR only for a reason
    tail -n 20 "$2/start.log"
    [ "$1" -eq 77 ] || stop_all "$2"
    exit "$1"
}

began() { # began DIR ADDRESS: the server answers
    printf '%s\n' "$2" > "$1/address.new"
    mv "$1/address.new" "$1/address"
    printf '%s\n' "$2"
    [ "${WATCH_PID-}" != parent ] || WATCH_PID=$PPID
    if [ -n "${WATCH_PID-}" ]; then
        (
            while kill -0 "$WATCH_PID" 2> /dev/null && [ -d "$1" ]; do sleep 2; done
            stop_all "$1"
        ) < /dev/null > /dev/null 2>&1 &
        disown
    fi
}

has_ended() { # has_ended PID: true even if its parent has not yet reaped it
    local state
    state=$(sed 's/.*) //' "/proc/$1/stat" 2> /dev/null) || return 0
    [ "${state:0:1}" = Z ]
}

stop_all() { # stop_all DIR: ends the processes of DIR/*.pid and DIR/*/*.pid
    local file pid try
    for file in "$1"/*.pid "$1"/*/*.pid; do
        [ -e "$file" ] || continue
        pid=$(cat "$file")
        kill "$pid" 2> /dev/null || continue
        for try in $(seq 100); do
            ! has_ended "$pid" || continue 2
            sleep 0.1
        done
        echo "process $pid has not ended after $try tries: killed" >&2
        kill -9 "$pid" 2> /dev/null
    done
    rm -rf "$1"
}
