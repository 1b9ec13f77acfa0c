#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP's tools, resources and tasks over a running daemon, with real commands. test_mcp_tools.py [NAME…] runs some."""
import base64
import json
import os
import re
import shlex
import sys
import time
import tomllib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, wait_for  # noqa: E402
from mcp_session import LEGACY, Session, boxes, events, modern, request, run, run_count, start_lines, talk  # noqa: E402


def until(path):
    """For a command: waits until the file is there."""
    return f"until [ -e {path} ]; do sleep 0.05; done"


def test_commands(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    r = s.call("run_command", sandbox_id=box, command="echo out; echo err >&2; exit 3")
    assert not r["isError"] and r["structuredContent"]["exit_code"] == 3
    assert r["structuredContent"]["stdout"] == "out\n" and r["structuredContent"]["stderr"] == "err\n"
    assert "[exit code 3]" in r["content"][0]["text"]
    assert s.good("run_command", sandbox_id=box, command="cat; pwd", stdin="hello\n", cwd="/tmp")["stdout"] == "hello\n/tmp\n"
    assert s.good("run_command", id=box, cmd="echo $A", env={"A": "b"}, working_dir="/")["stdout"] == "b\n"
    # What could not be started has printed nothing: the text says why.
    lost = s.call("run_command", sandbox_id=box, command="pwd", cwd="no/such/folder")
    assert lost["structuredContent"]["exit_code"] == 127 and "/workspace/no/such/folder' does not exist" in lost["content"][0]["text"], lost
    slow = s.call("run_command", sandbox_id=box, command="sleep 30", timeout=1)
    assert slow["isError"] and slow["structuredContent"]["cause"] == "wall_time"
    assert "larger timeout" in slow["structuredContent"]["advice"], slow
    assert s.good("run_code", sandbox_id=box, code="print(2 + 2)")["stdout"] == "4\n"
    assert s.good("run_code", sandbox_id=box, code="echo sh", language="shell")["stdout"] == "sh\n"
    assert "exec_input" not in s.bad("run_command", command="x", sandbox_id=box, nonsense=1)["message"]
    assert "required" in s.bad("run_command", sandbox_id=box)["message"]
    assert "text" in s.bad("write_file", sandbox_id=box, path="a", content=5)["message"]
    assert s.bad("run_command", sandbox_id="nosuch", command="x")["error"] == "not_found"
    assert s.bad("read_file", sandbox_id=box, path="nosuch")["error"] == "not_found"
    # In the background: a handle, what it printed so far, input, its end.
    h = s.good("run_command", sandbox_id=box, command="echo first; read x; echo got $x", background=True)
    assert h["running"] and h["exec_id"]
    assert s.good("exec_input", sandbox_id=box, exec_id=h["exec_id"], text="line\n")["bytes"] == 5
    p = s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"])
    assert p["stdout"] == "first\ngot line\n" and p["exit_code"] == 0 and not p["running"], p
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], offset=6)["stdout"] == "got line\n"
    # Longer than the client waits.
    h = s.good("run_command", sandbox_id=box, command=f"echo a; {until('/tmp/go')}; echo b", wait_s=1)
    assert h["running"] and h["next_offset"] == len(h["stdout"]), h
    wait_for("its first line", lambda: s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], wait_s=0)["stdout"] == "a\n")
    h = s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], wait_s=1)
    assert h["running"] and h["stdout"] == "a\n" and h["next_offset"] == 2, h
    s.good("write_file", sandbox_id=box, path="/tmp/go", content="")
    p = s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], offset=h["next_offset"], wait_s=30)
    assert p["stdout"] == "b\n" and p["exit_code"] == 0
    h = s.good("run_command", sandbox_id=box, command="sleep 600", background=True)
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"], wait_s=0)["running"]
    s.good("exec_signal", sandbox_id=box, exec_id=h["exec_id"], signal="KILL")
    assert s.good("exec_poll", sandbox_id=box, exec_id=h["exec_id"])["signal"] == "SIGKILL"
    s.end()


def test_once(d):
    """Without a sandbox: one is made and goes."""
    s = Session(d)
    before = len(boxes(d))
    r = s.good("run_code", code="import os\nprint(os.getpid() > 0)")
    assert r["stdout"] == "True\n" and not r["sandbox_kept"], r
    assert s.good("run_command", command="echo x")["stdout"] == "x\n"
    c = s.good("container_start", code="print('hi')")
    assert c["stdout"] == "hi\n" and c["exit_code"] == 0 and c["container_id"]
    assert len(boxes(d)) == before
    kept = s.good("container_start", command="echo 1 > /tmp/f", keep=True)["container_id"]
    assert s.good("container_exec", container_id=kept, command="cat /tmp/f")["stdout"] == "1\n"
    assert len(boxes(d)) == before + 1
    s.good("container_stop", container_id=kept)
    assert len(boxes(d)) == before
    alone = s.good("container_start")["container_id"]
    assert s.good("container_exec", container_id=alone, command="echo y")["stdout"] == "y\n"
    s.end()
    wait_for("the session's container to go", lambda: len(boxes(d)) == before)


def test_advice(d):
    """What went wrong, and what a model is told to do next."""
    s = Session(d)
    box = s.good("sandbox_create", memory="64m")["sandbox_id"]

    def text(name, **arguments):
        return s.call(name, sandbox_id=box, **arguments)["content"][0]["text"]

    assert "sandbox_create with memory" in text("run_command", command="python3 -c 'x = bytearray(300 << 20)'")
    code = "import urllib.request\nurllib.request.urlopen('http://nowhere.example', timeout=3)"
    assert "has no network" in text("run_code", code=code)
    assert "no network" not in text("run_command", command="exit 1")
    assert "larger timeout" in text("run_command", command="sleep 30", timeout=1)
    for name, arguments in (("read_file", {"path": "/nosuch"}), ("delete_path", {"path": "/nosuch"}), ("read_file", {"path": "/tmp"})):
        assert "list_files" in text(name, **arguments), name
    assert "workspace" in text("write_file", path="/usr/x", content="")
    assert "exec_id" in text("exec_poll", exec_id="nosuch")
    done = s.good("run_command", sandbox_id=box, command="true")["exec_id"]
    assert "exec_poll" in text("exec_input", exec_id=done, text="x")
    refused = s.bad("sandbox_create", memory="nonsense")
    assert refused["message"].startswith("memory:"), refused
    assert "container_list" in s.bad("sandbox_create", template="nosuch")["advice"]
    assert "container_list" in s.bad("run_code", code="x", language="cobol")["advice"]
    assert "sandbox_create" in s.bad("run_command", command="x", sandbox_id="nosuch")["advice"]
    s.end()


