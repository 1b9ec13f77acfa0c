#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Named volumes of the native engine. test_volumes.py [NAME…] runs some of the tests."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, Daemon, ready_again, run_tests, wait_for  # noqa: E402

SIZE = 24 << 20


def volumes(d, **more):
    return {v["name"]: v for v in d.must(200, "GET", "/api/volumes", **more)["volumes"]}


def made_as(d, token, status=201, **fields):
    a = d.must(status, "POST", "/api/sandboxes", fields, token=token)
    return a["sandbox_id"] if status == 201 else a


def run_as(d, token, box, command):
    return d.must(200, "POST", f"/api/sandboxes/{box}/execute", {"command": command}, token=token)


def out(d, box, command):
    a = d.run(box, command)
    assert a["cause"] == "exited" and a["exit_code"] == 0, a
    return a["stdout"]


def remove(d, *boxes):
    for box in boxes:
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def drop(d, *names):
    for name in names:
        assert d.must(200, "DELETE", f"/api/volumes/{name}")["status"] == "removed"
    left = volumes(d)
    assert not set(names) & set(left), left


def files(d):
    folder = os.path.join(d.folder, "data", "layers", "volumes")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def mounted(d):
    """Images of volumes that a loop device has."""
    found = []
    for name in os.listdir("/sys/block"):
        path = f"/sys/block/{name}/loop/backing_file"
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if d.folder in text and "/volumes/" in text:
                found.append(text.strip())
    return found


def test_two_at_once_share_one(d):
    one = d.make(volumes=["shared:/data"])
    assert out(d, one, "stat -c %u:%g:%a /data; ls -A /data; echo one > /data/f; mkdir /data/d; cat /data/f") == "1001:1001:755\none\n"
    two = d.make(volumes=["shared:/some/where/deep", "other:/other"])
    assert out(d, two, "cat /some/where/deep/f; stat -c %u:%g /some/where/deep/f; echo two >> /some/where/deep/f") == "one\n1001:1001\n"
    assert out(d, one, "cat /data/f") == "one\ntwo\n"
    ro = d.make(volumes=["shared:/data:ro"], read_only=True)
    a = d.run(ro, "cat /data/f; touch /data/x")
    assert a["stdout"] == "one\ntwo\n" and a["exit_code"] != 0 and "Read-only" in a["stderr"], a
    # a read-only root does not make the volume read-only
    rw = d.make(volumes=["shared:/data"], read_only=True)
    out(d, rw, "echo three >> /data/f")
    # locks on a file count between them
    d.run(one, "flock /data/f sh -c 'touch /data/held; sleep 1000' > /dev/null 2>&1 &")
    wait_for("the lock", lambda: d.run(two, "test -e /some/where/deep/held")["exit_code"] == 0)
    assert d.run(two, "flock -n /some/where/deep/f true")["exit_code"] == 1
    found = volumes(d)
    assert found["shared"]["sandboxes"] == 4 and found["other"]["sandboxes"] == 1 and found["shared"]["engine"] == "native", found
    assert SIZE <= found["shared"]["size_bytes"] < SIZE * 1.5 and 0 < found["shared"]["used_bytes"] < SIZE, found
    assert found["shared"]["created_at"] is not None, found
    # the sandbox says what it has
    assert d.must(200, "GET", f"/api/sandboxes/{ro}")["volumes"] == [{"name": "shared", "at": "/data", "read_only": True}]
    remove(d, one, two, ro, rw)
    wait_for("the end of the mounts", lambda: mounted(d) == [])
    three = d.make(volumes=["shared:/data"])
    assert out(d, three, "cat /data/f") == "one\ntwo\nthree\n"
    remove(d, three)
    drop(d, "shared", "other")
    assert files(d) == [], files(d)


