#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_trace.py FILE ARM ...: checks that a trace of `sluice bench --trace` is consistent.

Every event has its fields, no duration is negative, events of a track are nested or disjoint,
asynchronous ones come in pairs, every sample is decoded while its batch is being filled, and a
batch is worked on only while its slot holds it.
"""
import collections
import json
import sys

SLACK_US = 0.002  # the file has three decimals


def fail(message):
    sys.exit(f"{sys.argv[1]}: {message}")


def check_fields(events):
    for event in events:
        for key in ("ph", "name", "pid", "tid"):
            if key not in event:
                fail(f"an event without {key}: {event}")
        if event["ph"] not in "XbeM":
            fail(f"an unknown phase: {event}")
        if event["ph"] != "M" and event["ts"] < 0:
            fail(f"before the beginning: {event}")
        if event["ph"] == "X" and event["dur"] < 0:
            fail(f"a negative duration: {event}")


def check_nesting(events):
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for track in tracks.values():
        track.sort(key=lambda event: (event["ts"], -event["dur"]))
        open_ends = []
        for event in track:
            end = event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= event["ts"] + SLACK_US:
                open_ends.pop()
            if open_ends and end > open_ends[-1] + SLACK_US:
                fail(f"neither inside nor apart: {event}")
            open_ends.append(end)
    return tracks


def check_pairs(events):
    pending = {}
    for event in events:
        key = event.get("id"), event["pid"]
        if event["ph"] == "b":
            pending[key] = event
        elif event["ph"] == "e" and pending.pop(key, {"ts": 1e18})["ts"] > event["ts"]:
            fail(f"an end without a beginning: {event}")
    if pending:
        fail(f"{len(pending)} beginnings without an end")


def check_arm(arm, processes, events):
    def of(group, name):
        pid = processes.get(f"{arm}: {group}")
        return [event for event in events if event["pid"] == pid and event["name"] == name]

    lives = {name: {event["args"]["batch"]: event for event in of("slots", name)}
             for name in ("batch", "fill")}
    decoded = of("threads", "decode") + of("threads", "augment")
    if arm != "resident" and not decoded:
        fail(f"{arm}: nothing was decoded")
    for event in decoded:
        batch = event["args"]["batch"]
        for name, slots in lives.items():
            life = slots.get(batch)
            if life is None:
                fail(f"{arm}: no {name} of batch {batch}")
            if (event["ts"] < life["ts"] - SLACK_US or
                    event["ts"] + event["dur"] > life["ts"] + life["dur"] + SLACK_US):
                fail(f"{arm}: {event} is outside of {life}")
    steps = of("steps", "step")
    if arm != "delivery" and len(steps) < 8:
        fail(f"{arm}: {len(steps)} steps")
    if arm == "sluice":
        held = {event["args"]["batch"]: event for event in of("slots", "held")}
        missing = [step for step in steps if step["args"]["step"] not in held]
        if missing:
            fail(f"{arm}: steps without their batch: {missing[:3]}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    check_fields(events)
    check_nesting(events)
    check_pairs(events)
    processes = {event["args"]["name"]: event["pid"] for event in events
                 if event["name"] == "process_name"}
    for arm in sys.argv[2:]:
        check_arm(arm, processes, events)
    if trace["otherData"]["events_lost"] != 0:
        fail("events were lost")
    print(f"{sys.argv[1]}: {len(events)} events")


if __name__ == "__main__":
    main()
