#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets of a daemon's owners: set once, never shown, used by sandboxes that only have a placeholder. Real clients and a server in a namespace
of the test; nothing leaves it. test_secrets.py [NAME…] runs some of them."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "net")]
from daemon import CAY, Daemon, ready_again, wait_for  # noqa: E402
from servers import Echo, make_ca, noted  # noqa: E402
import wire  # noqa: E402
from world import PEER  # noqa: E402

VALUE, SECOND = "sk-the-real-one-7f3a", "sk-another-one-91bc"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ASK = 'curl -sS -H "Authorization: Bearer $API_KEY" https://api.example/ >/dev/null'
PYTHON = """
import os, urllib.request
r = urllib.request.Request('https://api.example/', headers={'Authorization': os.environ['API_KEY']})
urllib.request.urlopen(r).read()
"""
NODE = "fetch('https://api.example/', {headers: {authorization: process.env.API_KEY}}).then(r => r.text()).catch(e => { console.log(e); process.exit(1); })"


class World:
    """The host's resolver and certificates are the test's, in this test's mount namespace."""

    def __init__(self):
        wire.unshare_net()
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        make_ca(self.folder, ("api.example", "other.example"))
        with open(f"{self.folder}/resolv.conf", "w", encoding="utf-8") as f:
            f.write(f"nameserver {PEER}\n")
        self.mounts = [(f"{self.folder}/resolv.conf", os.path.realpath("/etc/resolv.conf")), (f"{self.folder}/ca.pem", os.path.realpath(CERTIFICATES))]
        for what, where in self.mounts:
            subprocess.run(["mount", "--bind", what, where], check=True)
        self.internet = Echo(self.folder)

    def seen(self):
        """What the server saw in Authorization, last."""
        return noted(self.folder)[-1]["headers"].get("authorization")

    def close(self):
        self.internet.close()
        for _, where in self.mounts:
            subprocess.run(["umount", where], check=True)
        shutil.rmtree(self.folder)


def admin(d):
    return d.make_token("--scope", "admin")