def test_refused(d):
    one = d.make(volumes=["mine:/data"])
    before = files(d)
    assert len(before) == 1
    a = d.must(409, "DELETE", "/api/volumes/mine")
    assert "1 sandbox has" in a["error"]["message"], a
    d.must(200, "POST", f"/api/sandboxes/{one}/stop")
    a = d.must(409, "DELETE", "/api/volumes/mine")  # a stopped one has it, too
    assert d.must(404, "DELETE", "/api/volumes/nothing")["error"]["code"] == "not_found"
    for bad, status in ((["x:/proc/x"], 400), (["x:/"], 400), (["x:/a/../b"], 400), (["X:/a"], 400), (["x:a"], 400), (["x:/etc"], 400),
                        (["x:/a", "y:/a/b"], 400), (["x:/a", "x:/a"], 400)):
        a = d.must(status, "POST", "/api/sandboxes", {"volumes": bad})
        assert "volume" in a["error"]["message"], a
    # a link that the sandbox left in the way is not followed
    two = d.make(volumes=["mine:/workspace/a/data"])
    out(d, two, "cd /workspace && mv a b && ln -s /etc a")
    d.must(200, "POST", f"/api/sandboxes/{two}/stop")
    a = d.ask("POST", f"/api/sandboxes/{two}/start")
    assert a.status >= 400 and "no plain directory" in a.json["error"]["message"], a
    remove(d, two)
    assert files(d) == before, files(d)
    remove(d, one)
    drop(d, "mine")


def test_another_owner_has_others(d):
    tokens = [d.make_token("--owner", o) for o in ("ann", "bob@Example.org")]
    boxes = [made_as(d, t, volumes=["cache:/c"]) for t in tokens]
    for t, box, word in zip(tokens, boxes, ("of-ann", "of-bob")):
        assert run_as(d, t, box, f"cat /c/f; echo {word} > /c/f")["stdout"] == ""
    for t, box, word in zip(tokens, boxes, ("of-ann", "of-bob")):
        assert run_as(d, t, box, "cat /c/f")["stdout"] == word + "\n"
        assert [v["name"] for v in d.must(200, "GET", "/api/volumes", token=t)["volumes"]] == ["cache"]
    admin = d.make_token("--owner", "boss", "--scope", "admin,exec")
    everybody = d.must(200, "GET", "/api/volumes", token=admin)
    assert sorted(v["owner"] for v in everybody["volumes"]) == ["ann", "bob@Example.org"] and everybody["count"] == 2, everybody
    a = d.must(403, "DELETE", "/api/volumes/cache?owner=ann", token=tokens[1])
    assert "admin" in a["error"]["message"], a
    for t, box in zip(tokens, boxes):
        d.must(200, "DELETE", f"/api/sandboxes/{box}", token=t)
    d.must(200, "DELETE", "/api/volumes/cache", token=tokens[0])
    assert d.must(200, "GET", "/api/volumes", token=tokens[1])["count"] == 1
    d.must(200, "DELETE", "/api/volumes/cache?owner=bob@Example.org", token=admin)
    assert files(d) == [], files(d)


def test_a_full_one_is_told(d):
    full, other = d.make(volumes=["small:/data"]), d.make(volumes=["small:/data", "free:/free"])
    a = d.run(full, "head -c 100000000 /dev/zero > /data/big")
    assert (a["cause"], a["cause_text"]) == ("disk", "the volume 'small' is full") and "No space left" in a["stderr"], a
    assert "No space left" in d.run(other, "head -c 100000 /dev/zero > /data/more")["stderr"]
    out(d, other, "head -c 1000000 /dev/zero > /free/f; head -c 1000000 /dev/zero > /workspace/f")
    out(d, other, "rm /data/big && head -c 1000000 /dev/zero > /data/more")
    remove(d, full, other)
    drop(d, "small", "free")


def test_no_more_than_allowed(d):
    names = [f"v{i}" for i in range(4)]
    one = d.make(volumes=[f"{n}:/{n}" for n in names])
    a = d.must(429, "POST", "/api/sandboxes", {"volumes": ["v0:/v0", "v4:/v4"]})
    assert "max_volumes" in a["error"]["message"], a
    two = d.make(volumes=["v0:/v0"])
    assert volumes(d)["v0"]["sandboxes"] == 2
    remove(d, one, two)
    drop(d, *names)


