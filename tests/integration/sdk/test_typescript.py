#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TypeScript SDK, built from this tree, against real daemons. test_typescript.py [NAME…] runs some. Without npm: 77, skipped."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from world import SOURCE, run_suite, suite_world  # noqa: E402
from daemon import BUILD, CAY, PATIENCE_S, Daemon  # noqa: E402

PACKAGE = os.path.join(SOURCE, "sdk", "typescript")
OUT = os.path.join(BUILD, "sdk")
NODE_S = 900


def build():
    if not is_fetched(PACKAGE, os.path.join(SOURCE, "build/npm/typescript")):
        print("skipped: 'scripts/bootstrap check' fetches the compiler")
        sys.exit(77)
    done = subprocess.run([os.path.join(PACKAGE, "tools", "build"), OUT], timeout=NODE_S, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def node(script, *args, form="esm", env=None):
    """A script of typescript/, with the package in the form that was asked for."""
    return subprocess.run(["node", os.path.join(HERE, "typescript", script), *args], check=True, timeout=NODE_S,
                          env={**os.environ, "CAY_SDK_DIR": os.path.join(OUT, "typescript"), "CAY_SDK_FORM": form, **(env or {})})


def test_suite():
    """The suite that all SDKs have in common, as ES modules and as CommonJS."""
    script = os.path.join(HERE, "typescript", "suite.mjs")
    for form in ("esm", "cjs"):
        os.environ.update(CAY_SDK_DIR=os.path.join(OUT, "typescript"), CAY_SDK_FORM=form)
        run_suite(["node", script])


def test_current():
    """What is generated is what sdk/openapi.json makes, and the version is the daemon's."""
    subprocess.run(["node", os.path.join(PACKAGE, "tools", "generate.mjs"), "--check"], check=True, timeout=NODE_S)
    with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as f:
        package = json.load(f)
    with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"version: '([^']+)'", f.read())[1]
    assert package["version"] == version, (package["version"], version)
    assert "dependencies" not in package, "the SDK has no dependencies"


def test_own():
    """What only this SDK has."""
    node("cut_event.mjs")
    with suite_world(is_bad_used=False) as (d, path):
        node("own.mjs", path)
        assert d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"] == []


def test_types():
    """A file that must compile, and one of which each marked line must not, against the packed package."""
    with tempfile.TemporaryDirectory(prefix="cay-sdk-types-") as folder:
        shutil.copytree(os.path.join(HERE, "typescript", "types"), folder, dirs_exist_ok=True)
        os.makedirs(os.path.join(folder, "node_modules", "@cay"))
        with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as f:
            f.write('{"type": "module"}')
        with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as f:
            tarball = os.path.join(OUT, f"cay-sdk-{json.load(f)['version']}.tgz")
        subprocess.run(["tar", "xzf", tarball, "-C", os.path.join(folder, "node_modules", "@cay")], check=True, timeout=PATIENCE_S)
        os.rename(os.path.join(folder, "node_modules/@cay/package"), os.path.join(folder, "node_modules/@cay/sdk"))

        def compile_one(name, *more):
            return subprocess.run([os.path.join(SOURCE, "build/npm/typescript/node_modules/.bin/tsc"), "--noEmit", "--strict", "--target", "es2022",
                                   "--lib", "es2022,dom,esnext.disposable", *more, name], cwd=folder, capture_output=True, text=True, timeout=NODE_S)

        for kind in ("nodenext", "bundler"):
            good = compile_one("good.ts", "--module", "nodenext" if kind == "nodenext" else "esnext", "--moduleResolution", kind)
            assert good.returncode == 0, (kind, good.stdout)
        bad = compile_one("bad.ts", "--module", "nodenext", "--moduleResolution", "nodenext")
        with open(os.path.join(folder, "bad.ts"), encoding="utf-8") as f:
            marked = {n for n, line in enumerate(f, 1) if line.rstrip().endswith("// error")}
        found = {int(n) for n in re.findall(r"^bad\.ts\((\d+),", bad.stdout, re.M)}
        assert found == marked, (found ^ marked, bad.stdout)


def is_fetched(folder, npm):
    """This test has no network: what a lock file pins is there already, or not."""
    try:
        with open(os.path.join(folder, "package-lock.json"), "rb") as wanted, open(os.path.join(npm, "fetched"), "rb") as found:
            return wanted.read() == found.read()
    except FileNotFoundError:
        return False


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def test_browser():
    """In a real browser, from a page of an origin that the daemon allows."""
    if not os.path.exists(os.environ.get("CAY_PAGE_BROWSER") or "/usr/bin/chromium"):
        print("skipped test_browser: no chromium")
        return
    npm = os.environ.get("CAY_PAGE_NPM") or os.path.join(SOURCE, "build/npm/page")
    if not is_fetched(os.path.join(SOURCE, "tests/integration/page"), npm):
        print("skipped test_browser: 'scripts/bootstrap check' fetches its packages", flush=True)
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="cay-sdk-home-") as home, Daemon("--allow-origins", f"http://127.0.0.1:{port}") as d:
        node("browser.mjs", env={"CAY_PAGE_NPM": npm, "CAY_PAGE_PORT": str(port), "CAY_URL": f"http://127.0.0.1:{d.port}", "CAY_TOKEN": d.token,
                                 "HOME": home, "TMPDIR": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home})


