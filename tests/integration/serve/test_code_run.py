#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One-shot runs (POST /api/run), and input for commands that nobody waits for. test_code_run.py [NAME…] runs some."""
import contextlib
import http.client
import json
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, run_tests, wait_for  # noqa: E402
from registry_file import Registry  # noqa: E402
from ws_client import WebSocket  # noqa: E402

RISKY = """containers:
  risky:
    host: true
    interpreter: [/bin/sh, -s]
    security: {needs_confirm: true}
  stays:
    host: true
    interpreter: [/bin/sh, -s]
    auto_cleanup: false
    triggers: ["please stay"]
    max_concurrent: 1
  talks:
    host: true
    command: [/bin/echo, "by itself"]
    triggers: ["run python"]
    interpreter: [/bin/sh, -s]
settings: {queue: 0}
"""


def boxes(d):
    return d.must(200, "GET", "/api/sandboxes")["sandboxes"]


def run(d, **fields):
    return d.must(200, "POST", "/api/run", fields)


def test_code(d):
    got = run(d, code="print('Hello'); import sys; print('no', file=sys.stderr); sys.exit(3)")
    assert (got["stdout"], got["stderr"], got["exit_code"], got["cause"]) == ("Hello\n", "no\n", 3, "exited"), got
    assert got["template"] == "python" and got["kept"] is False and got["sandbox_id"] and got["duration_ms"] >= 0, got
    d.must(404, "GET", f"/api/sandboxes/{got['sandbox_id']}")
    assert run(d, code="console.log(1 + 1)", language="js")["stdout"] == "2\n"
    assert run(d, code="console.log(1 + 1)", language="nodejs")["stdout"] == "2\n"
    for where in ({}, {"template": "host"}, {"task": "please run python"}):
        assert run(d, code="a=(1 2); echo ${a[1]} $BASH_VERSION", language="bash", **where)["stdout"].startswith("2 5"), where
    assert "go" in d.must(400, "POST", "/api/run", {"code": "x", "language": "go"})["error"]["message"]
    assert run(d, code="print(1)", task="please run python on this")["template"] == "python"
    assert run(d, code="echo hi", template="python", language="sh")["stdout"] == "hi\n"
    got = run(d, command=["pwd"])
    assert got["stdout"] == "/workspace\n" and got["template"] == "host", got
    got = run(d, command="cat; echo $WHO; pwd", stdin="read me\n", env={"WHO": "you"}, workdir="/tmp")
    assert got["stdout"] == "read me\nyou\n/tmp\n", got
    assert boxes(d) == []


def test_files(d):
    big = "0123456789abcdef" * 20000
    got = run(d, command="cat a/b/c empty /tmp/x; wc -c < big", files={"a/b/c": "c\n", "empty": "", "/tmp/x": "\u00e9\n", "big": big})
    assert got["stdout"] == f"c\n\u00e9\n{len(big)}\n" and got["exit_code"] == 0, got
    assert run(d, code="import lib; print(lib.x)", files={"lib.py": "x = 5"}, env={"PYTHONPATH": "/workspace"})["stdout"] == "5\n"
    refused = d.ask("POST", "/api/run", {"command": "true", "files": {"ok": "1", "/usr/x": "no"}})
    assert 400 <= refused.status < 500 and refused.json["error"]["field"] == "files" and "/usr/x" in refused.json["error"]["message"], refused
    d.must(400, "POST", "/api/run", {"command": "true", "files": {str(i): "" for i in range(65)}})
    assert boxes(d) == []


def test_limits(d):
    got = run(d, code="x = 'a' * (1 << 30)", memory_limit="64m")
    assert got["cause"] == "memory" and "memory" in got["advice"], got
    got = run(d, code="import time; time.sleep(600)", timeout="300ms")
    assert got["cause"] == "wall_time" and got["exit_code"] is None, got
    got = run(d, code="print(open('/sys/fs/cgroup/nothing-here', 'r'))")
    assert got["exit_code"] == 1 and "Traceback" in got["stderr"], got
    assert boxes(d) == []


def test_refusals(d):
    for fields, field in (({}, "code"), ({"code": "1", "command": "ls"}, "code"), ({"code": "1", "stdin": "x"}, "stdin"), ({"code": "1", "open_stdin": True}, "open_stdin"),
                          ({"command": "ls", "language": "python"}, "language"), ({"code": "1", "language": "cobol"}, "language"),
                          ({"code": "1", "task": "a", "trigger": "b"}, "trigger"), ({"code": "1", "timeout": "31d"}, "timeout"),
                          ({"code": "1", "nothing": 1}, "nothing"), ({"code": ""}, "code")):
        got = d.must(400, "POST", "/api/run", fields)["error"]
        assert got["field"] == field and got["message"].startswith(field), (fields, got)
    assert d.must(404, "POST", "/api/run", {"code": "1", "template": "nowhere"})["error"]["field"] == "template"
    assert d.must(404, "POST", "/api/run", {"code": "1", "task": "dance"})["error"]["field"] == "task"
    d.must(401, "POST", "/api/run", {"code": "1"}, token=False)
    d.must(403, "POST", "/api/run", {"code": "1"}, token=d.make_token("--scope", "read"))
    d.must(404, "POST", "/api/run", {"command": "id", "user": "nobody-here"})
    assert boxes(d) == []


def test_single_use(d):
    first = run(d, code="print(1)", execution_id="only once")
    assert first["execution_id"] == "only once", first
    again = d.must(409, "POST", "/api/run", {"code": "print(1)", "execution_id": "only once"})["error"]
    assert again["code"] == "exists" and again["first"] == first["sandbox_id"], again
    a, b = run(d, code="print(1)"), run(d, code="print(1)")
    assert a["execution_id"] != b["execution_id"]
    assert boxes(d) == []


