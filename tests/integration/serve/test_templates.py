#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Templates on a running daemon: the registry, its reload, availability, confirmation, the queue. test_templates.py [NAME…] runs some."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, ready_again, run_tests, wait_for  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(HERE, "..", "..", ".."))


def write(path, text):
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Registry:
    """A folder that others may look into, with registry.yaml in it."""

    def __init__(self, text):
        self.folder = tempfile.mkdtemp(prefix="cay-registry-")
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "registry.yaml")
        write(self.path, text)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.folder)


def serve(registry, *flags):
    return Daemon("--registry", registry.path, *flags)


def reload(d, registry, text=None, expect="registry loaded"):
    """SIGHUP, and waits for what the log says of it."""
    if text is not None:
        write(registry.path, text)
    before = len(d.log())
    d.process.send_signal(signal.SIGHUP)
    return wait_for(expect, lambda: d.log()[before:] if expect in d.log()[before:] else None)


def names(d):
    return [t["name"] for t in d.must(200, "GET", "/api/templates")["templates"]]


def destroy(d, box):
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def destroy_all(d):
    for box in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
        destroy(d, box["sandbox_id"])


def test_built_in():
    with Daemon() as d:
        listed = d.must(200, "GET", "/api/templates")
        assert listed["origin"] == "built-in"
        rows = {t["name"]: t for t in listed["templates"]}
        assert list(rows) == ["host", "python", "node", "shell", "browser", "desktop"], rows
        assert rows["python"]["available"] == os.path.exists("/usr/bin/python3")
        assert rows["node"]["available"] == os.path.exists("/usr/bin/node"), rows["node"]
        for t in rows.values():
            assert t["network"] == "none" and t["engine"] == "auto" and t["auto_cleanup"] is True
            of_run = t["name"] != "host"
            memory, cpus = {"host": (2 << 30, 2000), "browser": (1 << 30, 2000), "desktop": (1 << 30, 2000)}.get(t["name"], (256 << 20, 500))
            assert (t["limits"]["memory_bytes"], t["limits"]["cpu_milli"]) == (memory, cpus), t
            assert t["limits"]["wall_ms"] == (60000 if of_run else 0) and t["idle_time_ms"] == (300000 if of_run else 0), t
        got = d.must(201, "POST", "/api/sandboxes", {"template": "python"})
        assert got["template"] == "python" and got["limits"] == rows["python"]["limits"], got
        assert d.run(got["sandbox_id"], "python3 -c 'print(2 + 2)'")["stdout"] == "4\n"
        destroy(d, got["sandbox_id"])
        # What the request says holds; what it does not say is the template's.
        got = d.must(201, "POST", "/api/sandboxes", {"template": "python", "limits": {"memory": "300m"}, "timeout": "1h"})
        assert got["limits"]["memory_bytes"] == 300 << 20 and got["limits"]["cpu_milli"] == 500, got
        assert 0 < got["expires_in_ms"] <= 3600000
        destroy(d, got["sandbox_id"])
        # Without a template, by its name, and with the CLI: the same sandbox, with the daemon's own defaults.
        got = d.must(201, "POST", "/api/sandboxes", {})
        named = d.must(201, "POST", "/api/sandboxes", {"template": "host"})
        by_cli = json.loads(subprocess.run([CAY, "create", "--json"], check=True, capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                                           env=dict(os.environ, CAY_DATA=os.path.join(d.folder, "data"))).stdout)
        assert got["template"] == "host" and got["limits"]["memory_bytes"] == 2 << 30, got
        for other in (named, by_cli):
            for key in ("template", "limits", "network", "expires_in_ms", "idle_limit_ms", "read_only", "engine"):
                assert other[key] == got[key], (key, other[key], got[key])
        assert got["expires_in_ms"] is None and got["idle_limit_ms"] == 0 and got["limits"]["wall_ms"] == 0, got
        destroy_all(d)
        assert [t["name"] for t in d.must(200, "GET", "/api/templates?task=please+Run+Python+now")["templates"]] == ["python"]
        assert d.must(200, "GET", "/api/templates?task=nothing")["templates"] == []
        missing = d.ask("POST", "/api/sandboxes", {"template": "pyhton"})
        assert missing.status == 404 and "pyhton" in missing.json["error"]["message"], missing
        d.must(404, "GET", "/api/templates/nope")
        # A reload without a file is nothing, and no end.
        d.process.send_signal(signal.SIGHUP)
        wait_for("a word about it", lambda: "nothing to reload" in d.log())
        assert len(names(d)) == 6