def test_adapters():
    """Each with the package that it is for, in that package's own loop."""
    npm = os.path.join(SOURCE, "build/npm/adapters")
    if not is_fetched(os.path.join(HERE, "adapters"), npm):
        print("skipped test_adapters: 'scripts/bootstrap check' fetches its packages", flush=True)
        return
    with Daemon() as d:
        node("adapters.mjs", env={"CAY_SDK_NPM": npm, "CAY_SOCKET": d.socket})


def cay_run(*words, cwd=None, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CAY_")}
    return subprocess.run(["node", os.path.join(OUT, "typescript/bin/cay-run.js"), *words], capture_output=True, text=True, timeout=NODE_S,
                          cwd=cwd, env={**clean, **env})


def test_cay_run():
    """The wrapper: by a daemon's address, by its socket, and by the program alone."""
    with Daemon() as d, tempfile.TemporaryDirectory(prefix="cay-sdk-run-") as folder:
        url = f"http://127.0.0.1:{d.port}"
        done = cay_run("--url", url, "--", "sh", "-c", "echo out; echo err >&2; exit 3", CAY_TOKEN=d.token)
        assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n"), done
        done = cay_run("--timeout", "1", "sleep 60", CAY_SOCKET=d.socket)
        assert done.returncode in (124, 137) and "cay: wall_time:" in done.stderr, done
        with open(os.path.join(folder, "in"), "w", encoding="utf-8") as f:
            f.write("given\n")
        done = cay_run("--workspace", f"{folder}:rw", "--env", "X=y", "cat in; echo $X >out", CAY_SOCKET=d.socket)
        assert (done.returncode, done.stdout) == (0, "given\n"), done
        with open(os.path.join(folder, "out"), encoding="utf-8") as f:
            assert f.read() == "y\n"
        done = cay_run("--url", url, "true", CAY_TOKEN="cay1.e30.AAAA")
        assert done.returncode == 125 and "cay token" in done.stderr, done
        assert d.must(200, "GET", "/api/sandboxes", token=False, unix=True)["sandboxes"] == []
        done = cay_run("--local", "--memory", "64m", "echo alone; exit 4", PATH=f"{os.path.dirname(CAY)}:{os.environ['PATH']}")
        assert (done.returncode, done.stdout) == (4, "alone\n"), done
        for words in ([], ["--no-such"], ["--env", "x", "true"]):
            assert cay_run(*words).returncode == 2, words


def test_action():
    """The script of packaging/action, with the variables that a runner sets."""
    with Daemon() as d, tempfile.TemporaryDirectory(prefix="cay-sdk-action-") as folder:
        out = os.path.join(folder, "output")
        work = os.path.join(folder, "work")
        os.mkdir(work)
        with open(os.path.join(work, "in"), "w", encoding="utf-8") as f:
            f.write("given\n")
        key = d.must(201, "POST", "/api/keys", {"owner": "action", "label": "x"}, token=False, unix=True)["key"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("CAY_")}

        def act(**inputs):
            return subprocess.run([os.path.join(SOURCE, "packaging/action/run")], capture_output=True, text=True, timeout=NODE_S, cwd=work,
                                  env={**clean, "CAY_SDK_OUT": OUT, "GITHUB_OUTPUT": out, "INPUT_URL": f"http://127.0.0.1:{d.port}", "CAY_API_KEY": key, **inputs})

        done = act(INPUT_RUN="cat in; echo made >made; exit 3", INPUT_WRITE_BACK="true", INPUT_MEMORY="128m", INPUT_TIMEOUT="1m")
        assert (done.returncode, done.stdout) == (3, "given\n"), done
        assert os.path.exists(os.path.join(work, "made"))
        assert act(INPUT_RUN="echo no >other", INPUT_WORKSPACE=".").returncode == 0 and not os.path.exists(os.path.join(work, "other"))
        with open(out, encoding="utf-8") as f:
            assert f.read() == "exit-code=3\nexit-code=0\n"
        assert act(INPUT_RUN="").returncode == 2
        # Every input of action.yml reaches the script.
        with open(os.path.join(SOURCE, "packaging/action/action.yml"), encoding="utf-8") as f:
            action = f.read()
        with open(os.path.join(SOURCE, "packaging/action/run"), encoding="utf-8") as f:
            script = f.read()
        inputs = re.findall(r"^  ([a-z-]+):$", action.split("outputs:")[0], re.M)
        assert len(inputs) >= 8
        for name in inputs:
            variable = re.search(rf"(\w+): \$\{{\{{ inputs\.{name} \}}\}}", action)[1]
            assert f"${{{variable}:-" in script or variable == "CAY_API_KEY", variable


TESTS = [test_current, test_types, test_suite, test_own, test_browser, test_adapters, test_cay_run, test_action]


def main():
    build()
    for t in TESTS:
        if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]:
            t()
            print(f"ok {t.__name__}", flush=True)


main()