def test_output(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    r = s.good("run_command", sandbox_id=box, command="seq 1 1500000; printf 'end\\377\\n'")  # 10.4 MB
    total = sum(len(str(i)) + 1 for i in range(1, 1500001)) + 5
    assert r["truncated"] and r["stdout_bytes"] == total > 10_000_000, r["stdout_bytes"]
    assert r["stdout"].startswith("1\n2\n3\n") and r["stdout"].endswith("1500000\nend\ufffd\n")
    assert "bytes left out" in r["stdout"] and len(r["stdout"]) < 64 * 1024
    more = s.good("exec_poll", sandbox_id=box, exec_id=r["exec_id"], offset=r["next_offset"])
    all_of_it = "".join(f"{i}\n" for i in range(1, 1500001))
    at = r["next_offset"]  # the oldest bytes are not kept for so much output
    assert more["stdout"][:10000] == all_of_it[at:at + 10000], (at, more["stdout"][:100], all_of_it[at:at + 100])
    r = s.good("run_command", sandbox_id=box, command="seq 1 50000")
    got, at = r["stdout"].split("\n[\u2026")[0], r["next_offset"]
    for _ in range(100):
        r = s.good("exec_poll", sandbox_id=box, exec_id=r["exec_id"], offset=at)
        got += r["stdout"].split("\n[\u2026")[0] if r["truncated"] else r["stdout"]
        at = r["next_offset"]
        if not r["truncated"]:
            break
    assert got == "".join(f"{i}\n" for i in range(1, 50001)), "reading on leaves nothing out"
    bad = s.good("run_command", sandbox_id=box, command="printf 'a\\377b\\0c\\303'")
    assert bad["stdout"] == "a\ufffdb\0c\ufffd", bad
    uri = f"sandbox://{box}/exec/{bad['exec_id']}/stdout"
    content = s.must("resources/read", {"uri": uri})["contents"][0]
    assert base64.b64decode(content["blob"]) == b"a\xffb\0c\xc3"
    runs = s.good("run_command", sandbox_id=box, command="echo so far; sleep 600", background=True)["exec_id"]
    wait_for("its line", lambda: s.good("exec_poll", sandbox_id=box, exec_id=runs, wait_s=0)["stdout"])
    content = s.must("resources/read", {"uri": f"sandbox://{box}/exec/{runs}/stdout"})["contents"][0]
    assert content["text"] == "so far\n", content
    s.end()


def test_files(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    text = "line one\nline two ü\n"
    assert s.good("write_file", sandbox_id=box, path="a/b.txt", content=text)["bytes"] == len(text.encode())
    assert s.good("read_file", sandbox_id=box, file_path="a/b.txt")["content"] == text
    s.good("edit_file", sandbox_id=box, path="a/b.txt", old_string="two", new_string="2")
    assert s.good("read_file", sandbox_id=box, path="a/b.txt")["content"] == text.replace("two", "2")
    assert "0 times" in s.bad("edit_file", sandbox_id=box, path="a/b.txt", old_string="zz", new_string="")["message"]
    assert "2 times" in s.bad("edit_file", sandbox_id=box, path="a/b.txt", old_string="line", new_string="")["message"]
    s.good("edit_file", sandbox_id=box, path="a/b.txt", old_string="line", new_string="LINE", replace_all=True)
    assert s.good("read_file", sandbox_id=box, path="a/b.txt")["content"].count("LINE") == 2
    s.good("write_file", sandbox_id=box, path="bytes", content=base64.b64encode(bytes(range(256))).decode(), encoding="base64")
    raw = s.good("read_file", sandbox_id=box, path="bytes")
    assert raw["encoding"] == "base64" and base64.b64decode(raw["content"]) == bytes(range(256))
    # In pieces, never inside a character.
    s.good("write_file", sandbox_id=box, path="long", content="ü" * 1000)
    got, at = "", 0
    for _ in range(100):
        piece = s.good("read_file", sandbox_id=box, path="long", offset=at, limit=101)
        got, at = got + piece["content"], piece["next_offset"]
        if not piece["more"]:
            break
    assert got == "ü" * 1000
    names = [e["name"] for e in s.good("list_files", sandbox_id=box, path=".")["entries"]]
    assert sorted(names) == ["a", "bytes", "long"], names
    s.good("move_path", sandbox_id=box, path="long", to="short")
    s.good("delete_path", sandbox_id=box, path="short")
    assert s.bad("read_file", sandbox_id=box, path="short")["error"] == "not_found"
    where = s.good("run_command", sandbox_id=box, command="pwd")["stdout"].strip()
    content = s.must("resources/read", {"uri": f"sandbox://{box}/files{where}/bytes"})["contents"][0]
    assert base64.b64decode(content["blob"]) == bytes(range(256))
    assert s.ask("resources/read", {"uri": f"sandbox://{box}/files/../etc/passwd"})["error"]["code"] == -32002
    assert any(r["uri"] == f"sandbox://{box}/info" for r in s.must("resources/list")["resources"])
    assert json.loads(s.must("resources/read", {"uri": f"sandbox://{box}/info"})["contents"][0]["text"])["sandbox_id"] == box
    assert s.must("completion/complete", {"ref": {"type": "ref/resource", "uri": "sandbox://{id}/info"},
                                          "argument": {"name": "id", "value": box[:4]}})["completion"]["values"] == [box]
    # Images that code makes.
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    s.good("write_file", sandbox_id=box, path="old.png", content=base64.b64encode(png).decode(), encoding="base64")
    time.sleep(0.05)
    r = s.call("run_code", sandbox_id=box, code=f"open('plot.png','wb').write({png!r})")
    images = [c for c in r["content"] if c["type"] == "image"]
    assert len(images) == 1 and images[0]["mimeType"] == "image/png" and base64.b64decode(images[0]["data"]) == png, r
    r = s.call("read_file", sandbox_id=box, path="plot.png")
    assert r["content"][0]["type"] == "image"
    s.end()


def test_progress(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    # Each line comes when the one before was told.
    r, c = s.begin("tools/call", {"name": "run_command", "arguments": {
        "sandbox_id": box, "command": f"for i in 1 2 3; do echo line $i; {until('/tmp/heard$i')}; done"}}, {"progressToken": "p1"})
    told, progress = [], []
    for _, m in events(r):
        told += [m] if m else []
        if m and m.get("method") == "notifications/progress":
            progress.append(m["params"])
            s.good("write_file", sandbox_id=box, path=f"/tmp/heard{len(progress)}", content="")
    c.close()
    assert len(progress) == 3 and all(p["progressToken"] == "p1" for p in progress), told
    values = [p["progress"] for p in progress]
    assert values == sorted(set(values)) and all(f"line {i + 1}" in p["message"] for i, p in enumerate(progress)), told
    assert "result" in told[-1] and told[-1]["result"]["structuredContent"]["exit_code"] == 0
    s.must("logging/setLevel", {"level": "info"})
    told = s.all("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo x; echo y >&2"}})
    logs = {m["params"]["logger"]: m["params"]["data"]["text"] for m in told if m.get("method") == "notifications/message"}
    assert logs == {"stdout": "x\n", "stderr": "y\n"}, told
    s.end()


def test_tasks(d):
    s = Session(d)
    assert s.hello["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    tools = {t["name"]: t for t in s.must("tools/list")["tools"]}
    assert tools["run_command"]["execution"] == {"taskSupport": "optional"} and "execution" not in tools["read_file"]

    def begin(command, **more):
        return s.must("tools/call", {"name": "run_command", "arguments": {"command": command, **more}, "task": {"ttl": 600000}})["task"]

    # Legacy: asked for; waited for; the result is the tool's.
    t = begin("sleep 0.3; echo done")
    assert t["status"] == "working" and t["ttl"] == 600000 and t["createdAt"].endswith("Z"), t
    r = s.must("tasks/result", {"taskId": t["taskId"]})
    assert r["structuredContent"]["stdout"] == "done\n" and r["_meta"] == {
        "io.modelcontextprotocol/related-task": {"taskId": t["taskId"]}}, r
    assert s.must("tasks/get", {"taskId": t["taskId"]})["status"] == "completed"
    assert [x["taskId"] for x in s.must("tasks/list")["tasks"]] == [t["taskId"]]
    assert s.ask("tasks/cancel", {"taskId": t["taskId"]})["error"]["code"] == -32602
    bad = begin("x", sandbox_id="nosuch")
    assert s.must("tasks/result", {"taskId": bad["taskId"]})["isError"]
    assert s.must("tasks/get", {"taskId": bad["taskId"]})["status"] == "failed"
    # Cancelled: the command is killed; the session's end is no cancel.
    t = begin("exec sleep 7561")
    wait_for("the command", lambda: run_count(d, "7561") == 1)
    assert s.must("tasks/cancel", {"taskId": t["taskId"]})["status"] == "cancelled"
    wait_for("its end", lambda: run_count(d, "7561") == 0)
    assert "cancelled" in s.ask("tasks/result", {"taskId": t["taskId"]})["error"]["message"]
    box = d.make()
    t = begin("exec sleep 7562", sandbox_id=box)
    wait_for("the command", lambda: run_count(d, "7562") == 1)
    s.end()
    s = Session(d)
    assert s.must("tasks/get", {"taskId": t["taskId"]})["status"] == "working" and run_count(d, "7562") == 1
    other = Session(d, token=d.make_token("--owner", "somebody"))
    assert other.ask("tasks/get", {"taskId": t["taskId"]})["error"]["code"] == -32602
    assert other.must("tasks/list")["tasks"] == []
    other.end()
    # More than are kept: what has ended goes before its time, oldest first, and what works does not.
    many = [begin("x", sandbox_id="nosuch")["taskId"] for _ in range(130)]
    assert s.ask("tasks/get", {"taskId": many[0]})["error"]["code"] == -32602
    assert s.must("tasks/result", {"taskId": many[-1]})["isError"]
    assert s.must("tasks/get", {"taskId": t["taskId"]})["status"] == "working"
    s.must("tasks/cancel", {"taskId": t["taskId"]})
    for params, code in (({"name": "read_file", "task": {}}, -32601), ({"name": "run_command", "task": 5}, -32602)):
        assert s.ask("tools/call", params)["error"]["code"] == code
    assert s.ask("tasks/get", {"taskId": "nosuch"})["error"]["code"] == -32602
    s.end()
    # Modern: the server makes one of what takes long, for clients that know tasks.
    can = {"extensions": {"io.modelcontextprotocol/tasks": {}}}

    def is_quick():
        """Long is three seconds, which any command may take when the machine stands still."""
        quick = {"name": "run_command", "arguments": {"sandbox_id": box, "command": "echo quick"}}
        begun = time.monotonic()
        r = modern(d, "tools/call", quick, capabilities=can)[1][-1]["result"]
        if r["resultType"] == "task":
            assert time.monotonic() - begun >= 2.9, r
        else:
            assert r["structuredContent"]["stdout"] == "quick\n", r
        return r["resultType"] == "complete"

    wait_for("a command that is no task", is_quick)
    slow = {"sandbox_id": box, "command": f"{until('/tmp/go')}; echo slow"}
    _, found = modern(d, "tools/call", {"name": "run_command", "arguments": slow}, capabilities=can)
    t = found[-1]["result"]
    assert t["resultType"] == "task" and t["status"] == "working" and t["ttlMs"] > 0 and "ttl" not in t, t
    d.must(200, "PUT", f"/api/sandboxes/{box}/files?path=/tmp/go", b"")

    def task(method, **params):
        return modern(d, f"tasks/{method}", {"taskId": t["taskId"], **params}, headers={"Mcp-Name": t["taskId"]}, capabilities=can)[1][-1]

    wait_for("its end", lambda: task("get")["result"]["status"] != "working")
    r = task("get")["result"]
    assert r["status"] == "completed" and r["result"]["structuredContent"]["stdout"] == "slow\n", r
    assert task("update", inputResponses={})["result"]["resultType"] == "complete"
    assert task("cancel")["result"]["resultType"] == "complete" and task("get")["result"]["status"] == "completed"
    status, found = modern(d, "tasks/get", {"taskId": t["taskId"]}, headers={"Mcp-Name": t["taskId"]})
    assert status == 400 and found[-1]["error"]["code"] == -32021, found
    status, found = modern(d, "tasks/list", {}, capabilities=can)
    assert status == 404
    status, found = modern(d, "tasks/get", {"taskId": "nosuch"}, headers={"Mcp-Name": "other"}, capabilities=can)
    assert status == 400 and found[-1]["error"]["code"] == -32020
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_task_asks(d):
    """A question inside a task: it waits for the person, who is asked on the stream of tasks/result."""
    s = Session(d, capabilities={"elicitation": {}})

    def begin(code):
        what = {"name": "run_code", "arguments": {"code": code, "template": "careful"}, "task": {}}
        task = s.must("tools/call", what)["task"]["taskId"]
        wait_for("the question", lambda: s.must("tasks/get", {"taskId": task})["status"] == "input_required")
        return task

    def result(task, reply):
        r, c = s.begin("tasks/result", {"taskId": task})
        stream = (m for _, m in events(r) if m)
        question = next(stream)
        assert question["method"] == "elicitation/create" and "careful" in question["params"]["message"], question
        assert question["params"]["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": task}}, question
        assert s.post({"jsonrpc": "2.0", "id": question["id"], "result": reply}).status == 202
        found = next(stream)["result"]
        c.close()
        return found

    t = begin("print('allowed')")
    assert result(t, {"action": "accept", "content": {"approve": True}})["structuredContent"]["stdout"] == "allowed\n"
    assert s.must("tasks/get", {"taskId": t})["status"] == "completed"
    t = begin("print(1)")
    assert result(t, {"action": "decline"})["structuredContent"]["error"] == "declined"
    assert s.must("tasks/get", {"taskId": t})["status"] == "failed"
    t = begin("print(1)")
    assert s.must("tasks/cancel", {"taskId": t})["status"] == "cancelled"
    # A client that cannot ask gets the token, as without a task.
    other = Session(d)
    what = {"name": "run_code", "arguments": {"code": "print(2)", "template": "careful"}, "task": {}}
    t = other.must("tools/call", what)["task"]["taskId"]
    assert other.must("tasks/result", {"taskId": t})["structuredContent"]["confirm_token"]
    other.end()
    s.end()


HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}  # where a tool says nothing
READING = {"container_list", "exec_poll", "read_file", "search", "find", "list_files", "intent_detect", "sandbox_list", "sandbox_info"}
RUNNING = {"container_start", "container_exec", "run_code", "run_command", "more_tools"}
REPEATABLE = {"container_stop", "delete_path", "sandbox_extend", "sandbox_destroy"}
MAKING = {"port_url", "sandbox_create", "sandbox_extend"}