def test_kept_over_restarts(d):
    box = d.make(volumes=["kept:/data"])
    out(d, box, "echo before > /data/f; sync /data/f")
    # a command that goes on holds its files over the front's death
    os.kill(d.child("cay-front"), signal.SIGKILL)
    ready_again(d)
    assert out(d, box, "cat /data/f") == "before\n"
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    assert out(d, box, "cat /data/f; echo after >> /data/f") == "before\n"
    # the warden killed: boxes go, volumes stay
    os.kill(d.child("cay-warden"), signal.SIGKILL)
    wait_for("the loss", lambda: lost(d, box))
    d.start_again(box)
    assert out(d, box, "cat /data/f") == "before\nafter\n"
    d.stop()
    assert mounted(d) == [], mounted(d)
    d.start()
    assert volumes(d)["kept"]["sandboxes"] == 1
    d.start_again(box)
    assert out(d, box, "cat /data/f") == "before\nafter\n"
    remove(d, box)
    drop(d, "kept")


def lost(d, box):
    try:
        s = d.must(200, "GET", f"/api/sandboxes/{box}")
    except (OSError, AssertionError):
        return False
    return s["status"] == "error" and not s["busy_with"]


def test_quickly_again(d):
    """A box that comes while the last one's mount is being closed gets the same files."""
    for i in range(12):
        box = d.make(volumes=["busy:/data"])
        assert out(d, box, f"cat /data/f; head -c 3000000 /dev/urandom > /data/noise; echo {i} > /data/f") == (f"{i - 1}\n" if i else "")
        remove(d, box)
    wait_for("the end of the mounts", lambda: mounted(d) == [])
    drop(d, "busy")


def test_interrupted_and_damaged(d):
    """An image as a power cut leaves it is repaired; one with errors is refused until somebody has repaired it."""
    box = d.make(volumes=["hurt:/data"])
    out(d, box, "echo safe > /data/f; sync /data/f")
    folder = os.path.join(d.folder, "data", "layers", "volumes")
    image = os.path.join(folder, files(d)[0])
    shutil.copy(image, image + ".cut")  # with a journal that is in use
    remove(d, box)
    wait_for("the end of the mounts", lambda: mounted(d) == [])
    os.rename(image + ".cut", image)
    box = d.make(volumes=["hurt:/data"])
    assert out(d, box, "cat /data/f") == "safe\n"
    remove(d, box)
    wait_for("the end of the mounts", lambda: mounted(d) == [])
    subprocess.run(["debugfs", "-w", "-R", "ssv state 2", image], check=True, capture_output=True, timeout=60)  # the kernel met errors
    a = d.must(409, "POST", "/api/sandboxes", {"volumes": ["hurt:/data"]})
    assert "'hurt' is damaged" in a["error"]["message"] and "e2fsck -f" in a["error"]["message"], a
    assert volumes(d)["hurt"]["sandboxes"] == 0
    subprocess.run(["e2fsck", "-f", "-y", image], check=False, capture_output=True, timeout=60)
    box = d.make(volumes=["hurt:/data"])
    assert out(d, box, "cat /data/f") == "safe\n"
    remove(d, box)
    drop(d, "hurt")


def test_the_command_line(d):
    def cay(*words, check=True):
        at = 1 if words[0] == "exec" else len(words)
        return subprocess.run([CAY, *words[:at], "--data", os.path.join(d.folder, "data"), *words[at:]], check=check, capture_output=True, text=True,
                              timeout=60, env=d.environment())

    box = cay("create", "--volumes", "tools:/opt/tools").stdout.split()[0]
    cay("exec", box, "--", "sh", "-c", "echo x > /opt/tools/x")
    table = cay("volume").stdout.splitlines()
    assert table[0].split() == ["NAME", "OWNER", "ENGINE", "SANDBOXES", "USED", "SIZE", "CREATED"], table
    assert table[1].split()[0] == "tools" and table[1].split()[2:4] == ["native", "1"], table
    refused = cay("volume", "rm", "tools", check=False)
    assert refused.returncode != 0 and "destroy what has it first" in refused.stderr, refused
    cay("rm", box)
    assert "tools" in cay("volume", "rm", "tools").stdout
    assert files(d) == [], files(d)


TESTS = [test_two_at_once_share_one, test_refused, test_another_owner_has_others, test_a_full_one_is_told, test_no_more_than_allowed,
         test_quickly_again, test_interrupted_and_damaged, test_the_command_line, test_kept_over_restarts]


def main():
    with Daemon("--rate-limit", "0", "--volume-size", str(SIZE), "--max-volumes", "4") as d:
        run_tests(TESTS, d)
        wait_for("the end of the mounts", lambda: mounted(d) == [])


if __name__ == "__main__":
    main()
