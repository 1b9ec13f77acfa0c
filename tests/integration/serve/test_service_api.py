#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sandbox service's surface (/health, /sandbox/…), its variables, and every curl line of docs/api-003.md. test_service_api.py [NAME…]."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curl_lines import run_lines  # noqa: E402
from daemon import CAY, PATIENCE_S, Daemon, run_tests, wait_for  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
ENV = {"SANDBOX_TOKEN_SECRET": "a secret for tests", "SANDBOX_MAX_MEMORY_MB": "64", "SANDBOX_MAX_CPU_PERCENT": "75.5",
       "SANDBOX_MAX_PIDS": "20", "SANDBOX_MODE": "1", "SANDBOX_ALLOW_ORIGINS": "http://localhost:3000",
       "SANDBOX_ALLOW_ORIGIN_REGEX": r"^https?://([a-z0-9-]+\.)*railway\.app$",
       "E2B_API_KEY": "e2b_key", "BROWSERBASE_API_KEY": "bb_key", "BROWSERBASE_PROJECT_ID": "project"}

# The document's own lines; YOUR_TOKEN and the port are put in.
DOCUMENT = """curl http://localhost:8001/health

curl -X POST http://localhost:8001/sandbox/execute \\
  -H "Authorization: Bearer YOUR_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{
    "sandbox_type": "code",
    "action": "execute",
    "code": "print(\\"Hello from sandbox\\")",
    "timeout": 30
  }'

curl http://localhost:8001/sandbox/metrics \\
  -H "Authorization: Bearer YOUR_TOKEN"
"""


def make_token(d, *flags):
    env = {**os.environ, "SANDBOX_TOKEN_SECRET": ENV["SANDBOX_TOKEN_SECRET"]}
    return subprocess.run([CAY, "token", "--data", os.path.join(d.folder, "data"), *flags], check=True, capture_output=True, text=True,
                          timeout=PATIENCE_S, env=env).stdout.strip()


def execute(d, status=200, **fields):
    return d.must(status, "POST", "/sandbox/execute", fields)


def test_page(d):
    """First, while nothing else has run."""
    run_lines(os.path.join(SOURCE, "docs/api-003.md"), d, port="8001")