def tokens(text):
    """How many a model reads: four characters each, which is what English and JSON come to."""
    return len(text) / 4


def test_schemas(d):
    """Every tool can be called, says truly what it is, and the list of all of them is short."""
    s = Session(d)
    tools = {t["name"]: t for t in s.must("tools/list")["tools"]}
    assert tokens(json.dumps(list(tools.values()), separators=(",", ":"), ensure_ascii=False)) <= 4000
    for name, t in tools.items():
        hints = {**HINTS, **t["annotations"]}
        assert hints["readOnlyHint"] == (name in READING), name
        assert hints["openWorldHint"] == (name in RUNNING), name
        assert hints["idempotentHint"] == (name in REPEATABLE), name
        assert name in READING or hints["destructiveHint"] == (name not in MAKING), name
    left = set(tools)

    def call(name, **arguments):
        left.discard(name)
        r = s.call(name, **arguments)
        assert not r.get("isError") and r["content"][0]["text"], r
        return r["structuredContent"]

    box = call("sandbox_create")["sandbox_id"]
    call("container_list")
    started = call("container_start", code="print(1)")
    assert started["exit_code"] == 0
    kept = call("container_start")["container_id"]
    call("container_exec", container_id=kept, command="exit 3")
    call("container_stop", container_id=kept)
    call("run_code", sandbox_id=box, code="print(1)")
    call("run_command", command="kill -9 $$", sandbox_id=box)
    h = call("run_command", command="read x; sleep 600", sandbox_id=box, background=True)["exec_id"]
    call("exec_poll", sandbox_id=box, exec_id=h, wait_s=0)
    call("exec_input", sandbox_id=box, exec_id=h, text="x\n")
    call("exec_signal", sandbox_id=box, exec_id=h, signal="KILL")
    call("write_file", sandbox_id=box, path="a", content="text")
    call("read_file", sandbox_id=box, path="a")
    call("edit_file", sandbox_id=box, path="a", old_string="t", new_string="T", replace_all=True)
    call("list_files", sandbox_id=box)
    call("find", sandbox_id=box, pattern="a")
    call("search", sandbox_id=box, pattern="T.x")
    call("sandbox_extend", sandbox_id=box, timeout=3600)
    longer = call("sandbox_extend", sandbox_id=box, idle_timeout=7200)  # the one stays when the other is changed
    assert longer["idle_limit_ms"] == 7200000 and 3500000 < longer["expires_in_ms"] <= 3600000, longer
    assert "timeout" in s.bad("sandbox_extend", sandbox_id=box)["message"]
    call("move_path", sandbox_id=box, path="a", to="b")
    call("delete_path", sandbox_id=box, path="b")
    call("port_url", sandbox_id=box, port=8000)
    call("sandbox_list")
    call("sandbox_info", sandbox_id=box)
    assert call("more_tools", tool="sandbox_info", arguments={"sandbox_id": box})["sandbox_id"] == box
    intent = call("intent_detect", message="Please run this:\n```python\nprint(1)\n```")
    assert intent["decision"] == "run" and intent["code"]["text"].strip() == "print(1)", intent
    call("intent_detect", message="What is a list?")
    call("sandbox_destroy", sandbox_id=box)
    assert not left, left
    assert s.ask("resources/list", {"cursor": "nonsense"})["error"]["code"] == -32602
    s.end()


