#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container manager's surface (/containers…), and every curl line of docs/api-001.md. test_containers_api.py [NAME…] runs some."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curl_lines import run_lines  # noqa: E402
from daemon import Daemon, run_tests, wait_for  # noqa: E402
from registry_file import Registry  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

REGISTRY = """containers:
  code-sandbox:
    description: "Python code execution environment"
    host: true
    triggers: ["execute code", "run python", "test this"]
    security: {network_mode: none, read_only: false, needs_confirm: false}
    resources: {memory: 256m, cpus: "0.5", timeout: 60}
  shell:
    host: true
    interpreter: [/bin/sh, -s]
    auto_cleanup: false
    max_concurrent: 1
  risky:
    host: true
    interpreter: [/bin/sh, -s]
    security: {needs_confirm: true}
  online:
    host: true
    security: {network_mode: bridge}
settings: {auto_cleanup: true, max_concurrent: 3, queue: 0}
"""


def start(d, status=200, **fields):
    return d.must(status, "POST", "/containers/start", fields)


def active(d):
    return d.must(200, "GET", "/containers/status")["containers"]


def test_list(d):
    got = d.must(200, "GET", "/containers")
    rows = {row["name"]: row for row in got["containers"]}
    assert list(rows) == ["code-sandbox", "shell", "risky", "online"], got
    row = rows["code-sandbox"]
    assert row["description"] == "Python code execution environment" and row["triggers"] == ["execute code", "run python", "test this"]
    assert row["limits"]["memory_bytes"] == 256 << 20 and row["limits"]["cpu_milli"] == 500 and row["limits"]["wall_ms"] == 60000
    assert row["security"] == {"network_mode": "none", "read_only": False, "needs_confirm": False}, row
    assert row["available"] is True and row["build"] == "ready" and row["reason"] is None, row
    assert rows["online"]["available"] is True and rows["online"]["security"]["network_mode"] == "bridge", rows["online"]
    assert d.must(200, "GET", "/containers/") == got
    assert got["settings"] == {"auto_cleanup": True, "max_concurrent": 3}, got


def test_start(d):
    got = start(d, container="code-sandbox", code="print('Hello from the Sandbox!')\nprint(2 + 2)")
    assert got["stdout"] == "Hello from the Sandbox!\n4\n" and got["exit_code"] == 0 and got["removed"] is True, got
    assert got["container"] == "code-sandbox" and got["container_id"] and got["cause"] == "exited", got
    assert active(d) == []
    got = start(d, trigger="please run python: it should work", code="import sys; sys.exit(4)")
    assert got["container"] == "code-sandbox" and got["exit_code"] == 4, got
    assert start(d, name="code-sandbox", command=["echo", "hi"])["stdout"] == "hi\n"
    got = start(d, template="code-sandbox", code="while True: pass", timeout=0.3)
    assert got["cause"] == "wall_time" and got["exit_code"] is None and got["advice"], got
    assert start(d, container="code-sandbox", command="printf 'a\\0b'")["stdout_base64"] == "YQBi"


def test_stream(d):
    r, c = d.begin("POST", "/containers/start", {"container": "code-sandbox", "code": "print(1)"},
                   headers={"Accept": "text/event-stream"})
    text = r.read().decode()
    c.close()
    assert r.getheader("Content-Type").startswith("text/event-stream") and "event: stdout" in text and "event: exited" in text, text
    r, c = d.begin("POST", "/containers/start", {"container": "code-sandbox", "code": "print(1)", "stream": True})
    events = [json.loads(line) for line in r]
    c.close()
    assert [e["event"] for e in events] == ["started", "stdout", "exited"] and events[1]["text"] == "1\n", events
    assert active(d) == []


def test_life(d):
    """One that stays: exec, status, stop."""
    made = start(d, 201, container="shell")
    box = made["container_id"]
    assert made["status"] == "running" and made["removed"] is False, made
    got = d.must(200, "POST", "/containers/exec", {"container_id": box, "command": "cat; pwd", "stdin": "in\n", "timeout": 60})
    assert got["stdout"] == "in\n/workspace\n" and got["container_id"] == box and got["exit_code"] == 0, got
    r, c = d.begin("POST", "/containers/exec", {"container": box, "command": ["echo", "x"]}, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["event"] for line in r] == ["started", "stdout", "exited"]
    c.close()
    rows = active(d)
    assert [row["container_id"] for row in rows] == [box] and rows[0]["container"] == "shell" and rows[0]["status"] == "ready", rows
    d.must(404, "POST", "/containers/exec", {"container_id": box, "command": "true"}, token=d.make_token("--owner", "other"))
    # max_concurrent holds.
    busy = d.ask("POST", "/containers/start", {"container": "shell", "code": "true"})
    assert busy.status == 429 and busy.headers["Retry-After"] and "max_concurrent" in busy.json["error"]["message"], busy
    got = d.must(200, "POST", "/containers/stop", {"container_id": box})
    assert got == {"container_id": box, "status": "removed"}, got
    d.must(404, "POST", "/containers/stop", {"container_id": box})
    got = start(d, container="shell", code="echo kept")
    assert got["removed"] is False and active(d)[0]["container_id"] == got["container_id"], got
    got = d.must(200, "POST", "/containers/cleanup")
    assert got["cleaned"] == 1 and got["failed"] == 0 and active(d) == [], got
    assert d.must(200, "POST", "/containers/cleanup", {})["cleaned"] == 0


