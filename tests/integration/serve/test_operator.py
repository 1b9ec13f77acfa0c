#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator meets first: tokens of a secret that the daemon was given, .env, places of daemons, the longest time. test_operator.py [NAME…]."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, run_tests  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SECRET = "a secret that the operator chose"


def clean(**more):
    """An environment without settings."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CAY_", "SANDBOX_", "DOCKER_")) or k.startswith("CAY_TEST_")}
    for name in ("HOST", "PORT"):
        env.pop(name, None)
    return {**env, **more}


def cay(*words, status=0, cwd=None, **env):
    done = subprocess.run([CAY, *words], capture_output=True, text=True, timeout=PATIENCE_S, cwd=cwd, env=clean(**env))
    assert done.returncode == status, (words, done)
    return done


def data(d):
    return os.path.join(d.folder, "data")


def test_token_of_a_given_secret():
    """The caller does not know the secret; another one is left in the data folder."""
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(folder=folder):
            pass
        assert os.path.exists(os.path.join(folder, "data", "token.secret"))
        with Daemon(folder=folder, env={"SANDBOX_TOKEN_SECRET": SECRET}) as d:
            token = cay("token", "--data", data(d)).stdout.strip()
            assert d.must(200, "GET", "/api/whoami", token=token)["owner"] == "default"
            token = cay("token", "--data", data(d), "--owner", "uid:77", "--scope", "read", "--lifetime", "90s").stdout.strip()
            got = d.must(200, "GET", "/api/whoami", token=token)
            assert (got["owner"], got["scope"]) == ("uid:77", "read"), got
            d.must(400, "POST", "/api/tokens", {"owner": "uid:77"}, token=d.make_token("--scope", "admin"))  # over TCP it is nobody's to give
            here = cay("token", "--from-env", SANDBOX_TOKEN_SECRET=SECRET).stdout.strip()
            d.must(200, "GET", "/api/whoami", token=here)
            assert "SANDBOX_TOKEN_SECRET is not set" in cay("token", "--from-env", status=2).stderr
            said = cay("token", "--data", data(d), "--lifetime", "2d", status=2).stderr
            assert "--lifetime" in said, said


def test_service_url():
    """As a backend has them: the address and the secret, and nothing else."""
    with Daemon(env={"SANDBOX_TOKEN_SECRET": SECRET}) as d:
        url = f"http://127.0.0.1:{d.port}"
        got = cay("api", "whoami", SANDBOX_SERVICE_URL=url, SANDBOX_TOKEN_SECRET=SECRET).stdout
        assert json.loads(got)["credential"] == "token", got
        cay("api", "whoami", status=125, SANDBOX_SERVICE_URL=url)
        said = cay("api", "whoami", status=2, SANDBOX_SERVICE_URL=url, SANDBOX_TOKEN_SECRET="short").stderr
        assert "SANDBOX_TOKEN_SECRET" in said, said
        # An address that was given in another way is not shown a token of it.
        said = cay("api", "whoami", "--url", url, status=125, SANDBOX_TOKEN_SECRET=SECRET).stderr
        assert "token" in said, said


def test_places():
    with Daemon() as d:
        for words in (("--data", data(d), "whoami"), ("whoami", "--data", data(d)), ("--url", "unix:" + d.socket, "whoami")):
            assert json.loads(cay("api", *words).stdout)["credential"] == "peer", words
        assert cay("api", "--data", data(d), status=2).stderr.startswith("usage: cay api")
        got = json.loads(cay("doctor", "--json", "--data", data(d)).stdout)
        assert got["daemon"] == {"ready": True, "error": None} and got["works"] is True, got
        assert f"daemon of {data(d)}: ready" in cay("doctor", "--data", data(d)).stdout
        place = os.path.join(d.folder, "none")
        got = json.loads(cay("doctor", "--json", "--data", place, status=1).stdout)
        assert got["daemon"]["ready"] is False and got["daemon"]["error"], got


def test_kept_runs_have_a_place():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "project"))
        for words in (("run", "--data", "d", "--workspace", "project:cow", "echo new > file"), ("diff", "--data", "d", "last"),
                      ("runs", "--data", os.path.join(folder, "d")), ("apply", "--data", "d", "--keep", "last"), ("discard", "--data", "d", "last")):
            done = cay(*words, cwd=folder, HOME=folder)
            assert words[0] != "diff" or "+new" in done.stdout, done
        assert os.path.exists(os.path.join(folder, "d", "runs"))
        with open(os.path.join(folder, "project", "file"), encoding="utf-8") as f:
            assert f.read() == "new\n"


def serve_in(folder, **env):
    """One that is started in this folder, and its settings."""
    out = open(os.path.join(folder, "out"), "wb")
    err = open(os.path.join(folder, "err"), "ab")
    with out, err:
        process = subprocess.Popen([CAY, "serve", "--data", os.path.join(folder, "data"), "--listen", "127.0.0.1:0"], stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL, cwd=folder, env=clean(**env))
    return Daemon(folder=folder).adopt(process)


def write_env(folder, text, mode=0o600):
    path = os.path.join(folder, ".env")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def test_env_file():
    """Document 003's file, byte for byte but for the secret."""
    folder = tempfile.mkdtemp()
    write_env(folder, f"""# Security
SANDBOX_TOKEN_SECRET={SECRET}

# CORS
SANDBOX_ALLOW_ORIGINS=http://localhost:3000
SANDBOX_ALLOW_ORIGIN_REGEX=^https?://([a-z0-9-]+\\.)*railway\\.app$

# Optional: E2B integration
E2B_API_KEY=your-e2b-api-key

# Resource limits
SANDBOX_MAX_MEMORY_MB=64
SANDBOX_MAX_CPU_PERCENT=50.0
SANDBOX_MODE=1
PORT=1
HOST=0.0.0.0
UNRELATED=x
export CAY_MAX_SANDBOXES="7" # a comment
""")
    d = serve_in(folder, CAY_MAX_PIDS="33", SANDBOX_MAX_CPU_PERCENT="25")
    try:
        config = d.must(200, "GET", "/api/config", token=d.make_token("--scope", "admin"))
        values = {key: config[key]["value"] for key in ("max_memory", "max_cpu", "max_pids", "max_sandboxes", "host", "allow_origin_regex")}
        assert values == {"max_memory": "64m", "max_cpu": "25", "max_pids": "33", "max_sandboxes": "7", "host": "127.0.0.1",
                          "allow_origin_regex": "^https?://([a-z0-9-]+\\.)*railway\\.app$"}, values
        token = cay("token", "--from-env", SANDBOX_TOKEN_SECRET=SECRET).stdout.strip()
        d.must(200, "GET", "/api/sandboxes", token=token)
        shown = json.loads(cay("config", "--json", cwd=folder).stdout)
        assert shown["max_memory"] == {"value": "64m", "from": ".env:12"}, shown["max_memory"]
        assert json.loads(cay("config", "--json", cwd="/").stdout)["max_memory"]["from"] == "default"
    finally:
        d.stop()
        shutil.rmtree(folder)