def test_document_001():
    with open(os.path.join(SOURCE, "tests/unit/domain/templates/document_001.yaml"), encoding="utf-8") as f:
        text = f.read()
    with Registry(text) as r:
        write(os.path.join(r.folder, "code-sandbox", "SYSTEM.md"), "# Use it well\n")
        write(os.path.join(r.folder, "code-sandbox", "Dockerfile"), "FROM python:3.11-slim\n")
        with serve(r) as d:
            got = d.must(200, "GET", "/api/templates/code-sandbox")
            assert got["description"] == "Python code execution environment"
            assert got["triggers"] == ["execute code", "run python", "test this"]
            assert got["system"] == "# Use it well\n" and got["has_system"] is True
            assert got["limits"]["memory_bytes"] == 256 << 20 and got["limits"]["wall_ms"] == 60000
            assert d.must(200, "GET", "/api/templates")["max_concurrent"] == 3
            # No engine here builds Dockerfiles: told, and refused with the same reason.
            assert got["available"] is False and "docker" in got["why"], got
            refused = d.ask("POST", "/api/sandboxes", {"template": "code-sandbox"})
            assert refused.status == 409 and got["why"] in refused.json["error"]["message"], refused
            assert "warnings=0" in d.log(), d.log()


TWO = """
containers:
  one:
    host: true
    env: {GREETING: hello, OTHER: x}
    security: {read_only: true}
    resources: {pids: 20, life_time: 1h}
  far:
    host: true
    security: {network_mode: bridge}
"""


def test_what_a_template_brings():
    with Registry(TWO) as r, serve(r) as d:
        got = d.must(201, "POST", "/api/sandboxes", {"template": "one", "env": {"OTHER": "mine"}})
        box = got["sandbox_id"]
        assert got["read_only"] is True and got["limits"]["pids"] == 20 and 0 < got["expires_in_ms"] <= 3600000, got
        assert d.run(box, "echo $GREETING $OTHER")["stdout"] == "hello mine\n"
        assert d.run(box, "touch /usr/x /x")["exit_code"] != 0
        assert d.must(200, "GET", "/api/templates/one")["env"] == ["GREETING", "OTHER"], "values are not shown"
        # Never a silent none.
        far = d.must(200, "GET", "/api/templates/far")
        assert far["available"] is True and far["network"] == "bridge", far
        made = d.must(201, "POST", "/api/sandboxes", {"template": "far"})
        assert made["network"] == "bridge", made
        d.must(200, "DELETE", f"/api/sandboxes/{made['sandbox_id']}")
        # A request may not have more network than its template.
        d.must(403, "POST", "/api/sandboxes", {"template": "one", "network": "bridge"})
        assert d.must(200, "GET", "/api/sandboxes")["sandboxes"][0]["sandbox_id"] == box
        destroy(d, box)


def test_default_template():
    """default_template is for creates that name none; what is named, and one that is not there, are as ever."""
    with Registry("containers:\n  mine:\n    description: mine\n    host: true\n    env: {WHOSE: mine}\n") as registry:
        with serve(registry, "--default-template", "mine") as d:
            box = d.must(201, "POST", "/api/sandboxes/", {"project_name": "test"})
            assert box["template"] == "mine", box
            assert d.run(box["sandbox_id"], "echo $WHOSE")["stdout"] == "mine\n"
            destroy(d, box["sandbox_id"])
            box = d.must(201, "POST", "/api/sandboxes", {"template": "host"})
            assert box["template"] == "host", box
            destroy(d, box["sandbox_id"])
        with serve(registry, "--default-template", "nobodys") as d:
            a = d.ask("POST", "/api/sandboxes", {})
            assert a.status == 404 and "'nobodys'" in a.json["error"]["message"], a


def make_root(folder):
    """A root of one static program."""
    os.makedirs(os.path.join(folder, "bin"), 0o755)
    for name in ("dev", "etc", "proc", "tmp", "usr", "workspace"):
        os.mkdir(os.path.join(folder, name), 0o755)
    shutil.copy("/bin/busybox", os.path.join(folder, "bin", "busybox"))
    for name in ("sh", "cat", "echo"):
        os.symlink("busybox", os.path.join(folder, "bin", name))
    write(os.path.join(folder, "etc", "made-by"), "a registry\n")


def init_needs_no_libraries():
    """Sanitizer builds have an init that is not static: it cannot start in a root of one program."""
    with open(os.path.join(os.path.dirname(CAY), "cay-init"), "rb") as f:
        return b"/ld-linux" not in f.read()