def names(s):
    return {t["name"] for t in s.must("tools/list")["tools"]}


def test_groups(d):
    """Tools of a group are listed for who asks: by the address, or by more_tools. Whoever knows a tool may call it."""
    s = Session(d)
    more = next(t for t in s.must("tools/list")["tools"] if t["name"] == "more_tools")
    assert "network" in more["description"] and "network_get" not in names(s)
    groups = {g["group"]: g["tools"] for g in s.good("more_tools")["groups"]}
    assert set(groups["network"]) >= {"network_get", "network_log", "network_update", "network_suggest", "network_presets"}, groups
    assert "there is no group 'nosuch'" in s.bad("more_tools", group="nosuch")["message"]
    assert "no tool nosuch" in s.bad("more_tools", tool="nosuch")["message"]
    assert "no tool more_tools" in s.bad("more_tools", tool="more_tools")["message"]
    assert "needs tool" in s.bad("more_tools", arguments={})["message"]
    assert "is required" in s.bad("more_tools", tool="network_get")["message"]
    for group, tools in groups.items():
        told = s.good("more_tools", group=group)
        assert [t["name"] for t in told["tools"]] == tools
        assert tokens(json.dumps(told["tools"], separators=(",", ":"), ensure_ascii=False)) <= 4000, group
        assert set(tools) <= names(s)
    s.end()
    s = Session(d, path="/mcp?tools=network")
    assert set(groups["network"]) <= names(s) and s.hello["capabilities"]["tools"] == {"listChanged": True}
    netted = d.must(201, "POST", "/api/sandboxes", {"allow": ["example.org"]}, token=d.make_token("--scope", "admin"))["sandbox_id"]
    assert s.good("network_get", sandbox_id=netted)["allow"] == ["example.org"]
    assert s.good("network_log", sandbox_id=netted, limit=5)["entries"] == []
    assert "administrators" in s.bad("network_update", sandbox_id=netted, add_allow=["a.example"])["message"]  # who made it is one
    assert "limit" in s.bad("network_log", sandbox_id=netted, limit=0)["message"]
    s.good("sandbox_destroy", sandbox_id=netted)
    s.end()
    s = Session(d, path="/mcp?tools=all")
    everything = names(s)
    assert all(set(tools) <= everything for tools in groups.values())
    s.end()
    for query in ("tools=nosuch", "tools=network,nosuch", "tools=network&tools=network", "tools=" + "x" * 600):
        a = d.ask("POST", "/mcp?" + query, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}), headers={"Accept": "*/*"})
        assert a.status == 400 and "network" in a.json["error"]["message"], a