def cay(d, verb, *words, given=None, status=0):
    done = subprocess.run([CAY, *verb.split(), "--data", os.path.join(d.folder, "data"), *words], input=given, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": d.folder}, check=False, timeout=120)
    assert done.returncode == status, done
    return done.stdout


def set_secret(d, value=VALUE, token=None, status=201, **fields):
    return d.must(status, "POST", "/api/secrets", {"name": "API_KEY", "host": "api.example", "value": value, **fields}, token=token or admin(d))


def make(d, status=201, token=None, **fields):
    more = {"limits": {"memory": "256m"}, "allow": ["api.example", "other.example"], "secrets": ["API_KEY"], **fields}
    got = d.must(status, "POST", "/api/sandboxes", more, token=token or admin(d))
    return got["sandbox_id"] if status == 201 else got


def ask(d, box, script=ASK):
    got = d.run(box, ["/bin/sh", "-c", script])
    assert got["exit_code"] == 0, got
    return got


def files_below(folder):
    for at, _, names in os.walk(folder):
        for name in filter(lambda n, at=at: os.path.isfile(os.path.join(at, n)), names):
            with open(os.path.join(at, name), "rb") as f:
                yield name, f.read()


def nobody_sees_the_value(world):
    with Daemon() as d:
        made = set_secret(d, header="authorization")
        assert made["name"] == "API_KEY" and made["host"] == "api.example" and VALUE not in str(made), made
        listed = d.must(200, "GET", "/api/secrets", token=admin(d))
        assert [s["name"] for s in listed["secrets"]] == ["API_KEY"] and VALUE not in str(listed), listed
        box = make(d)
        ask(d, box)
        assert world.seen() == f"Bearer {VALUE}", world.seen()
        inside = ask(d, box, "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /etc/cay-ca.pem | head -c 100")["stdout"]
        assert VALUE not in inside and "API_KEY=cay-secret-" in inside and "SSL_CERT_FILE=/etc/cay-ca.pem" in inside, inside
        # Other clients, as they are.
        ask(d, box, f"/usr/bin/python3 -c \"{PYTHON}\"")
        assert world.seen() == VALUE
        if os.path.exists("/usr/bin/node"):
            ask(d, box, f"/usr/bin/node -e \"{NODE}\"")
            assert world.seen() == VALUE
        # At another host it is worth nothing.
        ask(d, box, ASK.replace("api.example", "other.example"))
        assert world.seen().startswith("Bearer cay-secret-"), world.seen()
        log = str(d.must(200, "GET", f"/api/sandboxes/{box}/network/log"))
        assert "api.example" in log and VALUE not in log and "cay-secret-" not in log
        data = os.path.join(d.folder, "data")
        key = os.stat(os.path.join(data, "secrets.key"))
        assert key.st_mode & 0o777 == 0o600
        for name, content in files_below(d.folder):
            assert VALUE.encode() not in content, name
        for pid in (d.child("cay-net"), d.child("cay-front")):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                assert VALUE.encode() not in f.read()
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def owners_have_their_own(world):
    with Daemon() as d:
        mine, other = admin(d), d.make_token("--scope", "admin", "--owner", "somebody")
        set_secret(d, token=mine)
        assert d.must(200, "GET", "/api/secrets", token=other)["secrets"] == []
        assert d.must(404, "DELETE", "/api/secrets/API_KEY", token=other)
        got = make(d, status=400, token=other)
        assert got["error"]["message"].startswith("secrets: you have no secret 'API_KEY'"), got
        set_secret(d, SECOND, token=other)
        box = make(d, token=mine)
        ask(d, box)
        assert world.seen() == f"Bearer {VALUE}"


def it_outlives_what_dies(world):
    with Daemon() as d:
        set_secret(d)
        box = make(d)
        ask(d, box)
        for names in (("cay-front",), ("cay-net",), ("cay-net", "cay-front")):
            killed = [d.child(name) for name in names]
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            wait_for("others", lambda names=names, killed=killed: not {d.child(name) for name in names} & {None, *killed})
            ready_again(d)
            wait_for("the network", lambda: d.run(box, ["/bin/sh", "-c", ASK])["exit_code"] == 0)
            assert world.seen() == f"Bearer {VALUE}", world.seen()
        d.must(200, "POST", f"/api/sandboxes/{box}/stop")
        d.start_again(box)
        ask(d, box)
        assert world.seen() == f"Bearer {VALUE}"
        # A new value counts at once, and a removed one is gone at once.
        set_secret(d, SECOND)
        ask(d, box)
        assert world.seen() == f"Bearer {SECOND}"
        d.must(200, "DELETE", "/api/secrets/API_KEY", token=admin(d))
        ask(d, box)
        assert world.seen().startswith("Bearer cay-secret-"), world.seen()
        assert d.must(200, "GET", "/api/secrets", token=admin(d))["secrets"] == []


def forks_name_their_own(world):
    """A fork has the rules and secrets that its request names, and none of the sandbox's."""
    with Daemon() as d:
        set_secret(d)
        box = make(d)
        d.run(box, "echo kept > /workspace/f")
        got = d.must(201, "POST", f"/api/sandboxes/{box}/fork",
                     {"count": 2, "allow": ["api.example"], "secrets": ["API_KEY"], "env": {"WAY": "b"}}, token=admin(d))
        for one in got["sandboxes"]:
            assert one["network"] == "list", one
            ask(d, one["sandbox_id"])
            assert world.seen() == f"Bearer {VALUE}", world.seen()
            assert d.run(one["sandbox_id"], "cat /workspace/f; echo $WAY")["stdout"] == "kept\nb\n"
        plain = d.must(201, "POST", f"/api/sandboxes/{box}/fork", {}, token=admin(d))["sandboxes"][0]
        assert plain["network"] == "none", plain
        assert "cay-secret-" not in d.run(plain["sandbox_id"], "env")["stdout"]
        refused = d.ask("POST", f"/api/sandboxes/{box}/fork", {"allow": ["api.example"], "secrets": ["NONE"]}, token=admin(d))
        assert refused.status == 400 and "you have no secret 'NONE'" in refused.json["error"]["message"], refused


def mistakes_are_told(world):
    with Daemon() as d:
        for fields, text in (({"name": "lower"}, "name: "), ({"name": "1A"}, "name: "), ({"host": "10.0.0.1"}, "host: "), ({"host": "a.example:443"}, "host: "),
                             ({"host": "*.example"}, "host: "), ({"header": "Host"}, "header: "), ({"header": "a b"}, "header: "),
                             ({"value": "a\nb"}, "value: "), ({"value": " a"}, "value: ")):
            got = d.must(400, "POST", "/api/secrets", {"name": "A", "host": "a.example", "value": VALUE, **fields}, token=admin(d))
            assert got["error"]["message"].startswith(text) and VALUE not in str(got), (fields, got)
        set_secret(d)
        assert make(d, status=400, secrets=["NONE"])["error"]["message"].startswith("secrets: you have no secret 'NONE'")
        got = make(d, status=400, allow=["other.example"])
        assert "is for api.example, which this sandbox may not reach" in got["error"]["message"], got
        got = make(d, status=400, allow=[])
        assert "may not reach" in got["error"]["message"], got
        got = make(d, status=400, env={"API_KEY": "x"})
        assert got["error"]["message"].startswith("secrets: 'API_KEY'"), got


def the_command_line_has_it(world):
    with Daemon() as d:
        cay(d, "secret set", "API_KEY", "--host", "api.example", "--header", "Authorization", given=VALUE + "\n")
        told = cay(d, "secret list")
        assert "API_KEY" in told and "api.example" in told and VALUE not in told, told
        box = cay(d, "create", "--allow", "api.example", "--secret", "API_KEY", "--memory", "256m").strip()
        cay(d, "exec", box, "/bin/sh", "-c", ASK)
        assert world.seen() == f"Bearer {VALUE}"
        cay(d, "secret set", "API_KEY", "--host", "api.example", given="", status=2)
        cay(d, "secret rm", "API_KEY")
        assert "API_KEY" not in cay(d, "secret list")


TESTS = [nobody_sees_the_value, owners_have_their_own, it_outlives_what_dies, forks_name_their_own, mistakes_are_told, the_command_line_has_it]

if __name__ == "__main__":
    missing = [p for p in ("/usr/bin/curl", "/usr/sbin/dnsmasq", CERTIFICATES) if not os.path.exists(p)]
    if missing or os.geteuid() != 0:
        print("needs root and", *missing)
        sys.exit(77)
    WORLD = World()
    try:
        for test in TESTS:
            if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
                continue
            print(test.__name__, flush=True)
            test(WORLD)
    finally:
        WORLD.close()
