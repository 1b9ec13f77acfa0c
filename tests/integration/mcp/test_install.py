#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cay mcp install`: configuration files of agents are changed where they are understood, and stay as they are where not."""
import json
import os
import pty
import stat
import subprocess
import sys
import tempfile

CAY = os.path.join(os.environ["CAY_BUILD_DIR"], "cay")
PATIENCE_S = 60
ENTRY = {"command": CAY, "args": ["mcp"]}


def install(home, *words, **more):
    env = {"HOME": home, "PATH": "/usr/bin:/bin"}
    return subprocess.run([CAY, "mcp", "install", *words], env=env, cwd=home, capture_output=True, text=True, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, **more)


def write(home, name, data):
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read()


def test_new_files(home):
    """A client without a file gets one that is ours alone; a second time nothing changes."""
    places = {"claude-code": (".claude.json", "mcpServers"), "cursor": (".cursor/mcp.json", "mcpServers"), "vscode": (".config/Code/User/mcp.json", "servers"),
              "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"), "gemini": (".gemini/settings.json", "mcpServers"),
              "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"), "zed": (".config/zed/settings.json", "context_servers")}
    for client, (name, group) in places.items():
        done = install(home, "--yes", client)
        assert done.returncode == 0 and f"+  \"{group}\"" in done.stdout, done
        path = os.path.join(home, name)
        entry = json.loads(read(path))[group]["cay"]
        assert {**entry, **ENTRY} == entry, entry
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        before = read(path)
        done = install(home, client)
        assert done.returncode == 0 and "has it already" in done.stdout and read(path) == before, done
    assert json.loads(read(os.path.join(home, ".config/Code/User/mcp.json")))["servers"]["cay"]["type"] == "stdio"
    done = install(home, "--yes", "opencode")
    assert json.loads(read(os.path.join(home, ".config/opencode/opencode.json")))["mcp"]["cay"] == {"type": "local", "command": [CAY, "mcp"]}, done
    listed = install(home).stdout
    assert "codex" in listed and "(not there)" in listed, listed


def test_the_rest_stays(home):
    """Comments, order, line ends, a byte order mark, the mode, and a link to the file."""
    old = b"\xef\xbb\xbf{\r\n  // mine\r\n  \"theme\": \"dark\",\r\n  \"mcpServers\": {\r\n    \"other\": { \"command\": \"x\" } // keep\r\n  },\r\n}\r\n"
    real = write(home, "dotfiles/gemini.json", old)
    os.chmod(real, 0o640)
    os.makedirs(os.path.join(home, ".gemini"))
    link = os.path.join(home, ".gemini/settings.json")
    os.symlink(real, link)
    assert install(home, "--yes", "--data", "/srv/cay data", "gemini").returncode == 0
    new = read(real)
    assert os.path.islink(link) and stat.S_IMODE(os.stat(real).st_mode) == 0o640
    assert new.replace(b"\r\n", b"").count(b"\n") == 0, new
    rest = [line for line in new.split(b"\r\n") if b"\"cay\"" not in line]
    assert b"\r\n".join(rest).replace(b"\"x\" }, // keep", b"\"x\" } // keep") == old, new
    assert b"\"/srv/cay data\"" in new


def test_codex(home):
    path = write(home, ".codex/config.toml", b"model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n")
    assert install(home, "--yes", "codex").returncode == 0
    want = f"model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.cay]\ncommand = \"{CAY}\"\nargs = [\"mcp\"]\n"
    assert read(path).decode() == want, read(path)
    assert "has it already" in install(home, "codex").stdout
    path = write(home, ".codex/config.toml", b"mcp_servers = { other = { command = \"x\" } }\n")
    done = install(home, "--yes", "codex")
    assert done.returncode == 2 and "by hand" in done.stderr and read(path).startswith(b"mcp_servers = {"), done


def test_refusals(home):
    """Each leaves the file as it is, byte for byte."""
    for data in (b"{", b"[]", b"{\"mcpServers\": 5}", b"{\"a\": 1,, }", b"\xff\xfe{\x00}\x00", b"{} trailing", b"not json"):
        path = write(home, ".cursor/mcp.json", data)
        done = install(home, "--yes", "cursor")
        assert done.returncode == 2 and "stays as it is" in done.stderr and read(path) == data, (data, done)
    other = b'{"mcpServers": {"cay": {"command": "other", "env": {"A": "b"}}}}'
    path = write(home, ".cursor/mcp.json", other)
    done = install(home, "--yes", "cursor")
    assert done.returncode == 1 and "--replace" in done.stderr and read(path) == other, done
    assert install(home, "--yes", "--name", "cay2", "cursor").returncode == 0 and b'"other"' in read(path)
    assert install(home, "--yes", "--replace", "cursor").returncode == 0 and b'"other"' not in read(path)
    path = write(home, ".cursor/mcp.json", b"{}")
    os.chmod(path, 0o444)
    done = install(home, "--yes", "cursor")
    assert done.returncode == 1 and "read-only" in done.stderr and read(path) == b"{}", done
    os.chmod(path, 0o600)
    done = install(home, "cursor")
    assert done.returncode == 1 and "--yes" in done.stderr and "+" in done.stdout and read(path) == b"{}", done
    assert install(home, "no-such").returncode == 2 and install(home, "--project", "windsurf").returncode == 1
    assert sorted(os.listdir(os.path.join(home, ".cursor"))) == ["mcp.json"], "nothing is left beside it"


def test_project(home):
    assert install(home, "--yes", "--project", "cursor", "vscode", "claude-code").returncode == 0
    assert json.loads(read(os.path.join(home, ".vscode/mcp.json")))["servers"]["cay"]["args"] == ["mcp"]
    assert json.loads(read(os.path.join(home, ".mcp.json")))["mcpServers"]["cay"] == ENTRY


def test_asks(home):
    """On a terminal: no leaves it, yes writes it."""
    path = write(home, ".cursor/mcp.json", b"{}")
    for answer, count in ((b"n\n", 0), (b"\n", 0), (b"y\n", 1)):
        master, slave = pty.openpty()
        child = subprocess.Popen([CAY, "mcp", "install", "cursor"], env={"HOME": home, "PATH": "/usr/bin:/bin"}, stdin=slave, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        os.write(master, answer)
        status = child.wait(PATIENCE_S)
        os.close(master)
        os.close(slave)
        assert (status == 0) == bool(count) and read(path).count(b"cay") >= count and (count or read(path) == b"{}"), (answer, status)


for t in [test_new_files, test_the_rest_stays, test_codex, test_refusals, test_project, test_asks]:
    if not sys.argv[1:] or t.__name__[5:] in sys.argv[1:]:
        with tempfile.TemporaryDirectory(prefix="cay-install-") as folder:
            t(folder)
        print(f"ok {t.__name__}", flush=True)