def test_time(d):
    """What an agent alone can do: steps, what they changed, going back, a replay, copies under a name, and sandboxes of them."""
    s = Session(d, path="/mcp?tools=time")
    box = s.good("sandbox_create", checkpoint=True, record=True)["sandbox_id"]
    for c in ("echo one > f", "echo two > f; echo new > g"):
        s.good("run_command", sandbox_id=box, command=c)
    newest = s.good("step_list", sandbox_id=box)["steps"][0]
    assert newest["before"] == "echo two > f; echo new > g", newest
    changes = {(c["change"], c["name"]) for c in s.good("step_diff", sandbox_id=box)["changes"]}
    assert changes == {("changed", "/workspace/f"), ("added", "/workspace/g")}, changes
    assert s.good("sandbox_replay", sandbox_id=box)["same"] is True
    assert s.good("sandbox_undo", sandbox_id=box)["step"] == newest["step"]
    shot = s.must("tools/call", {"name": "snapshot_create", "arguments": {"sandbox_id": box, "name": "mcp-base"}})["structuredContent"]["snapshot_id"]
    other = s.good("sandbox_create", snapshot="mcp-base")["sandbox_id"]
    forks = [f["sandbox_id"] for f in s.good("sandbox_fork", sandbox_id="mcp-base", count=2)["sandboxes"]]
    for one in (box, other, *forks):
        assert s.good("run_command", sandbox_id=one, command="cat f; test ! -e g")["stdout"] == "one\n"
        s.good("sandbox_destroy", sandbox_id=one)
    assert [n["snapshot_id"] for n in s.good("snapshot_list")["snapshots"]] == [shot]
    s.good("snapshot_remove", snapshot_id=shot)
    s.end()


