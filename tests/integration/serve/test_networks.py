#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of a daemon's sandboxes: rules hold, and hold again after the death of the front and of cay-net, and after a stop. Servers
listen on an address of this test's own network namespace; nothing leaves it. test_networks.py [NAME…] runs some of them."""
import ctypes
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, Daemon, is_alive, wait_for  # noqa: E402
from mcp_session import Session  # noqa: E402
from registry_file import Registry  # noqa: E402
from test_front import USER, Wrapped, status_of  # noqa: E402

HOST = "203.0.113.9"
CLONE_NEWNET = 0x40000000

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except OSError as e:
        print(type(getattr(e, 'reason', e)).__name__)
"""

TEMPLATES = """
containers:
  listed:
    host: true
    security:
      network:
        allow: [a.example, "*.b.example:443"]
        limits: {up: 1m}
  out:
    host: true
    security: {network_mode: bridge}
  shut:
    host: true
  team:
    host: true
    security: {network: {private: true}}
  mixed:
    host: true
    security: {network: {allow: [a.example, b.example], private: true}}
"""


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"x" * (1 << 20) if self.path == "/big" else b"from the host"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def own_network():
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        print("needs root, for a network of its own")
        sys.exit(77)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{HOST}/32", "dev", "lo"], check=True)


def serve():
    server = http.server.ThreadingHTTPServer((HOST, 0), Answer)
    server.handle_error = lambda *_: None  # connections are reset here on purpose
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def admin(d):
    return d.make_token("--scope", "admin")


def make(d, status=201, **fields):
    got = d.must(status, "POST", "/api/sandboxes", {"limits": {"memory": "128m"}, **fields}, token=admin(d))
    return got["sandbox_id"] if status == 201 else got


def fetch(d, box, port):
    return d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/"])["stdout"].strip()


def rules_hold(port):
    other = serve()
    with Daemon() as d:
        box = make(d, allow=[f"{HOST}:{port}"])
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["network"] == "list"
        assert fetch(d, box, port) == "from the host"
        assert fetch(d, box, other) != "from the host"
        log = d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]
        told = [(e["verdict"], e["address"], e["port"]) for e in log]
        assert ("allowed", HOST, port) in told and ("refused", HOST, other) in told, log
        assert [e["number"] for e in log] == list(range(1, len(log) + 1)), log
        one = d.must(200, "GET", f"/api/sandboxes/{box}/network/log?from=2&limit=1")["entries"]
        assert [e["number"] for e in one] == [2], one
        net = d.must(200, "GET", f"/api/sandboxes/{box}/network")
        assert net["network"] == "list" and net["allow"] == [f"{HOST}:{port}"] and net["deny"] == [], net
        assert net["connections_all"] >= 1 and net["refused"] >= 1 and net["down_bytes"] > 0, net
        # What names no network has none, and has no log.
        alone = d.make(limits={"memory": "128m"})
        assert fetch(d, alone, port) == "OSError"
        assert "has no network" in d.must(409, "GET", f"/api/sandboxes/{alone}/network/log")["error"]["message"]
        # The host's own addresses are no public ones.
        wide = make(d, network_mode="bridge")
        assert d.must(200, "GET", f"/api/sandboxes/{wide}")["network"] == "bridge"
        assert fetch(d, wide, port) != "from the host"
        # A denial wins.
        denied = make(d, network="bridge", allow=[f"{HOST}:{port}", f"{HOST}:{other}"], deny=[f"{HOST}:{other}"])
        assert fetch(d, denied, port) == "from the host" and fetch(d, denied, other) != "from the host"
        for b in (box, alone, wide, denied):
            d.must(200, "DELETE", f"/api/sandboxes/{b}")


def mistakes_are_told(port):
    with Daemon() as d:
        for fields, status, text in (
                ({"allow": ["http://a.example"]}, 400, "allow: "),
                ({"allow": ["a.example"], "deny": ["preset:nothing"]}, 400, "deny: "),
                ({"network": "none", "allow": ["a.example"]}, 400, "allow: "),
                ({"network": "list"}, 400, "allow: "),
                ({"deny": ["a.example"]}, 400, "deny: "),
                ({"network": "open"}, 422, "network: ")):
            got = make(d, status=status, **fields)
            assert got["error"]["message"].startswith(text), (fields, got)
        # Who is no administrator needs a template that says so.
        got = d.must(403, "POST", "/api/sandboxes", {"allow": ["a.example"]})
        assert got["error"]["message"].startswith("network: template 'host'"), got


def templates_bound_requests(port):
    with Registry(TEMPLATES) as registry, Daemon("--registry", registry.path) as d:
            def ask(status, **fields):
                return d.must(status, "POST", "/api/sandboxes", {"limits": {"memory": "128m"}, **fields})

            box = ask(201, template="out", allow=["example.org"])
            assert box["network"] == "list" and box["engine"] == "native", box
            assert ask(201, template="out")["network"] == "bridge"
            assert ask(201, template="out", network="none")["network"] == "none"
            got = ask(403, template="out", allow=[f"{HOST}:{port}"])
            assert got["error"]["message"].startswith("allow: ") and "public" in got["error"]["message"], got
            got = ask(201, template="listed")
            net = d.must(200, "GET", f"/api/sandboxes/{got['sandbox_id']}/network")
            assert net["network"] == "list" and net["allow"] == ["a.example", "*.b.example:443"], net
            assert got["limits"]["network_up"] == 1 << 20, got["limits"]
            got = ask(201, template="listed", allow=["x.b.example:443"], limits={"memory": "128m", "network_up": "64k"})
            assert got["limits"]["network_up"] == 1 << 16, got["limits"]
            assert ask(403, template="listed", allow=["b.example"])["error"]["message"].startswith("allow: 'b.example'")
            assert ask(403, template="listed", network="bridge")["error"]["message"].startswith("network: ")
            got = ask(403, template="listed", limits={"network_up": "2m"})
            assert got["error"]["message"].startswith("limits.network_up: "), got
            shown = [t for t in d.must(200, "GET", "/api/templates")["templates"] if t["name"] == "listed"]
            assert shown[0]["allow"] == ["a.example", "*.b.example:443"] and shown[0]["network"] == "list", shown
            got = ask(403, template="shut", allow=["example.org"])
            assert "is not for it" in got["error"]["message"], got


def models_change_it(port):
    """Over MCP, by somebody who is no administrator: within what the template gives, and not beyond it."""
    here, near = f"{HOST}:{port}", f"""
  near:
    host: true
    security: {{network: {{allow: ["{HOST}:{port}", a.example]}}}}