def test_status(d):
    """How a run ended, in one word that is true; advice names what can be set here."""
    for code, fields, status, words in (("import sys; sys.exit(1)", {}, "failed", ""), ("import os; os.abort()", {}, "failed", "signal"),
                                        ("import time; time.sleep(600)", {"timeout": 0.5}, "timeout", "larger timeout"),
                                        ("x = bytearray(1 << 30)", {}, "oom", "resources.memory"), ("print(1)", {}, "completed", "")):
        got = start(d, container="code-sandbox", code=code, **fields)
        assert got["status"] == status and words in got["advice"] and "limits." not in got["advice"], got
    made = start(d, 201, container="code-sandbox")
    box = made["container_id"]
    assert made["expires_in_ms"] is None and made["idle_limit_ms"] == 300000 and made["idle_expires_in_ms"] > 0, made
    got = d.must(200, "POST", "/containers/exec", {"container_id": box, "command": "exit 3"})
    assert got["status"] == "failed" and got["exit_code"] == 3, got
    row = active(d)[0]
    assert row["idle_limit_ms"] == 300000 and 0 < row["idle_expires_in_ms"] <= 300000, row
    d.must(200, "POST", "/containers/stop", {"container_id": box})


def test_confirmation(d):
    asked = start(d, 428, container="risky", code="echo a")["error"]
    assert asked["code"] == "confirm", asked
    start(d, 409, container="risky", code="echo other", confirm=asked["confirm"])
    asked = start(d, 428, container="risky", code="echo a")["error"]
    assert start(d, container="risky", code="echo a", confirm=asked["confirm"])["stdout"] == "a\n"
    asked = start(d, 428, container="risky")["error"]
    start(d, 201, container="risky", confirm=asked["confirm"])
    d.must(200, "POST", "/containers/cleanup")


def test_refusals(d):
    assert start(d, container="online", code="1")["exit_code"] == 0  # native has a bridge of its own
    got = start(d, 404, container="nowhere", code="1")["error"]
    assert got["code"] == "not_found" and got["field"] == "container" and got["message"].startswith("container: "), got
    assert start(d, 404, trigger="dance", code="1")["error"]["field"] == "trigger"
    for fields, field in (({"container": "shell", "name": "shell", "code": "1"}, "name"), ({"trigger": "a", "task": "b", "code": "1"}, "task"),
                          ({"trigger": "run python"}, "trigger"), ({"contaner": "shell"}, "contaner"),
                          ({"container": "shell", "code": 5}, "code")):
        got = start(d, 400, **fields)["error"]
        assert got["field"] == field and got["request_id"], (fields, got)
    assert d.must(400, "POST", "/containers/exec", {"command": "true"})["error"]["field"] == "container_id"
    assert d.must(400, "POST", "/containers/exec", {"container_id": "x"})["error"]["field"] == "command"
    d.must(400, "POST", "/containers/start", "{not json")
    d.must(413, "POST", "/containers/start", headers={"Content-Length": str(2 << 20)})  # answered at once: nothing of it is awaited
    for method, path in (("GET", "/containers"), ("POST", "/containers/start"), ("GET", "/containers/status")):
        got = d.ask(method, path, token=False)
        assert got.status == 401 and got.headers["WWW-Authenticate"] == "Bearer", got
    d.must(403, "POST", "/containers/start", {"code": "1"}, token=d.make_token("--scope", "read"))
    assert d.ask("GET", "/containers/start").status == 405 and d.ask("DELETE", "/containers").headers["Allow"] == "GET, HEAD"
    assert d.ask("OPTIONS", "/containers").status == 204


def test_single_use(d):
    first = start(d, container="code-sandbox", code="print(1)", execution_id="e1")
    assert start(d, 409, container="code-sandbox", code="print(1)", execution_id="e1")["error"]["first"] == first["container_id"]
    got = d.ask("POST", "/containers/start", {"container": "code-sandbox", "code": "print(1)"}, headers={"Idempotency-Key": "e1"})
    assert got.status == 409, got


def test_gone(d):
    c = d.connect()
    c.request("POST", "/containers/start", body=json.dumps({"container": "code-sandbox", "code": "import time; time.sleep(600)"}),
              headers={"Authorization": "Bearer " + d.token})
    wait_for("the run", lambda: any(row["execs_running"] for row in active(d)))
    c.sock.close()
    c.close()
    wait_for("its end", lambda: not active(d))


def test_document(d):
    run_lines(os.path.join(SOURCE, "docs/api-001.md"), d)
    assert active(d) == []


def main():
    with Registry(REGISTRY) as r, Daemon("--registry", r.path) as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