def test_groups_in_lines(d):
    """`cay mcp`: a client is told that its list has changed; --tools asks at once."""
    hello = request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})

    def begin(*words):
        return start_lines([CAY, "mcp", "--data", os.path.join(d.folder, "data"), *words])

    def end(lines):
        lines.stdin.close()
        status = lines.wait(timeout=PATIENCE_S)
        lines.stdout.close()
        return status

    lines = begin()
    talk(lines, hello)
    lines.stdin.write((json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n").encode())
    lines.stdin.write((json.dumps(request("tools/call", {"name": "more_tools", "arguments": {"group": "network"}}, 2)) + "\n").encode())
    heard = [json.loads(lines.stdout.readline()) for _ in range(2)]
    assert {m.get("method", m.get("id")) for m in heard} == {"notifications/tools/list_changed", 2}, heard
    assert end(lines) == 0
    lines = begin("--tools", "network")
    talk(lines, hello)
    assert "network_get" in {t["name"] for t in talk(lines, request("tools/list", {}, 2))["result"]["tools"]}
    assert end(lines) == 0
    assert end(begin("--tools", "nosuch")) != 0


def test_pages(d):
    s = Session(d)
    made = {s.good("sandbox_create")["sandbox_id"] for _ in range(102)}
    first = s.must("resources/list")
    second = s.must("resources/list", {"cursor": first["nextCursor"]})
    seen = [r["uri"].split("/")[2] for page in (first, second) for r in page["resources"] if r["uri"].startswith("sandbox://")]
    assert len(seen) == 102 and set(seen) == made and "nextCursor" not in second
    s.end()


def test_complete(d):
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    exec_id = s.good("run_command", sandbox_id=box, command="mkdir -p /tmp/one/two; touch /tmp/one/three")["exec_id"]

    def complete(name, value, given=None):
        params = {"ref": {"type": "ref/resource", "uri": "sandbox://{id}/x"}, "argument": {"name": name, "value": value}}
        if given:
            params["context"] = {"arguments": given}
        return s.must("completion/complete", params)["completion"]["values"]

    assert sorted(complete("path", "tmp/one/t", {"id": box})) == ["tmp/one/three", "tmp/one/two/"]
    assert complete("path", "tmp/on", {"id": box}) == ["tmp/one/"]
    assert complete("path", "tmp/one/t") == [] and complete("path", "x", {"id": "nosuch"}) == []
    assert complete("exec_id", exec_id[:3], {"id": box}) == [exec_id]
    assert complete("name", "care") == ["careful"]
    s.end()


def address(server):
    return server.get("url") or server.get("httpUrl") or server.get("serverUrl")


def setups(page):
    """Every server that a block of the page names: its command, or its address and fields."""
    def walk(v):
        if isinstance(v, dict) and ("command" in v or address(v)):
            yield v
        elif isinstance(v, dict):
            for member in v.values():
                yield from walk(member)

    for kind, text in re.findall(r"```(json|ini|text)\n(.*?)```", page, re.S):
        if kind == "text":
            for words in (shlex.split(line) for line in text.splitlines()):
                if words[:3] in (["claude", "mcp", "add"], ["codex", "mcp", "add"]) and "--" in words:
                    yield {"command": words[words.index("--") + 1:]}
                elif words[:3] == ["claude", "mcp", "add"]:
                    yield {"url": words[6], "headers": dict([words[words.index("--header") + 1].split(": ")])}
                elif words[0] == "npx":
                    yield {"command": words[3:words.index("--method")]}
        else:
            yield from walk(json.loads(text) if kind == "json" else tomllib.loads(text))


def test_setups(d):
    """The lines of docs/mcp.md that people paste."""
    with open(os.path.join(os.environ["CAY_SOURCE_DIR"], "docs", "mcp.md"), encoding="utf-8") as f:
        found = list(setups(f.read()))
    assert len(found) >= 12, found
    env = {**os.environ, "PATH": os.path.dirname(CAY) + ":" + os.environ["PATH"], "CAY_DATA": os.path.join(d.folder, "data")}
    commands = set()
    for s in found:
        if address(s):
            assert address(s) == "http://127.0.0.1:8888/mcp", s
            assert s.get("headers") == {"Authorization": "Bearer KEY"} or s["bearer_token_env_var"] == "CAY_TOKEN", s
            Session(d, path=address(s).replace("http://127.0.0.1:8888", "")).end()
        else:
            commands.add(tuple(s["command"] if isinstance(s["command"], list) else [s["command"], *s["args"]]))
    assert commands == {("cay", "mcp")}
    with start_lines(list(*commands), env=env) as p:
        talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}}))
        assert len(talk(p, request("tools/list", {}, 2))["result"]["tools"]) > 15
        p.stdin.close()
        assert p.wait(PATIENCE_S) == 0