"""
    with Registry(TEMPLATES + near) as registry, Daemon("--registry", registry.path) as d:
        s = Session(d, path="/mcp?tools=network")
        box = s.good("sandbox_create", template="near")["sandbox_id"]

        def get():
            return s.call("run_code", sandbox_id=box, code=FETCH.replace("sys.argv[1:]", f"['http://{here}/']"))

        assert s.good("network_get", sandbox_id=box)["allow"] == [here, "a.example"]
        assert get()["structuredContent"]["stdout"].strip() == "from the host"
        assert s.good("network_update", sandbox_id=box, remove_allow=[here])["allow"] == ["a.example"]
        got = get()
        assert "from the host" not in got["structuredContent"]["stdout"], got
        assert f"blocked {here} (1 time)" in got["content"][0]["text"], got  # although the kernel refused it
        assert "none of its rules" in s.bad("network_update", sandbox_id=box, remove_allow=[here])["message"]
        got = s.bad("network_update", sandbox_id=box, add_allow=["b.example"])
        assert got["error"] == "denied" and "b.example" in got["message"], got
        assert "'http://x'" in s.bad("network_update", sandbox_id=box, add_allow=["http://x"])["message"]
        assert s.good("network_get", sandbox_id=box)["allow"] == ["a.example"]  # what was refused has changed nothing
        assert s.good("network_update", sandbox_id=box, add_allow=[here])["allow"] == ["a.example", here]
        assert get()["structuredContent"]["stdout"].strip() == "from the host"
        assert s.good("network_suggest", sandbox_id=box)["allow"] == [here]
        presets = {p["name"]: p["rules"] for p in s.good("network_presets")["presets"]}
        assert "pypi.org" in " ".join(presets["python"]), presets
        told = s.good("network_log", sandbox_id=box)["entries"]
        assert [e["verdict"] for e in told if e["port"] == port].count("allowed") == 2, told
        s.good("sandbox_destroy", sandbox_id=box)
        s.end()


def kernel_refusals_are_told(port):
    """Also by the cay-net that takes over: the sandbox's kernel tells its new sockets."""
    with Daemon() as d:
        box = make(d, allow=["a.example"])

        def refused():
            got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/"])
            return got["stdout"].strip() == "ConnectionRefusedError" and [(b["host"], b["port"]) for b in got["network_blocked"]] == [(HOST, port)]

        assert refused()
        net = d.child("cay-net")
        os.kill(net, signal.SIGKILL)
        wait_for("another cay-net", lambda: d.child("cay-net") not in (None, net))
        wait_for("refusals to be told again", refused)
        told = d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]
        assert told and told[-1]["verdict"] == "refused" and told[-1]["address"] == HOST and "kernel" in told[-1]["why"], told
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


