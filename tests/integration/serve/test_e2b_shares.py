#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""E2B's interface against itself: what one owner, or a stranger, could take from another one, and keys that are revoked meanwhile.
test_e2b_shares.py [NAME…] runs some."""
import contextlib
import http.client
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, run_tests, wait_for  # noqa: E402

BUILDS = 64
WATCHERS = 256
OF_SANDBOX = 16
UPLOADS = 160


def envd(d, box, path, body, token, port=49983, status=200):
    return d.must(status, "POST", path, body, token=token, headers={"E2b-Sandbox-Id": box, "E2b-Sandbox-Port": str(port)})


def make_key(d, owner, *scopes):
    made = d.must(201, "POST", "/api/keys", {"owner": owner, "scope": ",".join(scopes) or "read,exec"}, token=False, unix=True)
    return made["key"], made["key_id"]


def test_builds(d):
    """As many builds as there may be and more, by one owner: another's, which waits for its files, is still there."""
    victim, greedy = d.make_token("--owner", "builder"), d.make_token("--owner", "greedy")
    mine = d.must(202, "POST", "/v3/templates", {"name": "mine"}, token=victim)["buildID"]
    seen = {d.ask("POST", "/v3/templates", {"name": f"t{i}"}, token=greedy).status for i in range(2 * BUILDS)}
    assert seen == {202}, seen  # its own oldest ones went
    assert d.must(200, "GET", f"/templates/mine/builds/{mine}/status", token=victim)["status"] == "waiting"
    for i in range(8):
        d.must(202, "POST", "/v3/templates", {"name": f"other{i}"}, token=victim)


def test_builds_bytes(d):
    """Files of builds that wait are kept: one owner cannot have the room of all."""
    victim, greedy = d.make_token("--owner", "packer"), d.make_token("--owner", "hoarder")
    statuses = []
    for i in range(6):
        d.must(202, "POST", "/v3/templates", {"name": f"big{i}"}, token=greedy)
        where = d.must(201, "GET", f"/templates/big{i}/files/{i:064x}", token=greedy)["url"].partition("/templates/.uploads")[2]
        statuses.append(d.ask("PUT", f"/templates/.uploads{where}", bytes(48 << 20), token=None).status)
    assert statuses[:2] == [204, 204] and 413 in statuses, statuses
    d.must(202, "POST", "/v3/templates", {"name": "small"}, token=victim)
    where = d.must(201, "GET", f"/templates/small/files/{7:064x}", token=victim)["url"].partition("/templates/.uploads")[2]
    assert d.ask("PUT", f"/templates/.uploads{where}", bytes(48 << 20), token=None).status == 204


def test_only_readers(d):
    """A token that may only read begins no build, and gets no address to upload to."""
    reader = d.make_token("--owner", "reader", "--scope", "read")
    assert d.ask("POST", "/v3/templates", {"name": "t"}, token=reader).status == 403
    assert d.ask("GET", f"/templates/t/files/{0:064x}", token=reader).status == 403


def test_readers_get_no_tokens(d):
    """Tokens of sandboxes and of volumes open more than reading: who may only read is not told them, wherever they stand."""
    owner = ("--owner", "keeper")
    token, reader = d.make_token(*owner), d.make_token(*owner, "--scope", "read")
    d.must(201, "POST", "/volumes", {"name": "shelf"}, token=token)
    made = d.must(201, "POST", "/sandboxes", {"templateID": "base"}, token=token)
    box = made["sandboxID"]
    secrets = {made["envdAccessToken"], made["trafficAccessToken"], d.must(200, "GET", "/volumes/shelf", token=token)["token"]}
    assert all(secrets) and d.must(200, "GET", f"/sandboxes/{box}", token=token)["envdAccessToken"] in secrets
    for path in ("/volumes", "/volumes/shelf", "/sandboxes", "/v2/sandboxes", f"/sandboxes/{box}"):
        a = d.ask("GET", path, token=reader)
        assert a.status == 200 and not any(s in a.body.decode() for s in secrets), (path, a)
    for verb in ("connect", "resume", "refreshes", "timeout"):
        a = d.ask("POST", f"/sandboxes/{box}/{verb}", {"timeout": 60}, token=reader)
        assert a.status == 403 and not any(s in a.body.decode() for s in secrets), (verb, a)
    d.must(200, "POST", f"/sandboxes/{box}/connect", {"timeout": 60}, token=token)
    assert d.ask("DELETE", f"/sandboxes/{box}", token=token).status == 204
    assert d.ask("DELETE", "/volumes/shelf", token=token).status == 204