def test_confirm(d):
    """needs_confirm: asked the legacy way, the modern way, and with a token."""
    yes = {"action": "accept", "content": {"approve": True}}
    s = Session(d, capabilities={"elicitation": {}})
    r, c = s.begin("tools/call", {"name": "sandbox_create", "arguments": {"template": "careful"}})
    stream = (m for _, m in events(r) if m)
    question = next(stream)
    assert question["method"] == "elicitation/create" and question["params"]["requestedSchema"]["required"] == ["approve"]
    assert question["params"]["message"] == "Make a sandbox: template 'careful' needs a confirmation. Allow it?", question
    assert s.post({"jsonrpc": "2.0", "id": question["id"], "result": yes}).status == 202
    assert next(stream)["result"]["structuredContent"]["template"] == "careful"
    c.close()
    r, c = s.begin("tools/call", {"name": "sandbox_create", "arguments": {"template": "careful"}})
    stream = (m for _, m in events(r) if m)
    question = next(stream)
    s.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    assert next(stream)["result"]["structuredContent"]["error"] == "declined"
    c.close()
    s.end()
    wait_for("the session's sandbox to go", lambda: not boxes(d))
    what = {"name": "run_code", "arguments": {"code": "print(1)", "template": "careful"}}
    can = {"elicitation": {"form": {}}}
    _, found = modern(d, "tools/call", what, capabilities=can)
    asked = found[-1]["result"]
    assert asked["resultType"] == "input_required" and asked["inputRequests"]["confirm"]["method"] == "elicitation/create", asked
    again = {**what, "requestState": asked["requestState"], "inputResponses": {"confirm": yes}}
    _, found = modern(d, "tools/call", again, capabilities=can, id=2)
    assert found[-1]["result"]["structuredContent"]["stdout"] == "1\n", found
    _, found = modern(d, "tools/call", again, capabilities=can, id=3)
    assert found[-1]["error"]["code"] == -32602, "a confirmation works once"
    for state in ("x" * 32, asked["requestState"][:-1] + ("a" if asked["requestState"][-1] != "a" else "b"), "", "x" * 200):
        _, found = modern(d, "tools/call", {**again, "requestState": state}, capabilities=can, id=3)
        assert found[-1]["error"]["code"] == -32602 and "requestState" in found[-1]["error"]["message"], found
    _, found = modern(d, "tools/call", what, capabilities=can, id=4)
    other = {"name": "run_code", "arguments": {"code": "print(2)", "template": "careful"},
             "requestState": found[-1]["result"]["requestState"], "inputResponses": {"confirm": yes}}
    _, found = modern(d, "tools/call", other, capabilities=can, id=5)
    assert found[-1]["error"]["code"] == -32602, "and for nothing else"
    s = Session(d)
    refused = s.bad("run_code", code="print(3)", template="careful")
    assert refused["needs_confirm"] and refused["confirm_token"], refused
    assert s.good("run_code", code="print(3)", template="careful", confirm_token=refused["confirm_token"])["stdout"] == "3\n"
    wipe = {"code": "rm -rf ./old; echo gone", "language": "shell", "from_message": "run this:\n```sh\nrm -rf ./old; echo gone\n```"}
    refused = s.bad("run_code", **wipe)
    assert refused["needs_confirm"] and refused["confirm_token"], refused
    assert s.good("run_code", **wipe, confirm_token=refused["confirm_token"])["stdout"] == "gone\n"
    assert s.good("run_code", code="print(4)", from_message="run print(4)")["stdout"] == "4\n"
    kept = s.good("sandbox_create")["sandbox_id"]
    assert "from_message" in json.dumps(s.bad("run_code", **wipe, sandbox_id=kept)), "never passed over in silence"
    s.good("sandbox_destroy", sandbox_id=kept)
    # SYSTEM.md: a resource and a prompt.
    uris = [r["uri"] for r in s.must("resources/list")["resources"]]
    assert "template://careful/SYSTEM.md" in uris, uris
    assert "Be careful" in s.must("resources/read", {"uri": "template://careful/SYSTEM.md"})["contents"][0]["text"]
    assert "use_careful" in [p["name"] for p in s.must("prompts/list")["prompts"]]
    assert "Be careful" in s.must("prompts/get", {"name": "use_careful"})["messages"][0]["content"]["text"]
    listed = {t["name"]: t for t in s.good("container_list")["templates"]}
    assert listed["careful"]["needs_confirm"], listed
    s.end()


def test_find(d):
    """Searching, finding and listing: sorted, bounded, in texts that a model can follow."""
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    s.good("run_command", sandbox_id=box, command="mkdir -p src/b; echo 'int main(void)' >src/b/m.c; echo Main >src/a.h; printf 'x\\0main' >bin; "
                                                  "ln -s /etc/passwd l; mkfifo p; seq 1 5000 >numbers; mkdir many; cd many; seq 1 2000 | xargs touch")
    r = s.call("search", sandbox_id=box, pattern=r"\bmain\(")
    assert [(m["name"], m["line"], m["text"]) for m in r["structuredContent"]["matches"]] == [("src/b/m.c", 1, "int main(void)")], r
    assert "src/b/m.c:1:int main(void)\n" in r["content"][0]["text"]
    found = s.good("search", sandbox_id=box, pattern="main", ignore_case=True, glob="*.{c,h}")["matches"]
    assert [m["name"] for m in found] == ["src/a.h", "src/b/m.c"], found
    assert s.good("search", sandbox_id=box, pattern="n(v", literal=True, path="src/b/m.c")["matches"][0]["line"] == 1
    r = s.call("search", sandbox_id=box, pattern=".")
    assert r["structuredContent"]["more"] and tokens(r["content"][0]["text"]) <= 10000 and "narrower" in r["content"][0]["text"], r
    assert len(s.good("search", sandbox_id=box, pattern=".", limit=3000, path="numbers")["matches"]) == 3000
    bad = s.bad("search", sandbox_id=box, pattern="(a")
    assert bad["message"].startswith("pattern:"), bad
    assert s.bad("search", sandbox_id=box, pattern="a", path="nosuch")["error"] == "not_found"
    r = s.call("find", sandbox_id=box, pattern="src/**/*.c")
    assert r["content"][0]["text"] == "src/b/m.c (15)\n", r
    assert s.bad("find", sandbox_id=box, pattern="[z-a]")["message"].startswith("pattern:")
    r = s.call("list_files", sandbox_id=box)
    names = [e["name"] for e in r["structuredContent"]["entries"]]
    assert names == sorted(names) and "src/\n" in r["content"][0]["text"] and "l -> /etc/passwd\n" in r["content"][0]["text"], r
    got, at = [], 0
    while True:
        r = s.call("list_files", sandbox_id=box, path="many", offset=at)
        assert tokens(r["content"][0]["text"]) <= 10000 and tokens(json.dumps(r["structuredContent"])) <= 10000
        got += [e["name"] for e in r["structuredContent"]["entries"]]
        if not r["structuredContent"]["more"]:
            break
        at = r["structuredContent"]["next_offset"]
        assert f"offset {at}" in r["content"][0]["text"]
    assert got == sorted(str(i) for i in range(1, 2001)), len(got)
    # By lines.
    r = s.call("read_file", sandbox_id=box, path="numbers", line=100, lines=3)
    assert r["structuredContent"]["content"] == "100\n101\n102\n" and "line 103" in r["content"][0]["text"], r
    assert "5000 lines" in s.bad("read_file", sandbox_id=box, path="numbers", line=6000)["message"]
    s.good("run_command", sandbox_id=box, command="seq 1 50000 >long")
    got, line = "", 1
    while True:
        r = s.call("read_file", sandbox_id=box, path="long", line=line)
        assert tokens(r["content"][0]["text"]) <= 10000
        got += r["structuredContent"]["content"]
        if not r["structuredContent"]["more"]:
            break
        line = r["structuredContent"]["next_line"]
    assert got == "".join(f"{i}\n" for i in range(1, 50001))
    s.end()


