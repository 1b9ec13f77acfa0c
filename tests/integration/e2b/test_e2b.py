#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stock clients of E2B (npm e2b, @e2b/code-interpreter) against a daemon. test_e2b.py [SCRIPT…] runs some of the scripts
beside this file, each in its own node."""
import glob
import json
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from daemon import CAY, Daemon  # noqa: E402

PACKAGES = os.path.join(os.environ["CAY_SOURCE_DIR"], "build", "npm", "e2b")


def make_key(d, *flags):
    made = subprocess.run([CAY, "key", "make", "tester", "--form", "e2b", "--json", "--url", f"unix:{d.socket}", *flags],
                          check=True, env=d.environment(), capture_output=True, text=True, timeout=60)
    return json.loads(made.stdout)["key"]


def client_env(d, key, **more):
    # A stock client's own variables; nothing else is different.
    url = f"http://127.0.0.1:{d.port}"
    env = {"PATH": os.environ["PATH"], "HOME": d.folder, "NODE_PATH": os.path.join(PACKAGES, "node_modules"),
           "E2B_API_KEY": key, "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_VOLUME_API_URL": url}
    env.update(more)
    return env


def run_script(d, name, key, **more):
    done = subprocess.run(["node", os.path.join(HERE, name)], env=client_env(d, key, **more), capture_output=True, text=True,
                          timeout=600)
    print(done.stdout, end="")
    assert done.returncode == 0, f"{name}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"


def restart_front(d, key):
    client = subprocess.Popen(["node", os.path.join(HERE, "front_restart.cjs")], env=client_env(d, key), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    said = client.stdout.readline()
    assert said == "running\n", said + client.stdout.read()
    os.kill(d.child("cay-front"), signal.SIGKILL)
    rest = client.stdout.read()
    print(rest, end="")
    assert client.wait(120) == 0, rest


def main():
    if not os.path.isdir(os.path.join(PACKAGES, "node_modules", "e2b")):
        print("skipped: the packages of tests/integration/e2b are not in build/npm/e2b (scripts/bootstrap check)")
        sys.exit(77)
    if sys.argv[1:] == ["front_restart.cjs"]:
        with Daemon() as d:
            restart_front(d, make_key(d))
        return
    if sys.argv[1:] == ["network.cjs"]:
        with Daemon("--e2b-network", "bridge") as d:
            run_script(d, "network.cjs", make_key(d))
        return
    scripts = sys.argv[1:] or sorted(os.path.basename(p) for p in glob.glob(os.path.join(HERE, "sdk_*.cjs")))
    with Daemon("--max-sandboxes", "120") as d:
        key = make_key(d)
        for name in scripts:
            run_script(d, name, key)
        if not sys.argv[1:]:
            restart_front(d, key)
        left = d.must(200, "GET", "/api/sandboxes", token=d.make_token("--scope", "admin"))["sandboxes"]
        assert left == [], left
    if not sys.argv[1:]:
        with Daemon("--e2b-public-ports", "--e2b-network", "bridge", "--max-sandboxes", "60") as d:
            run_script(d, "sdk_ports.cjs", make_key(d), PORTS_ARE_PUBLIC="yes")
            run_script(d, "network.cjs", make_key(d))


if __name__ == "__main__":
    main()