def test_watchers(d):
    """Watchers that are polled are counted by owner."""
    victim, greedy = d.make_token("--owner", "looker"), d.make_token("--owner", "watcher")
    boxes, made, refused = [], 0, 0
    while not refused and made < WATCHERS:
        boxes.append(d.must(201, "POST", "/api/sandboxes", {}, token=greedy)["sandbox_id"])
        for _ in range(OF_SANDBOX):
            a = d.ask("POST", "/filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}, token=greedy, headers={"E2b-Sandbox-Id": boxes[-1]})
            assert a.status in (200, 429), a
            made += a.status == 200
            refused += a.status == 429
    box = d.must(201, "POST", "/api/sandboxes", {}, token=victim)["sandbox_id"]
    envd(d, box, "/filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}, victim)
    assert refused and made >= WATCHERS // 2 - 1, (made, refused)
    for b in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{b}", token=greedy)
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=victim)


def test_revoked_while_it_waits(d):
    """Code waits behind other code of its context, and its key is revoked: it is cut within a second, and never runs."""
    token, (key, key_id) = d.make_token("--owner", "coder"), make_key(d, "coder")
    box = d.must(201, "POST", "/api/sandboxes", {"memory_limit": "512m"}, token=token)["sandbox_id"]
    envd(d, box, "/execute", {"code": "1"}, token, 49999)
    first = threading.Thread(target=lambda: envd(d, box, "/execute", {"code": "import time, os\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)"},
                                                 token, 49999))
    first.start()
    wait_for("the first", lambda: d.must(200, "GET", f"/api/sandboxes/{box}/contexts", token=token)["contexts"][0]["busy"])
    ended = []

    def second():
        c = d.connect()
        try:
            c.request("POST", "/execute", json.dumps({"code": "open('/tmp/ran', 'w')"}),
                      {"Authorization": f"Bearer {key}", "E2b-Sandbox-Id": box, "E2b-Sandbox-Port": "49999", "Content-Type": "application/json"})
            ended.append(c.getresponse().status)
        except (OSError, http.client.HTTPException) as e:
            ended.append(type(e).__name__)

    waits = threading.Thread(target=second)
    waits.start()
    time.sleep(1)  # it is in the daemon by then; and if it is not, it is refused, which is as good
    assert not ended, ended
    d.must(200, "DELETE", f"/api/keys/{key_id}", token=False, unix=True)
    began = time.monotonic()
    waits.join(PATIENCE_S)
    assert ended and time.monotonic() - began < 2, (ended, time.monotonic() - began)
    d.run(box, "touch /tmp/go") if d.token is None else d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "touch /tmp/go"}, token=token)
    first.join(PATIENCE_S)
    envd(d, box, "/execute", {"code": "2"}, token, 49999)
    a = d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": "ls /tmp"}, token=token)
    assert "ran" not in a["stdout"].split(), a
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=token)


def test_many_wait(d):
    """Fifty wait for one context: the daemon answers others as before, and each runs once, the oldest first."""
    token = d.make_token("--owner", "queue")
    box = d.must(201, "POST", "/api/sandboxes", {"memory_limit": "512m"}, token=token)["sandbox_id"]
    envd(d, box, "/execute", {"code": "done = []\nimport time\nlast = time.monotonic()"}, token, 49999)
    threads = [threading.Thread(target=lambda: envd(d, box, "/execute", {"code": "done.append(1)\ntime.sleep(0.02)"}, token, 49999)) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE_S)
    said = envd(d, box, "/execute", {"code": "len(done)"}, token, 49999)
    assert b'"50"' in said, said
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=token)


def test_volumes(d):
    """Volumes of the same name of two owners: each token opens its owner's."""
    tokens = {}
    for owner in ("mounter", "other.o"):
        made = d.must(201, "POST", "/volumes", {"name": "same"}, token=d.make_token("--owner", owner))
        tokens[owner] = made["token"]

    def content(method, token, body=None):
        return d.ask(method, "/volumecontent/same/file?path=/f", body, token=token, headers={"Content-Type": "application/octet-stream"})

    assert content("PUT", tokens["mounter"], b"secret").status == 201
    assert content("GET", tokens["mounter"]).body == b"secret"
    assert content("GET", tokens["other.o"]).status == 404
    mixed = tokens["other.o"][:64] + tokens["mounter"][64:]
    for bad in (mixed, tokens["mounter"][:-2], tokens["mounter"] + "00", tokens["mounter"] + "z", d.make_token("--owner", "mounter")):
        assert content("GET", bad).status == 401, bad
    # An administrator's own volume of that name goes; who serves others' files stays.
    admin = d.make_token("--owner", "boss", "--scope", "admin")
    mine = d.must(201, "POST", "/volumes", {"name": "same"}, token=admin)["token"]
    assert content("PUT", mine, b"own").status == 201 and content("GET", tokens["mounter"]).body == b"secret"

    def serving():
        return sorted(s["sandbox_id"] for s in d.must(200, "GET", "/api/sandboxes?limit=1000", token=admin)["sandboxes"] if s["owner"] == "mounter")

    before = serving()
    assert before and d.ask("DELETE", "/volumes/same", token=admin).status == 204 and serving() == before
    for owner in tokens:
        assert d.ask("DELETE", "/volumes/same", token=d.make_token("--owner", owner)).status == 204