HOLD = """
import socket, sys
def say(word):
    open("/tmp/said", "a").write(word)
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
say("connected")
s.settimeout(None)
try:
    s.send(b"GET / HTTP/1.1\\r\\n")
    say("ended" if not s.recv(1) else "answered")
except OSError:
    say("ended")
"""


def rules_change(port):
    other = serve()
    with Daemon() as d:
        def update(status, box, token=None, **fields):
            return d.must(status, "PATCH", f"/api/sandboxes/{box}/network", fields, token=token or admin(d))

        # One without a network gets one while it runs, and loses it again.
        box = make(d)
        assert fetch(d, box, port) == "OSError"
        net = update(200, box, add_allow=["a.example"])
        assert net["network"] == "list" and net["allow"] == ["a.example"], net
        assert fetch(d, box, port) != "from the host"
        update(200, box, add_allow=[f"{HOST}:{port}"])  # an address: the kernel's rules differ
        assert fetch(d, box, port) == "from the host" and fetch(d, box, other) != "from the host"
        update(200, box, network="none")
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["network"] == "none"
        assert fetch(d, box, port) != "from the host"
        update(200, box, allow=[f"{HOST}:{port}", f"{HOST}:{other}"])
        assert fetch(d, box, port) == "from the host" and fetch(d, box, other) == "from the host"
        # A connection that is not allowed any more ends; others do not.
        d.must(202, "POST", f"/api/sandboxes/{box}/execute",
               {"command": ["/usr/bin/python3", "-c", HOLD, HOST, str(port)], "background": True})

        def says(word):
            return word.encode() in d.ask("GET", f"/api/sandboxes/{box}/files?path=/tmp/said").body

        wait_for("the connection", lambda: says("connected"))
        update(200, box, add_deny=["*.example"])
        assert not says("ended")
        update(200, box, remove_allow=[f"{HOST}:{port}"])
        wait_for("its end", lambda: says("ended"))
        assert fetch(d, box, port) != "from the host" and fetch(d, box, other) == "from the host"
        # What is stored holds for the next front, and after a stop; a stopped one can be changed.
        front = d.child("cay-front")
        os.kill(front, signal.SIGKILL)
        wait_for("another front", lambda: d.child("cay-front") not in (None, front))
        wait_for("an answer", lambda: d.ask("GET", "/api/sandboxes").status == 200)
        net = d.must(200, "GET", f"/api/sandboxes/{box}/network")
        assert net["allow"] == [f"{HOST}:{other}"] and net["deny"] == ["*.example"], net
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        update(200, box, allow=[f"{HOST}:{port}"], deny=[])
        d.start_again(box)
        assert fetch(d, box, port) == "from the host" and fetch(d, box, other) != "from the host"
        kinds = [e["kind"] for e in d.must(200, "GET", f"/api/sandboxes/{box}/events")["events"]]
        assert kinds.count("network_changed") == 7, kinds
        # Mistakes change nothing.
        for fields, status, text in (
                ({"allow": ["http://a"]}, 400, "allow: "), ({"remove_allow": ["b.example"]}, 400, "remove_allow: "),
                ({"network": "open"}, 422, "network: "), ({"network": "none", "add_allow": ["a.example"]}, 400, "allow: "),
                ({"allow": [], "network": "list"}, 400, "allow: "), ({"limits": {"network_up": 1}}, 400, "limits.network_up: "),
                ({"limits": {"memory": 1}}, 400, "limits.memory")):
            got = update(status, box, **fields)
            assert got["error"]["message"].startswith(text), (fields, got)
        assert fetch(d, box, port) == "from the host"
        # Its owner, who is no administrator, may narrow what it has, and no more than that.
        owner = d.make_token("--scope", "exec,read")
        got = update(403, box, token=owner, add_allow=[f"{HOST}:{other}"])
        update(200, box, token=owner, add_deny=["x.example"])
        update(200, box, limits={"network_up": "1m", "network_total": "10m"})
        for raised in ({"network_up": "2m"}, {"network_total": "1g"}):
            assert "only an administrator can raise it" in update(403, box, token=owner, limits=raised)["error"]["message"]
        update(200, box, token=owner, limits={"network_up": "512k"})
        update(403, box, token=owner, remove_deny=["x.example"])
        update(200, box, token=owner, network="none")
        update(403, box, token=owner, allow=[f"{HOST}:{port}"])


