#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host folders as workspaces: named below workspace_roots over TCP, passed as descriptors over the unix socket."""
import array
import json
import os
import shutil
import signal
import socket
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import PATIENCE_S, Daemon, ready_again  # noqa: E402

ME, YOU = 31234, 31235  # nobody on this machine


def folder(path, uid, mode=0o755):
    os.makedirs(path, exist_ok=True)
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    return path


def as_user(uid, work):
    """What work() gives, in a process of that user's."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(write, json.dumps(work()).encode())
            os._exit(0)
        except BaseException as e:  # pylint: disable=broad-except
            os.write(write, json.dumps({"failed": repr(e)}).encode())
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        text = f.read()
    os.waitpid(pid, 0)
    got = json.loads(text)
    assert not (isinstance(got, dict) and "failed" in got), got
    return got


def call(path, method, target, body=None, fd=None):
    """One request over the unix socket, with a descriptor beside its first byte: [status, answer]."""
    text = json.dumps(body).encode() if body is not None else b""
    head = (f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE_S)
        s.connect(path)
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        s.sendmsg([head + text], beside)
        got = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
    answer_head, answer = got.split(b"\r\n\r\n", 1)
    return [int(answer_head.split()[1]), json.loads(answer)]


def refused(answer, *words):
    status, body = answer if isinstance(answer, list) else (answer.status, answer.json)
    text = json.dumps(body)
    assert 400 <= status < 500, answer
    assert all(w in text for w in words), (words, answer)


def test_roots(d, place):
    """Below workspace_roots, also in a home that nobody else can enter; files belong to the folder's owner."""
    home = folder(f"{place}/roots/home", ME, 0o700)
    folder(f"{home}/project", ME, 0o700)
    folder(f"{place}/roots/system", 0)
    folder(f"{place}/outside", ME)
    os.symlink("../outside", f"{place}/roots/link")
    os.symlink("project", f"{home}/inner")

    def make(path, mode):
        return d.ask("POST", "/api/sandboxes", {"workspace": {"path": path, "mode": mode}, "own_user_only": True})

    a = make(f"{home}/project", "rw")
    assert a.status == 201 and a.json["workspace"]["mapped"], a
    box = a.json["sandbox_id"]
    r = d.run(box, "id -u; pwd; mkdir made && echo text > made/file && stat -c %u:%g . made made/file")
    assert r["exit_code"] == 0 and r["stdout"].split() == ["1001", "/workspace"] + ["1001:1001"] * 3, r
    st = os.stat(f"{home}/project/made/file")
    assert (st.st_uid, st.st_gid) == (ME, ME), st
    with open(f"{home}/project/made/file", encoding="utf-8") as f:
        assert f.read() == "text\n"
    # Files as root go by the rules of commands as root.
    for query in ("files?path=f", "files?path=/tmp/f"):
        refused(d.ask("PUT", f"/api/sandboxes/{box}/{query}&as_root=true", b"x"), "its own user only")
    refused(d.ask("GET", f"/api/sandboxes/{box}/files/list?path=/&as_root=true"), "its own user only")
    other = d.make(workspace={"path": f"{home}/project", "mode": "rw"})
    for method, query in (("PUT", "files?path=f"), ("PUT", "archive?path=."), ("POST", "files/mkdir?path=f"), ("DELETE", "files?path=made")):
        refused(d.ask(method, f"/api/sandboxes/{other}/{query}&as_root=true", b"x" if method == "PUT" else None), "leave as_root out")
    d.must(200, "GET", f"/api/sandboxes/{other}/files/list?path=/&as_root=true")  # reading is fine
    d.must(200, "DELETE", f"/api/sandboxes/{other}")
    # Stopped and started, by this front and by the next one, it is the same folder.
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, ["cat", "made/file"])["stdout"] == "text\n"
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert d.run(box, ["cat", "made/file"])["stdout"] == "text\n"
    d.must(200, "DELETE", f"/api/sandboxes/{box}")

    cow = make(f"{home}/project", "cow").json["sandbox_id"]
    assert d.run(cow, "echo other > made/file; cat made/file")["stdout"] == "other\n"
    with open(f"{home}/project/made/file", encoding="utf-8") as f:
        assert f.read() == "text\n"
    d.must(200, "DELETE", f"/api/sandboxes/{cow}")
    ro = make(f"{place}/roots//home/project/", "ro").json["sandbox_id"]
    assert d.run(ro, "cat made/file; echo x > made/file")["stdout"] == "text\n"
    assert d.run(ro, "touch new")["exit_code"] != 0
    d.must(200, "DELETE", f"/api/sandboxes/{ro}")

    refused(make(f"{place}/outside", "ro"), "workspace_roots")
    refused(make(f"{place}/rootsandmore", "ro"), "workspace_roots")
    refused(make("/etc", "ro"), "workspace_roots")
    refused(make(f"{place}/roots/../outside", "ro"), "leaves its root")
    refused(make(f"{place}/roots/link", "ro"), "link")
    refused(make(f"{home}/inner", "rw"), "link")
    refused(make(f"{place}/roots/nowhere", "ro"), "nowhere")
    refused(make(f"{place}/roots/system", "rw"), "root's")
    refused(make(f"{place}/roots/" + "a/" * 1000, "ro"), "below its root")
    refused(make(f"{home}/project", "x"), "ro, rw or cow")
    assert d.must(200, "GET", "/api/sandboxes")["sandboxes"] == []