def test_env_file_of_others():
    with tempfile.TemporaryDirectory() as folder:
        def refused(text, mode=0o600, uid=None):
            path = write_env(folder, text, mode)
            if uid is not None:
                os.chown(path, uid, uid)
            return cay("config", cwd=folder, status=2 if "quotation" in text or "short" in text else 125).stderr

        assert "can be written to by others (mode 0666)" in refused("CAY_MAX_PIDS=9\n", 0o666)
        assert "has a secret in it but can be read by others" in refused(f"SANDBOX_TOKEN_SECRET={SECRET}\n", 0o644)
        assert "is uid 77's" in refused("CAY_MAX_PIDS=9\n", uid=77)
        os.unlink(os.path.join(folder, ".env"))
        assert ".env:2: a quotation mark is not closed" in refused("# quotation\nCAY_DATA='/x\n")
        assert ".env:1:" in refused("SANDBOX_TOKEN_SECRET=short\n")
        os.unlink(os.path.join(folder, ".env"))
        os.symlink("/etc/passwd", os.path.join(folder, ".env"))
        assert "is a link" in cay("config", cwd=folder, status=2).stderr


def test_longest_time():
    with Daemon(env={"SANDBOX_MAX_TIMEOUT": "30"}) as d:
        for path, body in (("/sandbox/execute", {"sandbox_type": "code", "action": "execute", "code": "1", "timeout": 100000}),
                           ("/api/run", {"code": "1", "timeout": 100000}), ("/containers/start", {"code": "1", "timeout": 100000})):
            error = d.must(400, "POST", path, body)["error"]
            assert "longer than a command may take here (30 s)" in error["message"] and error["field"] == "timeout", (path, error)
        error = d.must(400, "POST", "/api/sandboxes", {"limits": {"wall_time": 31}})["error"]
        assert error["field"] == "limits.wall_time", error
        box = d.make()
        error = d.must(400, "POST", f"/api/sandboxes/{box}/execute", {"command": "true", "timeout": 31})["error"]
        assert error["field"] == "timeout", error
        run = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sleep 1000", "background": True})["exec_id"]
        shell = d.must(202, "POST", f"/api/sandboxes/{box}/execute", {"command": "sh", "background": True, "tty": True})["exec_id"]
        for one in (run, shell):  # a terminal is no way around it
            left = d.must(200, "GET", f"/api/sandboxes/{box}/execs/{one}")["deadline_in_ms"]
            assert 0 < left <= 30000, left
        admin = d.make_token("--scope", "admin")
        assert d.must(200, "POST", "/api/run", {"code": "print(1)", "timeout": 100}, token=admin)["stdout"] == "1\n"
        assert d.must(200, "POST", "/api/run", {"code": "print(1)"})["stdout"] == "1\n"
        d.must(200, "DELETE", f"/api/sandboxes/{box}")


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return f.read()