def reads_its_file(d, template):
    if init_needs_no_libraries():
        assert d.run(d.make(template=template), ["/bin/cat", "/etc/made-by"])["stdout"] == "a registry\n"


def test_rootfs():
    with Registry("containers:\n  small: {rootfs: ./small/root}\n  gone: {rootfs: gone}\n") as r:
        make_root(os.path.join(r.folder, "small", "root"))
        write(os.path.join(r.folder, "small", "SYSTEM.md"), "small\n")
        with serve(r) as d:
            assert d.must(200, "GET", "/api/templates/small")["system"] == "small\n"
            assert d.must(200, "GET", "/api/templates/small")["available"] is True
            reads_its_file(d, "small")
            gone = d.must(200, "GET", "/api/templates/gone")
            assert gone["available"] is False and "'gone'" in gone["why"], gone
            d.must(409, "POST", "/api/sandboxes", {"template": "gone"})
            # Made meanwhile: a reload sees it.
            make_root(os.path.join(r.folder, "gone"))
            reload(d, r)
            assert d.must(200, "GET", "/api/templates/gone")["available"] is True
            reads_its_file(d, "gone")
            destroy_all(d)


def test_replaced_rootfs():
    """Another folder of the same name is noticed without a reload; what runs keeps the root that it has."""
    with Registry("containers:\n  small: {rootfs: ./small/root}\n") as r:
        root, old = os.path.join(r.folder, "small", "root"), os.path.join(r.folder, "small", "old")
        make_root(root)
        with serve(r) as d:
            reads_its_file(d, "small")
            before = d.make(template="small") if init_needs_no_libraries() else None
            os.rename(root, old)
            a = d.ask("POST", "/api/sandboxes", {"template": "small"})
            assert a.status == 409 and "small/root" in a.json["error"]["message"] and "put it back" in a.json["error"]["message"], a
            make_root(root)
            write(os.path.join(root, "etc", "made-by"), "another\n")
            if init_needs_no_libraries():
                for _ in range(2):
                    assert d.run(d.make(template="small"), ["/bin/cat", "/etc/made-by"])["stdout"] == "another\n"
                assert d.log().count("rootfs was replaced") == 1, d.log()
                assert d.run(before, ["/bin/cat", "/etc/made-by"])["stdout"] == "a registry\n"
                os.rename(root, root + "2")
                shutil.rmtree(old)
                make_root(root)  # and once more
                reads_its_file(d, "small")
                assert d.log().count("rootfs was replaced") == 2, d.log()
            destroy_all(d)


def test_reload():
    with Registry("containers:\n  a: {host: true}\n") as r, serve(r) as d:
        box = d.make(template="a")
        d.run(box, "echo kept > /workspace/file")
        front = d.child("cay-front")
        reload(d, r, "containers:\n  b: {host: true, zzzzzz: none}\n")
        assert names(d) == ["b"]
        assert "registry.yaml:2:19: warning: containers.b.zzzzzz: is not known and does nothing" in d.log(), d.log()
        assert d.run(box, "cat /workspace/file")["stdout"] == "kept\n", "sandboxes are not touched"
        assert d.child("cay-front") == front, "neither is the front"
        d.must(404, "POST", "/api/sandboxes", {"template": "a"})
        said = reload(d, r, "containers:\n  b: {host: true, security: {needs_comfirm: true}}\n", "not reloaded")
        assert "registry.yaml:2:30: containers.b.security.needs_comfirm: is not known; did you mean needs_confirm?" in said, said
        # Errors: all of them, with their places, and what was in force stays.
        said = reload(d, r, "containers:\n  c:\n    host: maybe\n  d:\n    rootfs: /etc\n", "not reloaded")
        assert "registry.yaml:3:11: containers.c.host: 'maybe' is not true or false" in said, said
        assert "registry.yaml:5:13: containers.d.rootfs: '/etc' leaves the registry's folder" in said, said
        assert names(d) == ["b"]
        os.unlink(r.path)
        reload(d, r, None, "not reloaded")
        assert names(d) == ["b"]
        write(r.path, "containers: {x: {host: &a true}}\n" + "#" * 300000)
        reload(d, r, None, "not reloaded")
        assert names(d) == ["b"]
        # The next front gets the one that was good, whatever the file is now.
        write(r.path, "containers: [")
        kill_front(d)
        assert names(d) == ["b"]
        assert d.run(box, "cat /workspace/file")["stdout"] == "kept\n"
        reload(d, r, "containers:\n  e: {host: true}\n")
        assert names(d) == ["e"]
        destroy(d, box)


