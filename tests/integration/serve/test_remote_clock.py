#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The wall clocks of a daemon and an agent jump, by hours and by years, forwards and back: the connection stays, and what runs goes on. The clock is a library
that the dynamic loader puts into cay-front and cay-agent, in a mount namespace of this test (jump_clock.c).
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from daemon import Daemon, wait_for  # noqa: E402
from test_remote import is_sanitized, make, paired, wait_state  # noqa: E402

INSIDE = "CAY_TEST_CLOCK_INSIDE"
HOUR, YEAR = 3600, 365 * 24 * 3600
PRELOAD = "/etc/ld.so.preload"


def set_clock(folder, program, seconds):
    with open(os.path.join(folder, program), "r+b" if os.path.exists(os.path.join(folder, program)) else "wb") as f:
        f.write(struct.pack("<q", seconds))


def seconds_of(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def machine(d):
    return d.must(200, "GET", "/api/machines/laptop")


def test(folder):
    with Daemon("--agent-heartbeat", "300ms", "--health-interval", "300ms", "--health-misses", "10") as d:
        # Tokens end with their time, also when it comes back; keys do not.
        d.token = d.must(201, "POST", "/api/keys", {"owner": "default", "scope": "exec"}, token=False, unix=True)["key"]
        jump(d, folder)


def jump(d, folder):
    with paired(d) as agent:
        box = make(d)
        run_id = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "i=0; while read l; do i=$((i+1)); echo $i $l; done; echo over",
                                                                       "background": True, "open_stdin": True})["exec_id"]
        begun = seconds_of(machine(d)["seen_at"])
        steps = [("cay-agent", 10 * YEAR), ("cay-agent", -10 * YEAR), ("cay-agent", 0), ("cay-front", HOUR), ("cay-front", -HOUR), ("cay-front", -5 * YEAR),
                 ("cay-front", 2 * HOUR), ("cay-agent", HOUR), ("cay-front", 0)]
        front = 0
        for nr, (program, seconds) in enumerate(steps):
            set_clock(folder, program, seconds)
            front = seconds if program == "cay-front" else front
            # The daemon's own word for "now" has jumped; its silence and its patience are measured otherwise.
            wait_for("heartbeats", lambda: abs(seconds_of(machine(d)["seen_at"]) - front - begun) < HOUR / 2)
            m = machine(d)
            assert m["state"] == "ready" and 0 < m["latency_us"] < 30e6, m
            d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run_id}/input", f"{program}\n".encode())
            r = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": f"echo {nr}"})
            assert r["stdout"] == f"{nr}\n", r
            # Long enough for three heartbeats to be missed, if somebody thought so.
            seen = machine(d)["seen_at"]
            wait_for("more heartbeats", lambda: seconds_of(machine(d)["seen_at"]) > seconds_of(seen) + 1.2)
        assert agent.log().count("connected to") == 1 and "away" not in agent.log(), agent.log()
        d.must(200, "POST", f"/api/sandboxes/{box}/execs/{run_id}/input?eof=true", b"")
        wait_for("its end", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/execs/{run_id}")["status"].lower() != "running")
        lines = [json.loads(line) for line in d.ask("GET", f"/api/sandboxes/{box}/execs/{run_id}/output").body.splitlines()]
        text = "".join(e["text"] for e in lines if e["event"] == "stdout")
        assert text == "".join(f"{nr + 1} {program}\n" for nr, (program, _) in enumerate(steps)) + "over\n", text
        wait_state(d, "laptop", "ready")


def main():
    if is_sanitized():
        print("skipped: the sanitizers' runtime wants to be the first library")
        sys.exit(77)
    if os.environ.get(INSIDE) != "1":
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--", sys.executable, *sys.argv])
    folder = tempfile.mkdtemp(prefix="cay-clock-")
    os.chmod(folder, 0o755)
    try:
        library = os.path.join(folder, "jump_clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", f'-DJUMP_FOLDER="{folder}"', "-o", library,
                        os.path.join(HERE, "jump_clock.c")], check=True)
        for program in ("cay-front", "cay-agent"):
            set_clock(folder, program, 0)
        # The file is not there on most machines, so /etc is covered with a copy-on-write view of itself.
        for name in ("up", "work"):
            os.mkdir(os.path.join(folder, name))
        subprocess.run(["mount", "-t", "tmpfs", "etc", os.path.join(folder, "up")], check=True)
        for name in ("upper", "work"):
            os.mkdir(os.path.join(folder, "up", name))
        subprocess.run(["mount", "-t", "overlay", "etc", "-o", f"lowerdir=/etc,upperdir={folder}/up/upper,workdir={folder}/up/work", "/etc"], check=True)
        with open(PRELOAD, "w", encoding="utf-8") as f:
            f.write(library + "\n")
        test(folder)
    finally:
        subprocess.run(["umount", "/etc"], capture_output=True)
        subprocess.run(["umount", os.path.join(folder, "up")], capture_output=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