def limits_hold(port):
    with Daemon() as d:
        box = make(d, allow=[f"{HOST}:{port}"], limits={"memory": "128m", "network_total": "300k", "network_connections": 7})
        got = d.must(200, "GET", f"/api/sandboxes/{box}")["limits"]
        assert got["network_total"] == 300 << 10 and got["network_connections"] == 7, got
        assert fetch(d, box, port) == "from the host"
        got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/big"])["stdout"]
        assert "x" * 1000 not in got, got[:200]
        log = d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]
        assert [e for e in log if e["kind"] == "quota"], log
        assert fetch(d, box, port) != "from the host"
        # More of it, while it runs; 0 takes it away.
        for total in ("10m", 0):
            d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"limits": {"network_total": total}}, token=admin(d))
            assert fetch(d, box, port) == "from the host"
        assert d.must(200, "GET", f"/api/sandboxes/{box}")["limits"]["network_total"] == 0


def settings_are_defaults(port):
    with Daemon("--default-network-up", "1m", "--default-network-total", "100k") as d:
        box = make(d, allow=[f"{HOST}:{port}"])
        got = d.must(200, "GET", f"/api/sandboxes/{box}")["limits"]
        assert (got["network_up"], got["network_down"], got["network_total"]) == (1 << 20, 0, 100 << 10), got
        got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/big"])["stdout"]
        assert "x" * 1000 not in got, got[:200]
        other = make(d, allow=[f"{HOST}:{port}"], limits={"memory": "128m", "network_total": "10m"})
        got = d.run(other, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/big"])["stdout"]
        assert "x" * 1000 in got, got[:200]


LOOK = """
import socket
for name in ("evil.example", "evil.example"):
    try:
        socket.getaddrinfo(name, 443)
    except OSError:
        pass
"""


def commands_say_what_was_blocked(port):
    other = serve()
    with Daemon() as d:
        env = {"PATH": os.environ["PATH"], "HOME": d.folder, "CAY_TOKEN": admin(d)}

        def cay(verb, *words):
            return subprocess.run([CAY, *verb.split(), "--data", os.path.join(d.folder, "data"), *words], env=env, capture_output=True,
                                  text=True, check=False, timeout=120)

        box = make(d, allow=[f"{HOST}:{port}"])
        got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/"])
        assert got["network_blocked"] == [] and got["network_hints"] == [] and not got["lacks_network"], got
        got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{other}/"])
        assert [(b["host"], b["port"], b["allowed"]) for b in got["network_blocked"]] == [(HOST, other, False)], got
        assert got["network_hints"] == [f"network: blocked {HOST}:{other} (1 time); allow it with PATCH /api/sandboxes/{box}/network "
                                        f'{{"add_allow": ["{HOST}:{other}"]}}'], got["network_hints"]
        got = d.run(box, ["/usr/bin/python3", "-c", LOOK])
        assert [(b["host"], b["port"]) for b in got["network_blocked"]] == [("evil.example", 0)], got
        ended = d.must(200, "GET", f"/api/sandboxes/{box}/events?kind=exec_ended")["events"]
        assert [e["detail"].get("network_refused") for e in ended[-3:]] == [None, f"{HOST}:{other}", "evil.example"], ended
        # It is stored with the command.
        front = d.child("cay-front")
        os.kill(front, signal.SIGKILL)
        wait_for("another front", lambda: d.child("cay-front") not in (None, front))
        wait_for("an answer", lambda: d.ask("GET", "/api/sandboxes").status == 200)
        again = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{got['exec_id']}")
        assert again["network_blocked"] == got["network_blocked"], again
        # On the command line, and to a model.
        told = cay("exec", box, "/usr/bin/python3", "-c", LOOK)
        assert "cay: network: blocked evil.example (" in told.stderr and \
            f"allow it with `cay network set {box} --add-allow evil.example`" in told.stderr, told
        # One that is allowed, and does not answer.
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"add_allow": [f"{HOST}:1"]}, token=admin(d))
        got = d.run(box, ["/usr/bin/python3", "-c", FETCH, f"http://{HOST}:1/"])
        assert [(b["host"], b["port"], b["allowed"]) for b in got["network_blocked"]] == [(HOST, 1, True)], got
        # Without a network, a command that fails and says so.
        alone = make(d)
        got = d.run(alone, ["/usr/bin/python3", "-c", "import socket; socket.getaddrinfo('pypi.org', 443)"])
        assert got["exit_code"] == 1 and got["lacks_network"] and "has no network" in got["network_hints"][0], got
        got = d.run(alone, ["/bin/sh", "-c", "echo no such thing; exit 1"])
        assert not got["lacks_network"] and got["network_hints"] == [], got
        told = cay("exec", alone, "/usr/bin/python3", "-c", "import socket; socket.getaddrinfo('pypi.org', 443)")
        assert f"this sandbox has no network; give it one with `cay network set {alone} --add-allow HOST`" in told.stderr, told
        # The quota's end is a cause.
        small = make(d, allow=[f"{HOST}:{port}"], limits={"memory": "128m", "network_total": "100k"})
        got = d.run(small, ["/usr/bin/python3", "-c", f"import urllib.request as u; u.urlopen('http://{HOST}:{port}/big').read()"])
        assert got["cause"] == "network" and "100 KiB" in got["cause_text"] and "network_total" in got["advice"], got