def test_image():
    """What the image starts, with its variables, here: it listens where PORT says. Both recipes end alike."""
    stages = [read(name).rpartition("RUN apt-get update \\")[2] for name in ("Dockerfile", "packaging/Containerfile")]
    assert stages[0] == stages[1]
    env = dict(word.split("=") for word in re.search(r"^ENV (.*)$", stages[0], re.M).group(1).split())
    words = json.loads(re.search(r"^ENTRYPOINT (.*)$", stages[0], re.M).group(1))
    assert words == ["/usr/bin/cay", "serve"] and env["HOST"] == "0.0.0.0" and env["PORT"] == "8888", (words, env)
    folder = tempfile.mkdtemp()
    env["CAY_DATA"] = os.path.join(folder, "data")
    with open(os.path.join(folder, "out"), "wb") as out, open(os.path.join(folder, "err"), "ab") as err:
        process = subprocess.Popen([CAY, *words[1:]], stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder, env=clean(**{**env, "PORT": "8001"}))
    d = Daemon(folder=folder, host="localhost").adopt(process)
    try:
        assert d.port == 8001, d.told
        d.host = "127.0.0.1"
        d.must(200, "GET", "/health", token=False, headers={"Host": "sandbox.railway.internal"})
        d.must(200, "GET", "/api/sandboxes", headers={"Host": "localhost:8001"})
        assert d.ask("GET", "/api/sandboxes", headers={"Host": "elsewhere"}).status == 421
        check = json.loads(re.search(r"^HEALTHCHECK .*CMD (.*)$", stages[0], re.M).group(1))
        cay(*check[1:], CAY_DATA=env["CAY_DATA"])
    finally:
        d.stop()
        shutil.rmtree(folder)


def packages_of(program):
    """Debian packages of the libraries that a program is linked with."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60, check=False).stdout
    names = re.findall(r"^\s+(\S+) => /", out, re.M)
    # by name: the loader may find them below another path than the package has (merged /usr)
    found = [subprocess.run(["dpkg", "-S", f"*/{n}"], capture_output=True, text=True, timeout=60, check=False).stdout for n in names]
    return {f.split(":")[0] for f in found if f}


def test_deployment_files():
    plan = json.loads(read("railpack.json"))
    assert plan["steps"]["build"]["commands"][0] == "scripts/bootstrap build", plan  # the builder has no meson
    build = os.environ["CAY_BUILD_DIR"]
    needed = set().union(*(packages_of(os.path.join(build, n)) for n in os.listdir(build) if re.fullmatch(r"cay(-[a-z]+)?", n)))
    ours = {p for p in needed if not p.startswith(("libc6", "libgcc", "libasan", "libubsan", "libclang", "libstdc"))}
    assert ours and ours <= set(plan["deploy"]["aptPackages"]), (ours, plan)
    assert plan["deploy"]["startCommand"].endswith("/bin/cay serve") and plan["deploy"]["variables"]["HOST"] == "0.0.0.0"
    if shutil.which("docker-compose"):  # Debian's; it reads the file, and starts nothing
        place = os.path.join(os.environ["CAY_SOURCE_DIR"], "packaging", "compose.yaml")
        subprocess.run(["docker-compose", "-f", place, "config", "--quiet"], check=True, timeout=60)
    compose = read("packaging/compose.yaml")
    for line in ("DOCKER_TLS_CERTDIR: /certs", "DOCKER_HOST: tcp://docker-dind:2376", "DOCKER_TLS_VERIFY: 1", "DOCKER_CERT_PATH: /certs/client",
                 "- docker-certs-client:/certs/client:ro", "privileged: true"):
        assert re.search(r"^ +" + re.escape(line), compose, re.M), line
    settings = json.loads(cay("config", "--json", CAY_ENGINE="docker", CAY_DOCKER_IMAGE="python:3.11-slim", DOCKER_HOST="tcp://docker-dind:2376").stdout)
    assert settings["engine"]["from"] == "CAY_ENGINE" and settings["docker_images"]["value"] == "python:3.11-slim", settings


def main():
    os.umask(0o022)
    run_tests(globals())


if __name__ == "__main__":
    main()