def refuses_to_start(path):
    folder = tempfile.mkdtemp(prefix="cay-serve-")
    try:
        done = subprocess.run([CAY, "serve", "--data", os.path.join(folder, "data"), "--listen", "127.0.0.1:0",
                               "--registry", path], capture_output=True, text=True, timeout=PATIENCE_S)
    finally:
        shutil.rmtree(folder)
    assert done.returncode not in (0, None), done
    return done.stderr


def test_start_with_an_error():
    with Registry("containers:\n  a: {host: true}\n  a: {host: true}\n") as r:
        assert "registry.yaml:3:3: 'a' stands in line 2 already; keep one of them" in refuses_to_start(r.path)
        assert "No such file" in refuses_to_start(os.path.join(r.folder, "none.yaml"))
        assert "not a regular file" in refuses_to_start(r.folder)


def kill_front(d):
    front = d.child("cay-front")
    os.kill(front, signal.SIGKILL)
    wait_for("another front", lambda: d.child("cay-front") != front)
    ready_again(d)


def test_confirmation():
    with Registry("containers:\n  risky:\n    host: true\n    security: {needs_confirm: true}\n") as r, serve(r) as d:
        assert d.must(200, "GET", "/api/templates/risky")["needs_confirm"] is True
        asked = {"template": "risky", "purpose": "print('hi')"}

        def ask(**more):
            return d.ask("POST", "/api/sandboxes", {**asked, **more})

        first = ask()
        assert first.status == 428 and first.json["error"]["code"] == "confirm", first
        assert first.json["error"]["confirm_why"] == "template 'risky' needs a confirmation", first
        token = first.json["error"]["confirm"]
        assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == [], "nothing is made before"
        # Only this request, and only this caller's.
        other = d.ask("POST", "/api/sandboxes", {**asked, "purpose": "rm -rf /", "confirm": token})
        assert other.status == 409 and "another request" in other.json["error"]["message"], other
        looser = ask(may_skip=["memory"], confirm=ask().json["error"]["confirm"])
        assert looser.status == 409 and "another request" in looser.json["error"]["message"], looser
        assert ask(confirm=token).status == 409, "a wrong use spends it too"
        token = ask().json["error"]["confirm"]
        stranger = d.make_token("--owner", "somebody")
        a = d.ask("POST", "/api/sandboxes", {**asked, "confirm": token}, token=stranger)
        assert a.status == 409, a
        # It is as good to the next front, and once is once over all of them.
        kill_front(d)
        made = ask(confirm=token)
        assert made.status == 201, made
        assert ask(confirm=token).status == 409, "once"
        kill_front(d)
        again = ask(confirm=token)
        assert again.status == 409 and "used before" in again.json["error"]["message"], again
        assert ask(confirm="x" * 32).status == 409
        destroy(d, made.json["sandbox_id"])


def waiting_at(d):
    return d.must(200, "GET", "/api/templates")["waiting"]


def later(d, results, **fields):
    """A create in a thread; its answer goes to results."""
    t = threading.Thread(target=lambda: results.append(d.ask("POST", "/api/sandboxes", fields)))
    t.start()
    return t