def they_outlive_what_dies(port):
    with Daemon() as d:
        idle = sockets_of(d.child("cay-net"))
        box = make(d, allow=[f"{HOST}:{port}"])
        assert fetch(d, box, port) == "from the host"
        # The front: cay-net goes on, and the next front finds it as it was.
        net, front = d.child("cay-net"), d.child("cay-front")
        os.kill(front, signal.SIGKILL)
        wait_for("another front", lambda: d.child("cay-front") not in (None, front))
        wait_for("an answer", lambda: d.ask("GET", "/api/sandboxes").status == 200)
        assert d.child("cay-net") == net
        assert fetch(d, box, port) == "from the host"
        before = d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"][-1]["number"]
        # cay-net: the box gets new sockets, and the numbers of its log go on.
        os.kill(net, signal.SIGKILL)
        wait_for("another cay-net", lambda: d.child("cay-net") not in (None, net))
        wait_for("the network again", lambda: fetch(d, box, port) == "from the host")
        log = d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]
        assert log[0]["number"] > before, (before, log)
        assert fetch(d, box, port + 1) != "from the host"
        # Both at once.
        net, front = d.child("cay-net"), d.child("cay-front")
        os.kill(net, signal.SIGKILL)
        os.kill(front, signal.SIGKILL)
        wait_for("another front", lambda: d.child("cay-front") not in (None, front))
        wait_for("an answer", lambda: d.ask("GET", "/api/sandboxes").status == 200)
        wait_for("the network again", lambda: fetch(d, box, port) == "from the host")
        # A stop and a start.
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        assert d.must(409, "GET", f"/api/sandboxes/{box}/network/log")["error"]["message"]
        assert d.must(200, "GET", f"/api/sandboxes/{box}/network")["allow"] == [f"{HOST}:{port}"]
        d.start_again(box)
        assert fetch(d, box, port) == "from the host" and fetch(d, box, port + 1) != "from the host"
        d.must(200, "DELETE", f"/api/sandboxes/{box}")
        # Nothing of it is left in cay-net.
        net = d.child("cay-net")
        wait_for("its sockets to be closed", lambda: sockets_of(net) <= idle)
    assert not is_alive(net)