def test_root_files(d, place):
    """A folder of root's below the roots is shown as everybody sees it: what root keeps to itself stays so."""
    path = folder(f"{place}/roots/shared", 0)
    for name, mode in (("open", 0o644), ("closed", 0o600)):
        with open(f"{path}/{name}", "w", encoding="utf-8") as f:
            f.write(name)
        os.chmod(f"{path}/{name}", mode)
    box = d.make(workspace={"path": path, "mode": "ro"})
    assert d.run(box, ["cat", "open"])["stdout"] == "open"
    assert d.run(box, ["cat", "closed"])["exit_code"] != 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    path = folder(f"{place}/roots/shut", 0, 0o700)
    for mode in ("ro", "cow"):  # nobody inside could enter it, so it is said at once, with what to do
        refused(d.ask("POST", "/api/sandboxes", {"workspace": {"path": path, "mode": mode}}), "mode 0700", "chmod o+rx", "chown")
    os.chmod(path, 0o711)
    box = d.make(workspace={"path": path, "mode": "ro"})
    assert d.run(box, ["pwd"])["exit_code"] == 0
    d.must(200, "DELETE", f"/api/sandboxes/{box}")


def test_passed(d, place):
    """A descriptor over the unix socket: the client's own rights decide."""
    mine, yours = folder(f"{place}/mine", ME, 0o700), folder(f"{place}/yours", YOU, 0o755)
    closed = folder(f"{place}/closed", YOU, 0o700)
    system = folder(f"{place}/system", 0, 0o755)
    with open(f"{yours}/private", "w", encoding="utf-8") as f:
        f.write("yours")
    os.chown(f"{yours}/private", YOU, YOU)
    os.chmod(f"{yours}/private", 0o600)

    def make(path, mode, flags=os.O_RDONLY | os.O_DIRECTORY):
        fd = os.open(path, flags)
        return call(d.unix, "POST", "/api/sandboxes", {"workspace": {"mode": mode}}, fd)

    def own():
        status, box = make(mine, "rw")
        assert status == 201, box
        box = box["sandbox_id"]
        _, ran = call(d.unix, "POST", f"/api/sandboxes/{box}/execute",
                      {"command": "echo text > file; stat -c %u:%g file"})
        assert ran["stdout"] == "1001:1001\n", ran
        status, _ = call(d.unix, "POST", f"/api/sandboxes/{box}/stop")
        assert status == 200
        status, again = call(d.unix, "POST", f"/api/sandboxes/{box}/start")  # the folder is held, the client says whose it is
        assert status == 200, again
        _, ran = call(d.unix, "POST", f"/api/sandboxes/{box}/execute", {"command": ["cat", "file"]})
        assert ran["stdout"] == "text\n", ran
        status, _ = call(d.unix, "POST", f"/api/sandboxes/{box}/stop")
        assert status == 200
        return box

    admin = d.make_token("--owner", "boss", "--scope", "admin")
    box = as_user(ME, own)
    st = os.stat(f"{mine}/file")
    assert (st.st_uid, st.st_gid) == (ME, ME), st
    # Somebody else (over TCP, an admin) may see it but cannot vouch for the folder.
    refused(d.ask("POST", f"/api/sandboxes/{box}/start", token=admin), "connection")
    d.must(200, "DELETE", f"/api/sandboxes/{box}", token=admin)

    def lost():
        """After a restart of the front the descriptor is gone: it is given again."""
        fd = os.open(mine, os.O_RDONLY | os.O_DIRECTORY)
        status, answer = call(d.unix, "POST", f"/api/sandboxes/{box}/start")
        assert status == 409 and "again" in json.dumps(answer), answer
        status, answer = call(d.unix, "POST", f"/api/sandboxes/{box}/start", fd=fd)
        assert status == 200, answer
        _, ran = call(d.unix, "POST", f"/api/sandboxes/{box}/execute", {"command": ["cat", "file"]})
        assert ran["stdout"] == "text\n", ran
        return call(d.unix, "DELETE", f"/api/sandboxes/{box}")[0]

    box = as_user(ME, own)
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    assert as_user(ME, lost) == 200

    def foreign():
        """What all may read of another's folder, and no more than that."""
        status, made = make(yours, "ro")
        assert status == 201, made
        made = made["sandbox_id"]
        _, ran = call(d.unix, "POST", f"/api/sandboxes/{made}/execute", {"command": "cat private; stat -c %u private"})
        assert ran["stdout"] == "65534\n" and "denied" in ran["stderr"], ran
        assert call(d.unix, "DELETE", f"/api/sandboxes/{made}")[0] == 200
        return [make(yours, "rw"), make(system, "rw"), make(mine, "rw", os.O_PATH | os.O_DIRECTORY),
                make(closed, "ro", os.O_PATH | os.O_DIRECTORY), make(f"{mine}/file", "ro", os.O_RDONLY),
                call(d.unix, "POST", "/api/sandboxes", {"workspace": {"path": mine, "mode": "rw"}}),
                call(d.unix, "POST", "/api/sandboxes", {"workspace": {"mode": "rw"}})]

    words = [("belongs to uid",), ("belongs to uid 0",), ("for reading",), ("for reading",), ("not a folder",),
             ("workspace_roots",), ("required",)]
    for answer, wanted in zip(as_user(ME, foreign), words):
        refused(answer, *wanted)
    # Root's client: root's folders are not writable to a sandbox either; others' are.
    refused(make(system, "rw"), "root's")
    status, answer = make(yours, "rw")
    assert status == 201, answer
    d.must(200, "POST", f"/api/sandboxes/{answer['sandbox_id']}/execute", {"command": "echo x > made"}, token=admin)
    assert os.stat(f"{yours}/made").st_uid == YOU
    d.must(200, "DELETE", f"/api/sandboxes/{answer['sandbox_id']}", token=admin)
    assert d.must(200, "GET", "/api/sandboxes", token=admin)["sandboxes"] == []


def test_no_roots(place):
    """By default no folder can be named."""
    with Daemon() as d:
        path = folder(f"{place}/any", ME)
        refused(d.ask("POST", "/api/sandboxes", {"workspace": {"path": path, "mode": "ro"}}), "workspace_roots")


def main():
    place = tempfile.mkdtemp(prefix="cay-workspace-")
    os.chmod(place, 0o755)
    try:
        folder(f"{place}/roots", 0)
        folder(f"{place}/door", 0)
        with Daemon("--workspace-roots", f"{place}/roots", "--socket", f"{place}/door/cay.sock") as d:
            d.unix = f"{place}/door/cay.sock"
            for test in (test_roots, test_root_files, test_passed):
                print(test.__name__, flush=True)
                test(d, place)
        print("test_no_roots", flush=True)
        test_no_roots(place)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
