#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stock clients of E2B (npm e2b, @e2b/code-interpreter) against a daemon. test_e2b.py [SCRIPT…] runs some of the scripts
beside this file, each in its own node."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
import surface  # noqa: E402
from daemon import CAY, Daemon, is_alive, wait_for  # noqa: E402

PACKAGES = os.path.join(os.environ["CAY_SOURCE_DIR"], "build", "npm", "e2b")


def make_key(d, *flags):
    made = subprocess.run([CAY, "key", "make", "tester", "--form", "e2b", "--json", "--url", f"unix:{d.socket}", *flags],
                          check=True, env=d.environment(), capture_output=True, text=True, timeout=60)
    return json.loads(made.stdout)["key"]


CALLED = tempfile.NamedTemporaryFile("r", prefix="cay-e2b-called-", encoding="utf-8")  # check.cjs


def client_env(d, key, **more):
    # A stock client's own variables; nothing else is different.
    url = f"http://127.0.0.1:{d.port}"
    env = {"PATH": os.environ["PATH"], "HOME": d.folder, "NODE_PATH": os.path.join(PACKAGES, "node_modules"),
           "E2B_API_KEY": key, "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_VOLUME_API_URL": url, "CAY_E2B_CALLED": CALLED.name}
    env.update(more)
    return {name: value for name, value in env.items() if value is not None}


def run_script(d, name, key, **more):
    done = subprocess.run(["node", os.path.join(HERE, name)], env=client_env(d, key, **more), capture_output=True, text=True,
                          timeout=600)
    print(done.stdout, end="")
    assert done.returncode == 0, f"{name}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"


def restart_front(d, key):
    client = subprocess.Popen(["node", os.path.join(HERE, "front_restart.cjs")], env=client_env(d, key), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    said = client.stdout.readline()
    assert said == "running\n", said + client.stdout.read()
    os.kill(d.child("cay-front"), signal.SIGKILL)
    rest = client.stdout.read()
    print(rest, end="")
    assert client.wait(120) == 0, rest


DOMAIN = "sbx.test"


def make_certificate(folder):
    """As docs/e2b.md shows it."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                    "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN}", "-keyout", key, "-out", cert],
                   check=True, capture_output=True, timeout=60)
    return cert, key


def run_tls():
    """A client that knows a domain, a key and a certificate, and no address."""
    with tempfile.TemporaryDirectory(prefix="cay-e2b-tls-") as folder:
        os.chmod(folder, 0o755)
        cert, key = make_certificate(folder)
        with Daemon("--tls-cert", cert, "--tls-key", key, "--proxy-domains", DOMAIN, "--trusted-hosts", f"api.{DOMAIN}", scheme="https") as d:
            run_script(d, "tls.cjs", make_key(d), E2B_DOMAIN=f"{DOMAIN}:{d.port}", NODE_EXTRA_CA_CERTS=cert, E2B_API_URL=None,
                       E2B_SANDBOX_URL=None, E2B_VOLUME_API_URL=None)


def run_limits():
    with Daemon("--max-sandboxes", "1", "--client-memory", "16m") as d:
        run_script(d, "limits.cjs", make_key(d))


def run_busy():
    with Daemon() as d:
        key, keeper, warden = make_key(d), d.process.pid, d.child("cay-warden")
        os.kill(keeper, signal.SIGSTOP)  # it would start the next warden
        try:
            os.kill(warden, signal.SIGKILL)
            wait_for("the warden's end", lambda: not is_alive(warden))
            run_script(d, "busy.cjs", key)
        finally:
            os.kill(keeper, signal.SIGCONT)
        wait_for("the next warden", lambda: d.ask("POST", "/api/run", {"command": "true"}).status == 200)


def run_old():
    """The same with the packages' generation before."""
    with Daemon("--max-sandboxes", "120") as d:
        key = make_key(d)
        for name in sys.argv[2:] or SCRIPTS:
            run_script(d, name, key, NODE_OPTIONS=f"--require {os.path.join(HERE, 'old.cjs')}", CAY_E2B_CALLED=None)


def run_network():
    with Daemon("--e2b-network", "bridge") as d:
        run_script(d, "network.cjs", make_key(d))


def run_restart():
    with Daemon() as d:
        restart_front(d, make_key(d))


SCRIPTS = sorted(os.path.basename(p) for p in glob.glob(os.path.join(HERE, "sdk_*.cjs")))
ALONE = {"old": run_old, "front_restart.cjs": run_restart, "network.cjs": run_network, "tls.cjs": run_tls, "limits.cjs": run_limits, "busy.cjs": run_busy}


def check_surface():
    """Every method, property and error of the packages is called or met here, and told in docs/e2b.md."""
    packages = [os.path.join(PACKAGES, "node_modules", name) for name in ("e2b", "@e2b/code-interpreter", "e2b-2-45")]
    surface.check_page(packages)
    surface.check_tests(packages, CALLED.read().split())


def main():
    if not os.path.isdir(os.path.join(PACKAGES, "node_modules", "e2b")):
        print("skipped: the packages of tests/integration/e2b are not in build/npm/e2b (scripts/bootstrap check)")
        sys.exit(77)
    if sys.argv[1:] and sys.argv[1] in ALONE:
        ALONE[sys.argv[1]]()
        return
    scripts = sys.argv[1:] or SCRIPTS
    with Daemon("--max-sandboxes", "120") as d:
        key = make_key(d)
        for name in scripts:
            run_script(d, name, key)
        if not sys.argv[1:]:
            restart_front(d, key)
        left = d.must(200, "GET", "/api/sandboxes", token=d.make_token("--scope", "admin"))["sandboxes"]
        assert left == [], left
    if not sys.argv[1:]:
        with Daemon("--e2b-public-ports", "--e2b-network", "bridge", "--max-sandboxes", "60") as d:
            run_script(d, "sdk_ports.cjs", make_key(d), PORTS_ARE_PUBLIC="yes")
            run_script(d, "network.cjs", make_key(d))
        run_old()
        run_tls()
        run_limits()
        run_busy()
        check_surface()


if __name__ == "__main__":
    main()