def test_templates_of_others(d):
    """An administrator removes a template: that of the same name of another owner stays, with its tags."""
    boss, ann = d.make_token("--owner", "boss", "--scope", "admin"), d.make_token("--owner", "ann")
    for token in (ann, boss):
        box = d.must(201, "POST", "/sandboxes", {"templateID": "base"}, token=token)["sandboxID"]
        d.must(201, "POST", f"/sandboxes/{box}/snapshots", {"name": "stack"}, token=token)
        d.must(201, "POST", "/templates/tags", {"target": "stack", "tags": ["v1"]}, token=token)
        assert d.ask("DELETE", f"/sandboxes/{box}", token=token).status == 204
    assert len(d.must(200, "GET", "/templates/stack/tags", token=boss)) == len(d.must(200, "GET", "/templates/stack/tags", token=ann))
    before = d.must(200, "GET", "/api/snapshots", token=ann)["snapshots"]
    assert len(before) == 2, before
    assert d.ask("DELETE", "/templates/stack", token=boss).status == 204
    assert d.must(200, "GET", "/api/snapshots", token=ann)["snapshots"] == before
    assert not [s for s in d.must(200, "GET", "/api/snapshots", token=boss)["snapshots"] if s["owner"] == "boss"]
    assert d.ask("DELETE", "/templates/stack", token=ann).status == 204


def test_public_ports(_):
    """Who comes to a public port with something that looks like a link gets nothing signed: it would open the sandbox's terminal."""
    with Daemon("--e2b-public-ports") as d:
        token = d.make_token("--owner", "host")
        boxes = [d.must(201, "POST", "/sandboxes", {"templateID": "base"}, token=token)["sandboxID"],
                 d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]]
        for box in boxes:
            for port in (17681, 6080, 8000, 49983, 49999):
                for link in ("x", "cayp1.a.b", ""):
                    a = d.ask("GET", f"/?cay_link={link}", token=None, headers={"Host": f"{port}-{box}.localhost:{d.port}"})
                    assert "Set-Cookie" not in a.headers and a.status in (303, 404, 502), (port, link, a)
            # A real one still works, and opens its own port alone.
            url = d.must(201, "POST", f"/api/sandboxes/{box}/links", {"port": 8000}, token=token)["url"]
            a = d.ask("GET", "/" + url.rpartition("/")[2], token=None, headers={"Host": f"8000-{box}.localhost:{d.port}"})
            assert a.status == 303 and a.headers["Set-Cookie"].startswith("cay_port=cayp1."), a
            a = d.ask("GET", "/" + url.rpartition("/")[2], token=None, headers={"Host": f"17681-{box}.localhost:{d.port}"})
            assert "Set-Cookie" not in a.headers, a


def test_signatures_cost(_):
    """Whoever asks for a signed address without a sandbox in it makes the daemon try all of them: that is charged."""
    burst, boxes = 40, 40
    with Daemon("--rate-limit", "600", "--rate-burst", str(burst), "--max-sandboxes", "60") as d:
        for _ in range(boxes):
            d.must(201, "POST", "/api/sandboxes", {}, token=False, unix=True)
        tried = 0
        while d.ask("GET", "/files?path=/etc/passwd&username=user&signature=v1_x", token=None).status == 401:
            tried += 1
            assert tried < burst, "as cheap as any request"
        assert tried >= burst // 2 - 2, tried


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def test_uploads_have_a_budget(_):
    """Uploads that a sandbox does not take: what is kept of them counts in client_memory, and others are served."""
    with Daemon("--client-memory", "16m", "--max-connections", "400") as d:
        token = d.make_token("--owner", "sender")
        box = d.must(201, "POST", "/api/sandboxes", {}, token=token)["sandbox_id"]
        before, held = rss_kib(d.child("cay-front")), []
        for i in range(UPLOADS):
            s = socket.create_connection(("127.0.0.1", d.port))
            s.sendall((f"POST /files?path=/tmp/x{i}&username=user HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
                       f"E2b-Sandbox-Id: {box}\r\nContent-Type: application/octet-stream\r\nContent-Length: 8388608\r\n\r\n").encode())
            s.setblocking(False)
            held.append(s)
        d.must(200, "POST", f"/api/sandboxes/{box}/pause", {}, token=token)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            for s in held:
                with contextlib.suppress(OSError):
                    s.send(bytes(262144))
        grown = rss_kib(d.child("cay-front")) - before
        print(f"  the front grew by {grown} KiB")
        assert d.ask("GET", "/api/sandboxes", token=d.make_token("--owner", "another")).status == 200
        assert grown < 48 * 1024, grown
        for s in held:
            s.close()
        d.must(200, "POST", f"/api/sandboxes/{box}/resume", {}, token=token)


TESTS = [test_builds, test_builds_bytes, test_only_readers, test_readers_get_no_tokens, test_watchers, test_revoked_while_it_waits, test_many_wait, test_volumes, test_templates_of_others, test_public_ports, test_signatures_cost,
         test_uploads_have_a_budget]


def main():
    with Daemon("--max-sandboxes", "100", "--max-sandboxes-owner", "60", "--client-memory", "1g") as d:
        run_tests(TESTS, d)


main()
