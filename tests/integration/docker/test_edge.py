# SPDX-License-Identifier: Apache-2.0
"""Secrets of sandboxes on the docker engine: the placeholder leaves the container by the proxy, the value leaves this machine towards its host
alone. A real curl in the container, a real Docker of its own (docker/run), and a server in a namespace of the test; nothing leaves it."""
import io
import os
import re
import subprocess
import sys
import tarfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "serve"), os.path.join(here, "..", "net")]
from daemon import Daemon, skip_without, wait_for  # noqa: E402
from real_docker import containers, docker, with_docker  # noqa: E402
from test_secrets import CERTIFICATES, SECOND, VALUE, World, admin, set_secret  # noqa: E402

IMAGE = "cay-test:latest"
CURL = "/workspace/curl/run -sS"
ASK = CURL + ' -H "Authorization: Bearer $API_KEY" https://%s/ >/dev/null'


def packed_curl():
    """curl with its libraries, and a script that runs it: the image has busybox alone."""
    out = io.BytesIO()
    program = subprocess.run(["which", "curl"], check=True, capture_output=True, text=True).stdout.strip()
    libraries = re.findall(r"(/\S+)", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)
    loader = os.path.basename([path for path in libraries if "/ld-" in path][0])
    script = f"#!/bin/sh\nexec /workspace/curl/{loader} --library-path /workspace/curl /workspace/curl/curl \"$@\"\n".encode()
    with tarfile.open(fileobj=out, mode="w") as t:
        for path in [program, *libraries]:
            t.add(os.path.realpath(path), os.path.basename(path))
        run = tarfile.TarInfo("run")
        run.size, run.mode = len(script), 0o755
        t.addfile(run, io.BytesIO(script))
    return out.getvalue()


def make(d, status=201, **fields):
    more = {"limits": {"memory": "128m"}, "allow": ["api.example", "other.example"], "secrets": ["API_KEY"], **fields}
    got = d.must(status, "POST", "/api/sandboxes", more, token=admin(d))
    return got["sandbox_id"] if status == 201 else got["error"]["message"]


def give_curl(d, box):
    d.run(box, "mkdir /workspace/curl")
    d.must(200, "PUT", f"/api/sandboxes/{box}/archive?path=/workspace/curl", packed_curl())


def ask(d, box, host="api.example"):
    got = d.run(box, ASK % host)
    assert got["exit_code"] == 0, got


def test_it_is_replaced_on_its_way_out(world, d):
    set_secret(d)
    box = make(d)
    give_curl(d, box)
    ask(d, box)
    assert world.seen() == f"Bearer {VALUE}", world.seen()
    ask(d, box, "other.example")  # at another host it is worth nothing
    assert world.seen().startswith("Bearer cay-secret-"), world.seen()
    inside = d.run(box, "env; cat /etc/cay-ca.pem; ls -l /etc/cay-ca.pem")["stdout"]
    with open(CERTIFICATES, encoding="utf-8") as f:
        assert f.read().strip() in inside  # the host's, and then one more
    assert inside.count("BEGIN CERTIFICATE") == 2 and "-rw-r--r--" in inside and VALUE not in inside, inside
    container = docker("ps", "-q", "--filter", f"label=cay.id={box}").strip()
    assert VALUE not in docker("inspect", container)
    # It goes on after a change of the secret, and in the same container after a stop.
    set_secret(d, SECOND)
    ask(d, box)
    assert world.seen() == f"Bearer {SECOND}", world.seen()
    d.must(200, "POST", f"/api/sandboxes/{box}/stop")
    d.must(200, "POST", f"/api/sandboxes/{box}/start")
    ask(d, box)
    assert world.seen() == f"Bearer {SECOND}", world.seen()


def test_another_sandbox_has_no_use_for_it(world, d):
    set_secret(d)
    one, other = make(d), make(d, secrets=[])
    stolen = d.run(one, "echo $API_KEY")["stdout"].strip()
    assert stolen.startswith("cay-secret-"), stolen
    give_curl(d, other)
    got = d.run(other, f'{CURL} -k -H "Authorization: Bearer {stolen}" https://api.example/ >/dev/null')
    assert got["exit_code"] == 0, got
    assert world.seen() == f"Bearer {stolen}", world.seen()


def test_where_no_file_can_go(_, d):
    set_secret(d)
    for fields in ({"read_only": True}, {"init": "none"}):
        said = make(d, 422, **fields)
        assert "init" in said or "read_only" in said, said
    assert "set it first" in make(d, 400, secrets=["NOBODY"])


def main():
    skip_without("curl", "openssl", "dnsmasq")
    world = World()
    d = with_docker(Daemon("--engine", "docker", "--docker-host", os.environ["DOCKER_HOST"], "--docker-images", IMAGE).start())
    try:
        for name, fn in list(globals().items()):
            if name.startswith("test_") and (len(sys.argv) < 2 or name[5:] in sys.argv[1:]):
                fn(world, d)
                for box in d.must(200, "GET", "/api/sandboxes")["sandboxes"]:
                    d.ask("DELETE", f"/api/sandboxes/{box['sandbox_id']}")
                wait_for("no container", lambda: not containers())
                print("ok", name, flush=True)
    finally:
        d.__exit__(*sys.exc_info())
        world.close()


main()