def test_texts(d):
    """What a client that passes on text alone needs to go on; bounds of what is told on the way."""
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]

    def text(name, **arguments):
        return s.call(name, **arguments)["content"][0]["text"]

    made = s.call("sandbox_create")
    assert made["structuredContent"]["idle_limit_ms"] == 1800000 and made["structuredContent"]["sandbox_id"] in made["content"][0]["text"]
    assert "not used for 30 minutes (sandbox_extend changes that), or with this session." in made["structuredContent"]["next"], made
    named = s.must("tools/call", {"name": "sandbox_create", "arguments": {"name": "stays"}})["structuredContent"]
    assert named["idle_limit_ms"] == 0 and named["next"].endswith("It stays until sandbox_destroy."), named
    s.good("sandbox_destroy", sandbox_id="stays")
    kept = s.call("container_start")
    assert kept["structuredContent"]["container_id"] in kept["content"][0]["text"]
    cut = text("run_command", sandbox_id=box, command="seq 1 30000")
    again = re.search(r"exec_poll with sandbox_id (\S+), exec_id (\S+) and offset (\d+)", cut)
    assert again and tokens(cut) <= 10000, cut[-300:]
    more = text("exec_poll", sandbox_id=again[1], exec_id=again[2], offset=int(again[3]))
    assert tokens(more) <= 10000 and "bytes left out" not in more and re.search(r"exec_id \S+ and offset \d+", more), more[-300:]
    gone = text("run_command", command="seq 1 30000")
    assert "exec_poll with" not in gone and "sandbox_create" in gone, gone[-300:]
    # A command of a fresh sandbox that goes on: its sandbox has an idle life, which is said.
    on = s.call("run_command", command="sleep 60", wait_s=1)
    assert on["structuredContent"]["sandbox_id"] in on["content"][0]["text"] and "five minutes" in on["content"][0]["text"], on
    assert d.must(200, "GET", "/api/sandboxes/" + on["structuredContent"]["sandbox_id"])["idle_limit_ms"] == 300000
    # Relative folders, input that is applied once.
    assert s.good("run_command", sandbox_id=box, command="mkdir -p a/b; cd a/b; pwd")["exit_code"] == 0
    assert s.good("run_command", sandbox_id=box, command="pwd", cwd="a/b")["stdout"].endswith("/a/b\n")
    h = s.good("run_command", sandbox_id=box, command="cat", background=True)["exec_id"]
    for _ in range(2):
        s.good("exec_input", sandbox_id=box, exec_id=h, text="once\n", offset=0)
    s.good("exec_input", sandbox_id=box, exec_id=h, text="", close=True)
    assert s.good("exec_poll", sandbox_id=box, exec_id=h)["stdout"] == "once\n"
    # Log messages: bounded, and characters are whole although their bytes come apart.
    s.must("logging/setLevel", {"level": "info"})
    found = s.all("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": "timeout 3 yes"}}, {"progressToken": 7})
    assert sum(len(json.dumps(m)) for m in found[:-1]) < 700_000, len(found)
    split = "printf 'a\\303'; sleep 0.7; printf '\\274b\\n'; sleep 0.5"
    found = s.all("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": split}})
    told = "".join(m["params"]["data"].get("text", "") for m in found[:-1] if m["method"] == "notifications/message")
    assert told == "a\u00fcb\n", found
    s.end()


def test_crowd(d):
    """More calls than are worked on at once wait for their turn; more than ten commands run in the background."""
    s = Session(d)
    box = s.good("sandbox_create")["sandbox_id"]
    ids = [s.good("run_command", sandbox_id=box, command="sleep 600", background=True)["exec_id"] for _ in range(15)]
    assert len(set(ids)) == 15 and all(s.good("exec_poll", sandbox_id=box, exec_id=i, wait_s=0)["running"] for i in ids)
    p = start_lines([CAY, "mcp", "--data", os.path.join(d.folder, "data")])
    talk(p, request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
    lines = [json.dumps(request("tools/call", {"name": "run_command", "arguments": {"sandbox_id": box, "command": f"echo {i}"}}, i)) for i in range(200)]
    p.stdin.write(("\n".join(lines) + "\n").encode())
    answers = {}
    while len(answers) < 200:
        m = json.loads(p.stdout.readline())
        if "id" in m:
            answers[m["id"]] = m
    wrong = {i: m for i, m in answers.items() if m.get("result", {}).get("structuredContent", {}).get("stdout") != f"{i}\n"}
    assert not wrong, next(iter(wrong.items()))
    # A message that is too long is answered with its id, wherever that stands; what comes behind it is heard.
    long = b"x" * (14 << 20)
    for line in (b'{"jsonrpc":"2.0","params":{"id":1,"x":"\\"id"},"id":"long","method":"' + long + b'"}\n',
                 b'{"method":"tools/call","params":{"id":1,"x":["\\"id"],"y":"' + long + b'"},"jsonrpc":"2.0","id":"long"}\n'):
        p.stdin.write(line + json.dumps(request("ping", id="behind it")).encode() + b"\n")
        heard = {}
        while "behind it" not in heard:
            m = json.loads(p.stdout.readline())
            heard[m.get("id")] = m
        assert "too long" in heard["long"]["error"]["message"], heard
    p.stdin.close()
    p.wait(PATIENCE_S)
    s.end()


TESTS = [test_commands, test_once, test_advice, test_output, test_files, test_progress, test_tasks, test_task_asks, test_schemas, test_groups, test_time, test_groups_in_lines, test_pages,
         test_complete, test_setups, test_confirm, test_find, test_texts, test_crowd]
run(TESTS)