def test_queue():
    text = """
containers:
  few: {host: true, max_concurrent: 1}
  many: {host: true}
settings: {max_concurrent: 2, queue: 1, queue_timeout: %s}
"""
    with Registry(text % "30") as r, serve(r) as d:
        first = d.make(template="few")
        results = []
        waiting = later(d, results, template="few")
        wait_for("it to wait", lambda: waiting_at(d) == 1)
        # So the queue is full, and the next is told at once.
        full = d.ask("POST", "/api/sandboxes", {"template": "few"})
        assert full.status == 429, full
        assert full.headers.get("Retry-After"), full.headers
        assert "max_concurrent is 1" in full.json["error"]["message"], full
        # Another template is not held up by it, until all together are as many as may be.
        second = d.make(template="many")
        d.must(429, "POST", "/api/sandboxes", {"template": "many"})
        # Without a template: not the registry's business.
        destroy(d, d.make())
        destroy(d, second)
        destroy(d, first)
        waiting.join(PATIENCE_S)
        assert results and results[0].status == 201, results
        destroy(d, results[0].json["sandbox_id"])
        # The wait has an end.
        reload(d, r, text % "200ms")
        first = d.make(template="few")
        late = d.ask("POST", "/api/sandboxes", {"template": "few"})
        assert late.status == 429 and late.headers.get("Retry-After"), late
        # Who is gone does not wait any more: nothing is made for it.
        reload(d, r, text % "30")
        c = d.connect()
        c.request("POST", "/api/sandboxes", body=json.dumps({"template": "few"}),
                  headers={"Authorization": "Bearer " + d.token, "Content-Type": "application/json"})
        wait_for("it to wait", lambda: waiting_at(d) == 1)
        c.close()
        wait_for("it to be gone", lambda: waiting_at(d) == 0)
        results = []
        waiting = later(d, results, template="few")
        wait_for("the next to wait", lambda: waiting_at(d) == 1)
        destroy(d, first)
        waiting.join(PATIENCE_S)
        assert results[0].status == 201, results
        alive = d.must(200, "GET", "/api/sandboxes")["sandboxes"]
        assert [b["sandbox_id"] for b in alive] == [results[0].json["sandbox_id"]], alive
        # Starting one again is no way around the limit.
        stopped = results[0].json["sandbox_id"]
        d.must(200, "POST", f"/api/sandboxes/{stopped}/stop")
        other = d.make(template="few")
        again = d.ask("POST", f"/api/sandboxes/{stopped}/start")
        assert again.status == 429 and "max_concurrent is 1" in again.json["error"]["message"], again
        destroy(d, other)
        d.must(200, "POST", f"/api/sandboxes/{stopped}/start")
        # A template that goes away while somebody waits for it.
        results = []
        waiting = later(d, results, template="few")
        wait_for("it to wait", lambda: waiting_at(d) == 1)
        reload(d, r, "containers:\n  many: {host: true}\n")
        waiting.join(PATIENCE_S)
        assert results[0].status == 404, results
        destroy_all(d)


def test_check_verb():
    def check(*words, text=None):
        return subprocess.run([CAY, "template", *words], input=text, capture_output=True, text=True, timeout=PATIENCE_S)

    place = tempfile.mkdtemp()
    good = os.path.join(place, "registry.yaml")
    shutil.copy(os.path.join(SOURCE, "tests/unit/domain/templates/document_001.yaml"), good)
    done = check("check", good)  # its Dockerfile is not there
    assert done.returncode == 1, done
    assert done.stdout == f"{good}:2:3: containers.code-sandbox: its dockerfile 'code-sandbox/Dockerfile' is not there; write it\n", done
    with open(good, encoding="utf-8") as f:
        wrong = f.read().replace("needs_confirm", "need_confirm")
    bad = os.path.join(place, "bad.yaml")
    with open(bad, "w", encoding="utf-8") as f:
        f.write(wrong)
    done = check("check", bad)  # both at once
    assert done.returncode == 1 and "need_confirm: is not known" in done.stdout and "is not there; write it" in done.stdout, done
    os.mkdir(os.path.join(place, "code-sandbox"))
    with open(os.path.join(place, "code-sandbox", "Dockerfile"), "w", encoding="utf-8") as f:
        f.write("FROM python:3.11-slim\n")
    done = check("check", good)
    assert done.returncode == 0 and done.stdout == "" and done.stderr == "", done
    other = os.path.join(place, "other.yaml")
    with open(other, "w", encoding="utf-8") as f:
        f.write("containers:\n  a: {rootfs: none}\n  b: {image: x, engine: native}\n")
    done = check("check", other)
    assert done.returncode == 1, done
    assert done.stdout.splitlines() == [
        f"{other}:2:3: warning: containers.a: its rootfs 'none' cannot be opened: No such file or directory",
        f"{other}:3:3: containers.b: the engine 'native' cannot make a root from image; give it a rootfs",
    ], done
    done = check("check", "-", text="containers:\n  x:\n    host: ture\n")
    assert done.returncode == 1, done
    assert done.stdout == "stdin:3:11: containers.x.host: 'ture' is not true or false; write one of them, without quotes\n"
    done = check("check", "--json", good, "-", text="containers:\n")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and [x["valid"] for x in lines] == [True, False], done
    assert lines[1]["notes"][0]["line"] == 1 and lines[1]["notes"][0]["severity"] == "error", lines
    assert check("check").returncode == 2 and check("check", "--zzz", good).returncode == 2
    with open(os.path.join(SOURCE, "docs/registry.schema.json"), encoding="utf-8") as f:
        assert json.load(f) == json.loads(check("schema").stdout)
    for folder, _, files in os.walk(os.path.join(SOURCE, "examples/registry")):
        for name in files:
            if name.endswith(".yaml"):
                done = check("check", os.path.join(folder, name))
                assert done.returncode == 0 and done.stdout == "", done
    shutil.rmtree(place)


def main():
    os.umask(0o022)  # others look into what is made here
    run_tests(globals())


if __name__ == "__main__":
    main()