def test_document(d):
    answers = []
    for line in DOCUMENT.split("\n\n"):
        text = line.replace("YOUR_TOKEN", d.token).replace("localhost:8001", f"localhost:{d.port}")
        done = subprocess.run(["sh", "-c", text], check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        answers.append(json.loads(done.stdout))
    assert answers[1]["stdout"] == "Hello from sandbox\n" and answers[1]["success"] is True, answers[1]


def test_health(d):
    for path in ("/health", "/healthz", "/sandbox/health"):
        got = d.must(200, "GET", path, token=False)
        assert list(got) == ["status", "service", "version", "timestamp", "resources"], got
        assert (got["status"], got["service"], got["resources"]) == ("healthy", "sandbox", {}), got
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", got["timestamp"]), got
        known = d.must(200, "GET", path)["resources"]
        assert known["alive"] == 0 and known["engine_up"] is True and "execs" in known, known
        # Whoever watches over a service calls it by whatever name.
        assert d.ask("GET", path, token=False, headers={"Host": "sandbox.railway.internal"}).status == 200
        assert d.ask("GET", path, token="none of ours").status == 401


def test_execute(d):
    got = execute(d, sandbox_type="code", action="execute", code="import sys; print(1); print(2, file=sys.stderr); sys.exit(3)", timeout=30,
                  metadata={"a": [1, {"b": None}]})
    assert (got["success"], got["status"], got["exit_code"]) == (False, "failed", 3), got
    assert (got["stdout"], got["stderr"], got["metadata"]) == ("1\n", "2\n", {"a": [1, {"b": None}]}), got
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []
    got = execute(d, code="x = 'a' * (200 << 20)")
    assert got["cause"] == "memory" and "SANDBOX_MAX_MEMORY_MB" in got["advice"] and got["success"] is False, got
    got = execute(d, code="import os\nprint(open('/proc/sys/kernel/ostype').read())\n[os.fork() for _ in range(64)]")
    assert got["exit_code"] != 0, got
    assert execute(d, code="import time; time.sleep(600)", timeout=0.3)["cause"] == "wall_time"
    assert execute(d, code="console.log('js')", language="javascript", url=None, metadata=None)["stdout"] == "js\n"
    # The document's body has both; a root that cannot be written to is asked for by the request.
    assert execute(d, sandbox_type="code", action="execute", code="print('hello')", url="https://example.com", timeout=30, metadata={})["stdout"] == "hello\n"
    write = "import os; os.mkdir('/home/sandbox/new')"
    assert execute(d, code=write)["success"] is True
    assert "Read-only file system" in execute(d, code=write, read_only=True)["stderr"]
    assert execute(d, code="open('/workspace/a', 'w'); open('/tmp/a', 'w')", read_only=True)["success"] is True


def test_more_at_once_than_may_be_alive(d):
    """20 at once, 10 of which may be alive (max_sandboxes): the others wait their turn."""
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        got = list(pool.map(lambda n: execute(d, code=f"import time; time.sleep(0.2); print({n})", timeout=60)["stdout"], range(20)))
    assert got == [f"{n}\n" for n in range(20)], got


def test_refusals(d):
    for fields, field in (({"code": "1", "sandbox_type": "vm"}, "sandbox_type"), ({"code": "1", "action": "dance"}, "action"),
                          ({}, "code"), ({"code": ""}, "code"), ({"code": "1", "action": "screenshot"}, "action"),
                          ({"sandbox_type": "browser"}, "url"), ({"sandbox_type": "browser", "url": "about:blank", "action": "dance"}, "action"),
                          ({"code": "1", "timeout": "soon"}, "timeout"), ({"code": "1", "cpu": 2}, "cpu")):
        got = execute(d, 400, **fields)["error"]
        assert got["field"] == field, (fields, got)
    for method, path in (("POST", "/sandbox/execute"), ("GET", "/sandbox/metrics"), ("POST", "/sandbox/cleanup")):
        d.must(401, method, path, token=False)
    d.must(403, "POST", "/sandbox/execute", {"code": "1"}, token=make_token(d, "--scope", "read"))


def test_single_use(d):
    first = execute(d, code="print(1)", execution_id="mine")
    assert first["execution_id"] == "mine"
    again = execute(d, 409, code="print(1)", execution_id="mine")["error"]
    assert again["code"] == "exists" and again["first"] == first["sandbox_id"], again


def test_metrics(d):
    before = d.must(200, "GET", "/sandbox/metrics")
    execute(d, code="print(1)")
    after = d.must(200, "GET", "/sandbox/metrics")
    assert after["executions"]["ended"] == before["executions"]["ended"] + 1 and after["executions"]["running"] == 0, after
    assert after["causes"]["exited"] == before["causes"]["exited"] + 1, after
    for name in ("create", "start", "run"):
        assert after["latencies"][name]["count"] == before["latencies"][name]["count"] + 1, after
    box = d.make()
    got = d.must(200, "GET", "/sandbox/metrics")["resources"]
    assert got["sandboxes"] == 1 and got["memory_limit_bytes"] > 0, got
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_cleanup(d):
    box, other = d.make(), d.must(201, "POST", "/api/sandboxes", {}, token=make_token(d, "--owner", "other"))["sandbox_id"]
    assert d.must(200, "POST", "/sandbox/cleanup")["cleaned"] == 0
    wait_for("idleness", lambda: d.must(200, "GET", f"/api/sandboxes/{box}")["idle_ms"] >= 1000)
    got = d.must(200, "POST", "/sandbox/cleanup", {"idle_for": 1})
    assert (got["status"], got["cleaned"], got["sandboxes"]) == ("success", 1, [box]), got
    d.must(400, "POST", "/sandbox/cleanup", {"idle_for": 0.5})
    d.must(200, "DELETE", f"/api/sandboxes/{other}", token=make_token(d, "--owner", "other"))


def test_pages(d):
    """Its web pages may call."""
    for origin, fine in (("http://localhost:3000", True), ("https://app.railway.app", True), ("https://evil.test", False)):
        got = d.ask("OPTIONS", "/sandbox/execute", token=False, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
        assert (got.status == 204) == fine and (got.headers.get("Access-Control-Allow-Origin") == origin) == fine, got


def test_keys_stay_inside(d):
    log = d.log() + json.dumps(d.must(200, "GET", "/api/config", unix=True, token=False))
    assert "e2b_key" not in log and "bb_key" not in log and "a secret for tests" not in log, log
    for pid in (d.process.pid, d.child("cay-front")):
        with open(f"/proc/{pid}/environ", "rb") as f:
            assert b"e2b_key" not in f.read()


def bad_variables():
    """Each stops the start, with its name and what is allowed."""
    with open(os.path.join(SOURCE, "src/domain/settings/config_keys.def"), encoding="utf-8") as f:
        untried = set(re.findall(r"\b(?:SANDBOX|E2B|BROWSERBASE)_[A-Z_]+", f.read()))
    with tempfile.TemporaryDirectory(prefix="cay-serve-") as folder:
        for name, value, told in (("SANDBOX_MAX_MEMORY_MB", "lots", "size"), ("SANDBOX_MAX_MEMORY_MB", "1", "4"),
                                  ("SANDBOX_MAX_CPU_PERCENT", "-5", "percent"), ("SANDBOX_MAX_CPU_PERCENT", "0", "1"),
                                  ("SANDBOX_MAX_PIDS", "many", "number"), ("SANDBOX_MAX_PIDS", "0", "1"),
                                  ("SANDBOX_MAX_SANDBOXES", "0", "1"), ("SANDBOX_MAX_TIMEOUT", "long", "time"), ("SANDBOX_MODE", "maybe", "true"), ("SANDBOX_MODE", "0", "sandbox_mode"),
                                  ("SANDBOX_TOKEN_SECRET", "short", "8"), ("SANDBOX_ALLOW_ORIGINS", "*", "origin"),
                                  ("SANDBOX_ALLOW_ORIGIN_REGEX", "^(", "regular expression"), ("SANDBOX_ALLOW_ORIGIN_REGEX", "x", "^"),
                                  ("SANDBOX_TRUSTED_HOSTS", "http://x/", "host"), ("SANDBOX_SERVICE_URL", "x" * 2000, "1024"),
                                  ("E2B_API_KEY", "x" * 300, "255"), ("BROWSERBASE_API_KEY", "x" * 300, "255"),
                                  ("BROWSERBASE_PROJECT_ID", "x" * 300, "255"), ("PORT", "http", "number")):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SANDBOX_", "CAY_")) or k.startswith("CAY_TEST_")}
            done = subprocess.run([CAY, "serve", "--data", folder], env={**env, name: value}, capture_output=True, text=True, timeout=PATIENCE_S)
            assert done.returncode != 0 and name in done.stderr and told in done.stderr, (name, value, told, done)
            untried.discard(name)
    assert not untried, untried


def main():
    with Daemon(env=ENV) as d:
        run_tests(globals(), d)
    if not sys.argv[1:]:
        bad_variables()
        print("ok variables")


if __name__ == "__main__":
    main()
