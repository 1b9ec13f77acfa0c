# SPDX-License-Identifier: Apache-2.0
"""What a runner of sdk/suite is started with: daemons, relays, tokens and keys, in one file (sdk/suite/README.md, "Clients")."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from daemon import Daemon, PATIENCE_S  # noqa: E402,F401
from relay import Relay  # noqa: E402

SOURCE = os.environ["CAY_SOURCE_DIR"]
CUT_AFTER = 100_000


def make_certificate(folder):
    """An authority of our own, and what it signs for localhost."""
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    run = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True, timeout=PATIENCE_S)  # noqa: E731
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at("ca.key"), "-out", at("ca.pem"),
        "-days", "2", "-subj", "/CN=authority of a test", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", at("key.pem"), "-out", at("csr.pem"),
        "-subj", "/CN=localhost")
    with open(at("ext"), "w", encoding="utf-8") as f:
        f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
    run("x509", "-req", "-in", at("csr.pem"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-out", at("cert.pem"),
        "-days", "2", "-extfile", at("ext"))
    return at("ca.pem"), at("cert.pem"), at("key.pem")


def make_key(d, **fields):
    return d.must(201, "POST", "/api/keys", fields, token=False, unix=True)["key"]


@contextlib.contextmanager
def suite_world(is_bad_used=True):
    """The daemon, and the name of the file that a runner is started with."""
    with tempfile.TemporaryDirectory(prefix="cay-sdk-") as folder, contextlib.ExitStack() as stack:
        ca, cert, key = make_certificate(folder)
        d = stack.enter_context(Daemon("--max-sandboxes", "20"))
        secure = stack.enter_context(Daemon("--tls-cert", cert, "--tls-key", key, scheme="https"))
        cut = stack.enter_context(Relay(d.port, cut_after=CUT_AFTER))
        lost = stack.enter_context(Relay(d.port, lose_posts=True))
        url = f"http://127.0.0.1:{d.port}"
        local = os.path.join(folder, "local")
        os.mkdir(local)
        clients = {
            "unix": {"socket": d.socket},
            "tcp": {"url": url, "token": d.token},
            "key": {"url": url, "api_key": make_key(d, owner="keyed", label="suite")},
            "owner": {"url": url, "api_key": make_key(d, owner="boss", scope="admin", label="suite"), "owner": "alice", "token_lifetime": 2},
            "tls": {"url": f"https://127.0.0.1:{secure.port}", "token": secure.token, "ca": ca},
            "cut": {"url": f"http://127.0.0.1:{cut.port}", "token": d.token},
            "lost": {"url": f"http://127.0.0.1:{lost.port}", "token": d.token},
            "read": {"url": url, "token": d.make_token("--scope", "read")},
            "unknown": {"url": url, "token": "cay1.e30.AAAA"},
        }
        path = os.path.join(folder, "suite.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"clients": clients, "folder": local}, f)
        yield d, path
        assert not is_bad_used or (cut.cuts > 2 and lost.cuts > 2), f"the bad networks were not used: {cut.cuts}, {lost.cuts}"


def run_suite(command):
    """Carries out the whole suite with a runner, and checks that it left no sandbox behind."""
    with suite_world() as (d, path):
        subprocess.run([*command, path], check=True, timeout=1200)
        left = d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"]
        assert left == [], left