def the_log_is_followed(port):
    other = serve()
    with Daemon() as d:
        token = admin(d)
        box = make(d, network="learn", allow=[f"{HOST}:{port}"])
        answer, connection = d.begin("GET", f"/api/sandboxes/{box}/network/log?follow=true", token=token)
        assert answer.status == 200, answer.read()
        lines = (json.loads(line) for line in answer if line.strip())
        assert fetch(d, box, port) == "from the host" and fetch(d, box, other) != "from the host"
        seen = []
        for entry in lines:
            seen.append(entry)
            told = [(e["verdict"], e["address"], e["port"]) for e in seen]
            if ("allowed", HOST, port) in told and ("refused", HOST, other) in told:
                break
        assert [e["number"] for e in seen] == list(range(1, len(seen) + 1)), seen
        # The rules that were needed.
        got = d.must(200, "GET", f"/api/sandboxes/{box}/network/suggest", token=token)
        assert got["allow"] == [f"{HOST}:{port}"] and got["refused"] == [f"{HOST}:{other}"], got
        assert got["flags"] == f"--allow '{HOST}:{port}'" and f'- "{HOST}:{port}"' in got["yaml"], got
        again = make(d, allow=got["allow"])
        assert fetch(d, again, port) == "from the host"
        totals = d.must(200, "GET", "/api/metrics", token=token)["daemon"]
        assert totals["network_allowed"] >= 2 and totals["network_refused"] >= 1, totals
        # The stream ends with the sandbox's network.
        d.must(200, "DELETE", f"/api/sandboxes/{box}", token=token)
        list(lines)
        connection.close()
        d.must(200, "DELETE", f"/api/sandboxes/{again}", token=token)