def test_stream(d):
    for accept in ({"stream": True}, {}):
        r, c = d.begin("POST", "/api/run", {"code": "import time\nfor i in range(3): print(i, flush=True); time.sleep(.05)", **accept},
                       headers={} if accept else {"Accept": "application/x-ndjson"})
        events = [json.loads(line) for line in r]
        c.close()
        assert [e["event"] for e in events][0] == "started" and events[-1]["event"] == "exited", events
        assert "".join(e["text"] for e in events if e["event"] == "stdout") == "0\n1\n2\n", events
        d.must(404, "GET", f"/api/sandboxes/{events[0]['sandbox_id']}")
    assert boxes(d) == []


def test_websocket(d):
    """The first message is the body; what follows is for a command that listens."""
    with WebSocket(d.port, "/api/run", d.token) as ws:
        ws.send(json.dumps({"command": "read x; echo got $x", "open_stdin": True}))
        assert ws.read_json()["event"] == "started"
        ws.send(json.dumps({"input": "it\n", "eof": True}))
        events = list(ws.events())
    assert "".join(e.get("text", "") for e in events) == "got it\n" and events[-1]["event"] == "exited", events
    assert boxes(d) == []


def test_gone(d):
    """A client that goes away ends its run, whether it waits or reads."""
    for fields in ({}, {"stream": True}, {"keep": True}):
        begun = []

        def start():
            c = d.connect()
            begun.append(c)
            c.request("POST", "/api/run", body=json.dumps({"code": "import time; time.sleep(600)", **fields}),
                      headers={"Authorization": "Bearer " + d.token, "Content-Type": "application/json"})

        t = threading.Thread(target=start)
        t.start()
        t.join()
        wait_for("the run", lambda: any(b["execs_running"] for b in boxes(d)))
        begun[0].sock.close()
        begun[0].close()
        wait_for("the end", lambda: not boxes(d))


def test_keep(d):
    got = run(d, code="open('/workspace/x', 'w').write('y')", keep=True)
    assert got["kept"] is True and d.run(got["sandbox_id"], ["cat", "/workspace/x"])["stdout"] == "y", got
    d.must(200, "DELETE", f"/api/sandboxes/{got['sandbox_id']}")


def test_bounded_life(d):
    """A front that dies in the middle leaves a sandbox that ends by itself."""
    c = d.connect()
    c.request("POST", "/api/run", body=json.dumps({"code": "import time; time.sleep(600)", "timeout": "20s"}),
              headers={"Authorization": "Bearer " + d.token, "Content-Type": "application/json"})
    box = wait_for("the run", lambda: next((b for b in boxes(d) if b["execs_running"]), None))
    assert 20000 < box["expires_in_ms"] <= 80000, box
    os.kill(d.child("cay-front"), signal.SIGKILL)

    def found_again():
        with contextlib.suppress(OSError, http.client.HTTPException):
            a = d.ask("GET", f"/api/sandboxes/{box['sandbox_id']}")
            return a.json if a.status == 200 else None

    after = wait_for("the next front", found_again)
    assert 0 < after["expires_in_ms"] <= box["expires_in_ms"], after
    d.must(200, "DELETE", f"/api/sandboxes/{box['sandbox_id']}")
    c.close()


def test_input_that_outlives_its_call(d):
    box = d.make()
    text = "line of text\n" * 60000
    got = d.must(202, "POST", f"/api/sandboxes/{box}/execute",
                 {"command": "sleep 0.3; wc -c", "stdin": text, "background": True})
    path = f"/api/sandboxes/{box}/execs/{got['exec_id']}"
    wait_for("its end", lambda: d.must(200, "GET", path)["status"] == "ended")
    r, c = d.begin("POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 0.2; wc -c", "stdin": text, "stream": True})
    events = [json.loads(line) for line in r]
    c.close()
    assert "".join(e.get("text", "") for e in events) == f"{len(text)}\n", events
    # Not read at all: the command ends, and nothing waits for ever.
    assert d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "true", "stdin": text, "background": True})
    d.must(400, "POST", f"/api/sandboxes/{box}/execute", {"command": "cat", "stdin": "x", "open_stdin": True})
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def registry_tests():
    with Registry(RISKY) as r, Daemon("--registry", r.path) as d:
        # A confirmation covers the code.
        asked = d.must(428, "POST", "/api/run", {"code": "echo a", "template": "risky"})["error"]
        d.must(409, "POST", "/api/run", {"code": "echo b", "template": "risky", "confirm": asked["confirm"]})
        asked = d.must(428, "POST", "/api/run", {"code": "echo a", "template": "risky"})["error"]
        got = d.must(200, "POST", "/api/run", {"code": "echo a", "template": "risky", "confirm": asked["confirm"]})
        assert got["stdout"] == "a\n", got
        # auto_cleanup: false keeps it; max_concurrent then holds.
        got = run(d, code="echo s", trigger="now please stay")
        assert got["template"] == "stays" and got["kept"] is True and got["stdout"] == "s\n", got
        assert d.ask("POST", "/api/run", {"code": "echo s", "template": "stays"}).status == 429
        d.must(200, "DELETE", f"/api/sandboxes/{got['sandbox_id']}")
        got = run(d, code="echo s", template="stays", keep=False)
        assert got["kept"] is False and boxes(d) == [], got
        # The template's own command; python by trigger where no template has that name.
        assert run(d, template="talks")["stdout"] == "by itself\n"
        assert run(d, code="echo t")["template"] == "talks"


def main():
    with Daemon() as d:
        run_tests(globals(), d)
    if not sys.argv[1:]:
        registry_tests()
        print("ok registry")


if __name__ == "__main__":
    main()
