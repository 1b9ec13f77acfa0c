#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The OpenAPI document, held against real answers: every op is called, and an answer with a member that the document does not name fails.
Needs Debian's python3-jsonschema.
"""
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if sys.executable != "/usr/bin/python3":
    try:
        import jsonschema
    except ImportError:  # another Python is first in the path; Debian's has the package
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import jsonschema  # noqa: E402
from agent_wire import FakeAgent  # noqa: E402
from daemon import Daemon, wait_for  # noqa: E402

STREAMS = {"file_watch"}  # answer with a stream alone
# docker/test_images.py holds answers of the first two against the document, docker/test_engines.py those of the others against their rows
WITH_DOCKER = {"template_build", "template_remove", "volume_list", "volume_remove"}
EVENTS = {"context_run", "network_log", "sandbox_events", "event_list", "template_build", "code_run", "exec_run", "exec_attach", "file_watch", "containers_start",
          "containers_exec", "service_execute"}  # answer with events, if they are asked for
METHODS = ("get", "post", "put", "delete", "patch")


class Api:
    def __init__(self, d):
        self.d = d
        self.document = d.must(200, "GET", "/api/openapi.json", token=False)
        self.ops = {op["operationId"]: (method, path, op) for path, item in self.document["paths"].items() for method, op in item.items()}
        self.called = set()

    def validator(self, schema):
        return jsonschema.Draft202012Validator({**schema, "components": self.document["components"]},
                                               format_checker=jsonschema.FormatChecker())

    def check_request(self, op, values, body):
        for p in op["parameters"]:
            assert not p["required"] or p["name"] in values, (op["operationId"], p)
        if isinstance(body, dict):
            self.validator(op["requestBody"]["content"]["application/json"]["schema"]).validate(body)

    def check_answer(self, op, answer):
        responses = op["responses"]
        response = responses.get(str(answer.status))
        if response is None:
            assert answer.status >= 400, (op["operationId"], answer)
            response = self.document["components"]["responses"]["Error"]
        kind = answer.headers["Content-Type"].split(";")[0]
        assert kind in response["content"], (op["operationId"], kind)
        if kind == "application/json":
            self.validator(response["content"][kind]["schema"]).validate(answer.json)

    def call(self, op_name, want=200, body=None, token=True, headers=None, **values):
        """values: of the path, else of the query."""
        method, path, op = self.ops[op_name]
        known = {p["name"] for p in op["parameters"]}
        assert set(values) <= known, (op_name, set(values) - known)
        self.check_request(op, values, body if want < 400 else None)
        for key in list(values):
            if "{" + key + "}" in path:
                path = path.replace("{" + key + "}", str(values.pop(key)))
        if values:
            path += "?" + "&".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in values.items())
        answer = self.d.ask(method.upper(), path, body, token=token if token != "admin" else False, unix=token == "admin", headers=headers)
        self.headers = answer.headers
        assert answer.status == want, (op_name, answer)
        self.check_answer(op, answer)
        if want < 400:
            self.called.add(op_name)
        return answer.json if answer.headers["Content-Type"].startswith("application/json") else answer.body


def check_document(api):
    document = api.document
    assert document["openapi"] == "3.1.0" and document["info"]["version"], document["info"]
    reference = {op["name"]: op for op in api.d.must(200, "GET", "/api/reference")["ops"]}
    assert set(api.ops) == set(reference), set(api.ops) ^ set(reference)
    with open(os.path.join(os.environ["CAY_SOURCE_DIR"], "sdk", "openapi.json"), encoding="utf-8") as f:
        assert json.load(f) == document, "sdk/openapi.json is not what the daemon serves: tools/update_openapi writes it"
    text = json.dumps(document)
    for name in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert name in document["components"]["schemas"], name
    for name, schema in document["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False, name
    for name, (method, path, op) in api.ops.items():
        assert method in METHODS and reference[name]["route"] == f"{method.upper()} {path}", name
        wanted = {p for p in path.split("/") if p.startswith("{")}
        assert {"{" + p["name"] + "}" for p in op["parameters"] if p["in"] == "path"} == wanted, name
        good = [r for code, r in op["responses"].items() if code.startswith("2")]
        assert good and all(r["content"] for r in good) or name in STREAMS, f"the row of {name} has no result"
        assert op["responses"]["default"] and op["security"], name
        streams = any("application/x-ndjson" in r.get("content", {}) for r in op["responses"].values())
        assert streams == (name in EVENTS), f"{name}: are its streams events?"
        if "requestBody" in op:
            for content in op["requestBody"]["content"].values():
                jsonschema.Draft202012Validator.check_schema(content.get("schema", {}))
        assert (reference[name]["scope"] == op["x-scope"]) and ({} in op["security"]) == (op["x-scope"] == "anybody"), name


def an_archive():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("in-it")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"hi"))
    return out.getvalue()


def sandboxes(api):
    box = api.call("sandbox_create", 201, {"name": "one", "project_name": "p", "labels": {"a": "b"}, "metadata": {"c": "d"},
                                           "limits": {"memory": "128m"}, "timeout": 600, "idle_timeout": "10m"})["sandbox_id"]
    api.call("sandbox_create", 201, {})
    api.call("sandbox_list", limit=1)
    api.call("sandbox_get", id=box)
    api.call("sandbox_stats", id=box)
    api.call("sandbox_extend", id=box, body={"timeout": 900})
    api.call("sandbox_pause", id=box)
    api.call("sandbox_resume", id=box)
    api.call("sandbox_stop", id=box)
    api.call("sandbox_start", id=box)
    api.call("sandbox_events", id=box)
    api.call("event_list")
    return box


def commands(api, box):
    api.call("exec_run", id=box, body={"command": ["echo", "hi"], "timeout": "10s"})
    api.call("exec_run", id=box, body={"command": "printf '\\377'; printf '\\376' >&2"})
    ended = api.call("exec_run", id=box, body={"command": "kill -9 $$"})["exec_id"]
    exec_id = api.call("exec_run", 202, id=box, body={"command": ["cat"], "open_stdin": True, "background": True, "tty": True})["exec_id"]
    api.call("exec_list", id=box)
    api.call("exec_get", id=box, exec=ended)
    api.call("exec_input", id=box, exec=exec_id, body=b"typed\n")
    api.call("exec_resize", id=box, exec=exec_id, body={"rows": 10, "cols": 20})
    api.call("exec_signal", id=box, exec=exec_id, body={"signal": "CONT"})
    api.call("exec_screen", id=box, exec=exec_id)
    api.call("process_list", id=box)
    api.call("exec_kill", id=box, exec=exec_id)
    wait_for("its end", lambda: api.d.must(200, "GET", f"/api/sandboxes/{box}/execs/{exec_id}")["status"] == "ended")
    api.call("exec_attach", id=box, exec=ended, raw="true")
    api.call("code_run", body={"code": "print(1)"})
    api.call("code_run", body={"command": "echo x; kill -9 $$", "memory_limit": "64m"})


def files(api, box):
    api.call("file_write", id=box, path="x", body=b"bytes")
    assert api.call("file_read", id=box, path="x") == b"bytes"
    api.call("file_mkdir", id=box, body={"path": "d/e", "parents": True})
    api.call("exec_run", id=box, body={"command": "ln -s /nowhere l"})
    for path in ("x", "d", "l"):
        api.call("file_stat", id=box, path=path)
    api.call("file_list", id=box, path=".", sorted=True)
    api.call("file_find", id=box, pattern="*")
    api.call("file_search", id=box, pattern="byt.s")
    api.call("file_move", id=box, body={"path": "x", "to": "y"})
    api.call("file_remove", id=box, body={"path": "y"})
    api.call("archive_put", id=box, path="d", body=an_archive())
    api.call("archive_get", id=box, path="d")
    api.call("file_write", id=box, path="tap", body=b"1..2\nok 1 - a\nnot ok 2 - b\n")
    assert api.call("test_results", id=box, path="tap")["failed"] == 1
    api.call("port_list", id=box)
    api.call("port_link", 201, id=box, body={"port": 8000})
    api.call("mcp_link", 201, body={"id": box})


def networks(api):
    box = api.call("sandbox_create", 201, {"allow": ["a.example"], "deny": ["*.a.example"], "limits": {"memory": "128m"}}, token="admin")["sandbox_id"]
    api.call("exec_run", id=box, body={"command": "getent hosts a.example b.example"}, token="admin")
    net = api.call("network_get", id=box, token="admin")
    assert net["allow"] == ["a.example"] and net["deny"] == ["*.a.example"] and net["queries"] > 0, net
    assert {e["verdict"] for e in api.call("network_log", id=box, token="admin")["entries"]} == {"allowed", "refused"}
    api.call("network_suggest", id=box, token="admin")
    net = api.call("network_update", id=box, body={"allow": ["c.example"]}, token="admin")
    assert net["allow"] == ["c.example"], net
    api.call("sandbox_destroy", id=box, token="admin")


def secrets(api):
    api.call("secret_set", 201, {"name": "KEY", "host": "a.example", "value": "v"}, token="admin")
    box = api.call("sandbox_create", 201, {"allow": ["a.example"], "secrets": ["KEY"], "limits": {"memory": "128m"}}, token="admin")["sandbox_id"]
    assert [s["name"] for s in api.call("secret_list", token="admin")["secrets"]] == ["KEY"]
    api.call("secret_remove", name="KEY", token="admin")
    api.call("sandbox_destroy", id=box, token="admin")


def the_browser(api):
    if not any(os.path.exists("/usr/lib/chromium/" + name) for name in ("chromium-headless-shell", "chromium")):
        api.called.update(name for name in api.ops if name.startswith("browser_"))
        return
    box = api.call("sandbox_create", 201, {"template": "browser"})["sandbox_id"]
    assert api.call("browser_start", body={}, id=box)["status"] == "running"
    assert api.call("browser_get", id=box)["tabs"][0]["url"] == "about:blank"
    assert api.call("browser_link", 201, {}, id=box)["url"].startswith("ws://")
    assert api.call("browser_run", body={"url": "data:text/html,<title>Page</title>"})["title"] == "Page"
    page = "data:text/html,<title>Page</title><input id=i><select><option>a</select><input type=file><button>B</button>"
    assert api.call("browser_navigate", body={"url": page}, id=box)["title"] == "Page"
    for name, body in (("history", {"go": "reload"}), ("click", {"target": "button"}), ("type", {"text": "x", "target": "#i"}),
                       ("press", {"keys": "Tab"}), ("scroll", {}), ("select", {"target": "select", "values": ["a"]}),
                       ("upload", {"target": "[type=file]", "files": ["/etc/passwd"]}), ("wait", {"target": "button"}),
                       ("text", {}), ("outline", {}), ("dom", {}), ("evaluate", {"expression": "confirm('?')"})):
        api.call("browser_" + name, body=body, id=box)
    api.call("browser_dialog", body={"accept": True}, id=box)
    assert api.call("browser_screenshot", body={}, id=box).startswith(b"\x89PNG")
    assert api.call("browser_pdf", body={}, id=box).startswith(b"%PDF")
    assert api.call("browser_list")["browsers"][0]["status"] == "running"
    assert api.call("browser_downloads", id=box)["downloads"] == []
    assert api.call("browser_downloads_zip", id=box).startswith(b"PK")
    assert api.call("browser_logs", id=box)["requests"] != []
    tab = api.call("browser_tab_open", body={}, id=box)["tab"]
    api.call("browser_tabs", id=box)
    api.call("browser_tab_select", body={}, id=box, tab=tab)
    api.call("browser_tab_close", id=box, tab=tab)
    api.call("browser_cookie_set", body={"name": "a", "value": "b", "domain": "a.test"}, id=box)
    api.call("browser_cookies", id=box)
    api.call("browser_cookies_clear", body={}, id=box)
    api.call("browser_console", id=box)
    number = api.call("browser_requests", id=box)["requests"][0]["number"]
    api.call("browser_request", id=box, number=number)
    assert api.call("browser_live_link", 201, {}, id=box)["page_url"].startswith("http")
    film = api.call("browser_record_start", 201, {}, id=box)["recording_id"]
    assert api.call("browser_record_stop", id=box, recording=film)["status"] == "ended"
    assert [r["recording_id"] for r in api.call("browser_record_list", id=box)["recordings"]] == [film]
    assert api.call("browser_record_get", id=box, recording=film)["status"] == "ended"
    assert b"recording.json" in api.call("browser_record_export", id=box, recording=film)
    assert api.call("browser_record_remove", id=box, recording=film)["removed"]
    assert api.call("browser_stop", id=box)["stopped"]
    api.call("sandbox_destroy", id=box)


def machines(api):
    added = api.call("remote_add", 201, {"name": "laptop"})
    assert added["code"].count("-") == 3 and added["state"] == "waiting", added
    assert [m["name"] for m in api.call("remote_list")["machines"]] == ["laptop"]
    assert api.call("remote_get", name="laptop")["paired_at"] is None
    api.call("remote_disconnect", 409, name="laptop")  # not paired yet
    folder = tempfile.mkdtemp(prefix="cay-agent-")
    try:
        agent = FakeAgent(api.d.port, folder, added["code"])
        assert api.call("remote_disconnect", name="laptop")["state"] == "disconnected"
        assert api.call("remote_connect", name="laptop")["state"] == "away"
        agent.close()
    finally:
        shutil.rmtree(folder)
    api.call("remote_remove", name="laptop")


def the_desktop(api):
    """Where Xvnc is not installed, its ops are not called: serve/test_desktop.py says so."""
    if not all(map(shutil.which, ("Xtigervnc", "openbox", "xterm"))):
        api.called.update(name for name in api.ops if name.startswith(("desktop_", "computer_")))
        return
    box = api.call("sandbox_create", 201, {})["sandbox_id"]
    api.call("desktop_get", id=box)
    api.call("desktop_start", 201, {"width": 800, "height": 600}, id=box)
    api.call("desktop_start", body={}, id=box)
    api.call("desktop_link", 201, {}, id=box)
    assert api.call("computer_screenshot", body={"scale": 0.5}, id=box).startswith(b"\x89PNG")
    api.call("computer_screen", id=box)
    for name, body in (("move", {"x": 1, "y": 2}), ("click", {"x": 1, "y": 2}), ("drag", {"x": 1, "y": 2, "to_x": 3, "to_y": 4}),
                       ("scroll", {"direction": "up"}), ("key", {"keys": "ctrl+a"}), ("type", {"text": "a"}), ("wait", {"still": "50ms"})):
        api.call("computer_" + name, body=body, id=box)
    api.call("desktop_get", id=box)
    api.call("desktop_link", 201, {"view_only": True}, id=box)
    api.call("desktop_stop", id=box)
    api.call("sandbox_destroy", id=box)


def the_contexts(api):
    box = api.call("sandbox_create", 201, {})["sandbox_id"]
    api.call("context_create", 201, {"name": "one", "language": "bash"}, id=box)
    assert api.call("context_run", body={"code": "echo hi"}, id=box, context="one")["stdout"] == "hi\n"
    assert api.call("context_run", body={"code": "{'a': 1}"}, id=box, context="python")["results"][0]["json"] == {"a": 1}
    assert [c["context_id"] for c in api.call("context_list", id=box)["contexts"]] == ["one", "python"]
    api.call("context_interrupt", id=box, context="one")
    api.call("context_restart", body={}, id=box, context="one")
    api.call("context_remove", id=box, context="one")
    api.call("journal_verify", id=box)
    api.call("sandbox_destroy", id=box)


def snapshots(api):
    kept = api.call("sandbox_create", 201, {"record": True})["sandbox_id"]
    x = api.call("exec_run", body={"command": ["echo", "shown"], "tty": True}, id=kept)["exec_id"]
    assert api.call("recording_get", id=kept)["terminals"][0]["exec_id"] == x
    assert b"shown" in api.call("recording_cast", id=kept, exec=x)
    assert api.call("sandbox_replay", body={}, id=kept)["same"]
    api.call("sandbox_destroy", id=kept)
    box = api.call("sandbox_create", 201, {})["sandbox_id"]
    api.call("exec_run", body={"command": "true", "checkpoint": True}, id=box)
    assert api.call("step_list", id=box)["steps"][0]["before"] == "true"
    assert api.call("step_diff", body={}, id=box)["changes"] == []
    assert api.call("sandbox_undo", body={"step": 1}, id=box)["kept_as"] == 2
    shot = api.call("snapshot_create", 201, {"name": "base"}, id=box)["snapshot_id"]
    assert api.call("snapshot_list")["snapshots"][0]["snapshot_id"] == shot
    assert api.call("snapshot_get", snapshot="base")["snapshot_id"] == shot
    one = api.call("sandbox_create", 201, {"snapshot": "base"})["sandbox_id"]
    api.call("sandbox_destroy", id=one)
    forks = [s["sandbox_id"] for s in api.call("sandbox_fork", 201, {"count": 1}, id=box)["sandboxes"]]
    for i in (box, *forks):
        api.call("sandbox_destroy", id=i)
    api.call("snapshot_remove", snapshot=shot)


def the_daemon(api):
    for token in (True, False):
        api.call("health_live", token=token)
        api.call("health_ready", token=token)
    for name in ("metrics_get", "metrics_text", "version_get", "engine_list", "whoami", "template_list"):
        api.call(name)
    presets = {p["name"]: p["rules"] for p in api.call("network_presets")["presets"]}
    assert "pypi.org" in presets["python"] and len(presets) > 5, presets
    api.call("template_get", name="python")
    api.call("template_build", 409, {}, token="admin", name="python")
    api.call("template_remove", 422, token="admin", name="python")
    box = api.call("sandbox_create", 201, {"volumes": ["data:/data"]})["sandbox_id"]
    assert api.call("volume_list")["volumes"][0]["name"] == "data"
    api.call("volume_remove", 409, name="data")
    api.call("sandbox_destroy", id=box)
    api.call("volume_remove", name="data")
    api.call("volume_remove", 404, token="admin", name="data")
    snapshots(api)
    for message in ("test this:\n```python\nprint(1)\n```", "explain this: `x = 1`", "good morning"):
        api.call("intent_detect", body={"message": message})
    api.call("config_get", token="admin")


def access(api):
    login = api.call("login_make", 201, {}, token="admin")["login"]
    api.call("login_use", body={"login": login}, token=False)
    session = {"Cookie": api.headers["Set-Cookie"].split(";")[0], "Origin": f"http://127.0.0.1:{api.d.port}"}
    api.call("logout", token=False, headers=session)
    api.call("token_make", 201, {"owner": "you"}, token="admin")
    key = api.call("key_make", 201, {"owner": "you", "label": "k"}, token="admin")["key_id"]
    api.call("key_list", token="admin")
    api.call("key_revoke", key=key, token="admin")


def lost_records(api):
    """A database that was lost: its files are there."""
    data = os.path.join(api.d.folder, "data")
    api.d.stop()
    for name in os.listdir(os.path.join(data, "state")):
        if name.startswith("state.db"):
            os.unlink(os.path.join(data, "state", name))
    for name in ("nobodys", "another"):
        with open(os.path.join(data, "layers", name + ".img"), "wb") as f:
            f.truncate(1 << 20)
    api.d.start()
    assert len(api.call("recover_list", token="admin")["files"]) == 2
    api.call("recover_adopt", 201, {"owner": "you", "name": "back"}, token="admin", files="nobodys")
    api.call("recover_remove", token="admin", files="another")
    api.call("sandbox_destroy", token="admin", id="nobodys")


def refusals(api, box):
    """Errors have their one form everywhere."""
    for name, (_, path, op) in sorted(api.ops.items()):
        values = {p["name"]: "nobody" for p in op["parameters"] if p["in"] == "path"}
        if not {} in op["security"]:
            api.call(name, 401, token=False, **{**{p["name"]: "1" for p in op["parameters"] if p["required"]}, **values})
    api.call("sandbox_get", 404, id="nobody")
    api.call("exec_run", 400, id=box, body={"command": 5})
    api.call("sandbox_create", 409, {"name": "one"})


def other_dialects(api):
    """/containers and /sandbox are in the document, too."""
    assert api.document["servers"][0]["url"] == "/", api.document["servers"]
    for method, path in (("post", "/containers/start"), ("get", "/containers"), ("post", "/sandbox/execute"), ("get", "/health")):
        assert method in api.document["paths"][path], path
    api.call("containers_list")
    api.call("containers_start", body={"code": "print(1)", "container": "python", "keep": None})
    api.call("containers_start", body={"command": "printf '\\377'; exit 1"})
    box = api.call("containers_start", 201, body={"container": "host"})["container_id"]
    api.call("containers_exec", body={"container_id": box, "command": ["true"]})
    api.call("containers_exec", 404, body={"container_id": "nowhere", "command": ["true"]})
    api.call("containers_status")
    api.call("containers_stop", body={"container_id": box})
    api.call("containers_cleanup")
    for name in ("service_health", "service_healthz", "service_sandbox_health"):
        api.call(name, token=False)
        api.call(name)
    api.call("service_execute", body={"code": "print(1)", "metadata": [1, "a"], "url": None})
    api.call("service_metrics")
    api.call("service_cleanup", body={"idle_for": 60})


def main():
    with Daemon("--max-sandboxes", "4") as d:
        api = Api(d)
        check_document(api)
        box = sandboxes(api)
        commands(api, box)
        files(api, box)
        networks(api)
        secrets(api)
        the_browser(api)
        machines(api)
        the_contexts(api)
        the_desktop(api)
        the_daemon(api)
        access(api)
        refusals(api, box)
        api.call("sandbox_destroy", id=box)
        other_dialects(api)
        api.call("sandbox_cleanup", body={"state": "ready"})
        lost_records(api)
        left = set(api.ops) - api.called - STREAMS - WITH_DOCKER
        assert not left, f"not called: {sorted(left)}"
        print("ok", len(api.called), "ops")


if __name__ == "__main__":
    main()