SERVE = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[1].encode())
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("0.0.0.0", 5432), Answer).serve_forever()
"""


def private_networks(port):
    with Registry(TEMPLATES) as registry, Daemon("--registry", registry.path) as d:
        ada, bob = (d.make_token("--scope", "exec,read", "--owner", name) for name in ("ada", "bob"))

        def ask(status, token, **fields):
            got = d.must(status, "POST", "/api/sandboxes", {"limits": {"memory": "128m"}, "template": "team", **fields}, token=token)
            return got["sandbox_id"] if status == 201 else got["error"]["message"]

        def update(status, token, box, **fields):
            return d.must(status, "PATCH", f"/api/sandboxes/{box}/network", fields, token=token)

        def begin(token, box, text):
            d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["/usr/bin/python3", "-c", SERVE, text], "background": True}, token=token)

        def get(token, box, name):
            return d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": ["/usr/bin/python3", "-c", FETCH, f"http://{name}:5432/"]},
                          token=token)["stdout"].strip()

        def serves(token, box, name, text):
            wait_for(f"{name} to answer", lambda: get(token, box, name) == text)

        db = ask(201, ada, name="db", private_network="team")
        app = ask(201, ada, private_network="team", private_name="app")
        assert d.must(200, "GET", f"/api/sandboxes/{db}", token=ada)["network"] == "private"
        net = d.must(200, "GET", f"/api/sandboxes/{db}/network", token=ada)
        assert (net["private_network"], net["private_name"], net["allow"]) == ("team", "db", []), net
        begin(ada, db, "from db")
        serves(ada, app, "db.team.internal", "from db")
        assert get(ada, app, f"{db}.team.internal") == "from db"
        assert get(ada, app, "other.team.internal") == "gaierror" and get(ada, app, "db.club.internal") == "gaierror"
        # Another owner's network of the same name is another one; one without a network reaches nobody.
        other = ask(201, bob, private_network="team")
        assert get(bob, other, "db.team.internal") == "gaierror" and get(bob, other, f"{db}.team.internal") == "gaierror"
        alone = ask(201, ada)
        assert get(ada, alone, "db.team.internal") == "gaierror"
        # What is changed about its rules keeps it; it joins and leaves while it runs.
        mixed = ask(201, ada, template="mixed", private_network="team")
        assert update(200, ada, mixed, remove_allow=["b.example"])["private_network"] == "team"
        assert get(ada, mixed, "db.team.internal") == "from db"
        net = update(200, ada, mixed, network="private", private_name="mixed")
        assert (net["network"], net["private_name"], net["allow"]) == ("private", "mixed", []), net
        assert update(200, ada, mixed, add_allow=["a.example"])["network"] == "list"
        assert get(ada, mixed, "db.team.internal") == "from db"
        update(200, ada, mixed, add_deny=["db.team.internal:5432"])
        assert get(ada, mixed, "db.team.internal") != "from db"
        net = update(200, ada, app, private_network="")
        assert (net["network"], net["private_network"]) == ("none", None), net
        assert get(ada, app, "db.team.internal") == "gaierror"
        assert update(200, ada, app, private_network="team")["private_name"] is None
        assert get(ada, app, "db.team.internal") == "from db"
        # One that has rules already gets more sockets, and its log goes on.
        web = make(d, allow=[f"{HOST}:{port}"], private_network="web", private_name="web")
        assert fetch(d, web, port) == "from the host"
        shown = make(d, allow=[f"{HOST}:{port}"])
        assert fetch(d, shown, port) == "from the host"
        last = d.must(200, "GET", f"/api/sandboxes/{shown}/network/log")["entries"][-1]["number"]
        update(200, admin(d), shown, private_network="web", private_name="shown")
        begin(admin(d), shown, "from shown")
        serves(admin(d), web, "shown.web.internal", "from shown")
        assert fetch(d, shown, port) == "from the host"
        log = d.must(200, "GET", f"/api/sandboxes/{shown}/network/log")["entries"]
        assert log[0]["number"] > last, (last, log)
        # It outlives cay-net, and a stop.
        net = d.child("cay-net")
        os.kill(net, signal.SIGKILL)
        wait_for("another cay-net", lambda: d.child("cay-net") not in (None, net))
        serves(ada, app, "db.team.internal", "from db")
        d.must(200, "POST", f"/api/sandboxes/{db}/stop", token=ada)
        assert get(ada, app, "db.team.internal") == "gaierror"
        assert "db" in ask(409, ada, private_network="team", private_name="db")  # its name is kept for it
        d.must(200, "POST", f"/api/sandboxes/{db}/start", token=ada)
        begin(ada, db, "from db again")
        serves(ada, app, "db.team.internal", "from db again")
        # Mistakes, and who may not.
        for fields, status, text in (
                ({"private_network": "Team"}, 400, "private_network: "), ({"private_name": "x"}, 400, "private_name: "),
                ({"private_network": "team", "private_name": "x.y"}, 400, "private_name: "),
                ({"private_network": "team", "network": "none"}, 400, "private_network: "), ({"network": "private"}, 400, "private_network: "),
                ({"private_network": "team", "private_name": "db"}, 409, "private_name: "),
                ({"private_network": "team", "template": "shut"}, 403, "private_network: template 'shut'"),
                ({"private_network": "team", "template": "out"}, 403, "private_network: template 'out'")):
            assert ask(status, ada, **fields).startswith(text), fields
        quiet = ask(201, ada, template="shut")
        assert update(403, ada, quiet, private_network="team")["error"]["message"].startswith("private_network: "), quiet
        assert update(409, ada, app, private_name="db")["error"]["message"].startswith("private_name: ")
        assert get(ada, app, "db.team.internal") == "from db again"


def inet_sockets_inside(box_pid):
    """Of all processes in that network namespace: which of its sockets of TCP, UDP, raw and netlink they have open."""
    space = os.readlink(f"/proc/{box_pid}/ns/net")
    inodes = set()
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "netlink"):
        with open(f"/proc/{box_pid}/net/{table}", encoding="utf-8") as f:
            inodes |= {line.split()[9] for line in f.readlines()[1:] if len(line.split()) > 9}
    held, seen = [], 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/net") != space:
                continue
            seen += 1
            links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        held += [(pid, at) for at in links if at.removeprefix("socket:[").removesuffix("]") in inodes]
    return inodes, held, seen


def nobody_inside_has_its_sockets(port):
    """cay-init counts as hostile. With the sockets of a sandbox's network it could lie about what is asked for; neither it nor a command has them."""
    with Daemon() as d:
        box = make(d, allow=[f"{HOST}:{port}"])
        d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": ["sleep", "100"], "background": True})
        sleeper = wait_for("the command", lambda: pid_of("sleep 100"))
        inodes, held, seen = inet_sockets_inside(sleeper)
        assert len(inodes) >= 7 and seen >= 2, (inodes, seen)  # they are there, and so are cay-init and the command
        assert held == [], held
        assert fetch(d, box, port) == "from the host"


def pid_of(command):
    words = command.replace(" ", "\0") + "\0"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                if f.read() == words:
                    return int(pid)
        except OSError:
            pass
    return None


def sockets_of(pid):
    return sum(os.readlink(f"/proc/{pid}/fd/{n}").startswith("socket:") for n in os.listdir(f"/proc/{pid}/fd"))


def the_command_line_has_it(port):
    with Daemon() as d:
        env = {"PATH": os.environ["PATH"], "HOME": d.folder}

        def cay(verb, *words):
            return subprocess.run([CAY, *verb.split(), "--data", os.path.join(d.folder, "data"), *words], env=env, capture_output=True,
                                  text=True, check=False, timeout=120)

        made = cay("create", "--allow", f"{HOST}:{port}", "--memory", "128m")
        assert made.returncode == 0, made
        box = made.stdout.strip()
        got = cay("exec", box, "/usr/bin/python3", "-c", FETCH, f"http://{HOST}:{port}/")
        assert got.stdout == "from the host\n", got
        got = cay("network", box)
        assert got.returncode == 0 and f"{HOST}:{port}" in got.stdout, got
        got = cay("network set", box, "--add-allow", "a.example", "--network-up", "1m")
        assert got.returncode == 0 and "a.example" in got.stdout, got
        got = cay("network set", box, "--remove-allow", "b.example")
        assert got.returncode == 2 and "--remove-allow: 'b.example' is none of its rules" in got.stderr, got
        got = cay("network log", box)
        assert got.returncode == 0 and "allowed" in got.stdout and HOST in got.stdout, got
        got = cay("network suggest", box)
        assert got.returncode == 0 and got.stdout.startswith(f"--allow '{HOST}:{port}'\n"), got
        f = subprocess.Popen([CAY, "network", "log", "-f", "--data", os.path.join(d.folder, "data"), box], env=env, stdout=subprocess.PIPE, text=True)
        assert HOST in f.stdout.readline()
        f.terminate()
        f.wait(120)
        f.stdout.close()


def an_ordinary_user_has_it(port):
    """A daemon of somebody without rights: the same network, made in a user namespace of each sandbox."""
    with Wrapped("--rate-limit", "0", owner=USER, before=["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]) as d:
        net = d.child("cay-net")
        assert status_of(net)["Uid"].split() == [str(USER)] * 4 and int(status_of(net)["CapEff"], 16) == 0
        token = subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", CAY, "token", "--data", os.path.join(d.folder, "data"),
                                "--scope", "admin"], check=True, capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"}).stdout.strip()
        box = d.must(201, "POST", "/api/sandboxes", {"limits": {"memory": "128m"}, "allow": [f"{HOST}:{port}"]}, token=token)["sandbox_id"]
        assert fetch(d, box, port) == "from the host"
        assert fetch(d, box, port + 1) != "from the host"
        told = [(e["verdict"], e["address"], e["port"]) for e in d.must(200, "GET", f"/api/sandboxes/{box}/network/log")["entries"]]
        assert ("allowed", HOST, port) in told, told
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"allow": ["a.example"]}, token=token)
        assert fetch(d, box, port) != "from the host"
        d.must(200, "PATCH", f"/api/sandboxes/{box}/network", {"add_allow": [f"{HOST}:{port}"]}, token=token)
        os.kill(net, signal.SIGKILL)
        wait_for("another cay-net", lambda: d.child("cay-net") not in (None, net))
        wait_for("the network again", lambda: fetch(d, box, port) == "from the host")
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


TESTS = [rules_hold, nobody_inside_has_its_sockets, settings_are_defaults, private_networks, the_log_is_followed, rules_change, limits_hold, commands_say_what_was_blocked, mistakes_are_told, templates_bound_requests, models_change_it, kernel_refusals_are_told, they_outlive_what_dies, the_command_line_has_it, an_ordinary_user_has_it]

if __name__ == "__main__":
    if not shutil.which("python3", path="/usr/bin:/bin"):
        print("needs Debian's python3 in /usr/bin")
        sys.exit(77)
    own_network()
    PORT = serve()
    for test in TESTS:
        if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
            continue
        print(test.__name__, flush=True)
        test(PORT)
