# SPDX-License-Identifier: Apache-2.0
"""Programs that people use, in sandboxes with exactly the rules they need: pip, git, npm, curl. And what is told when a rule is missing.
The servers are in a namespace of the test; nothing leaves it."""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from servers import SLOW_BYTES, SLOW_S, WHEEL, Servers, make_ca, make_repository  # noqa: E402
from world import BUILD, PEER  # noqa: E402

CLONE_NEWNET = 0x40000000
patience = float(os.environ.get('CAY_TEST_PATIENCE', '60'))
NEEDED = ('/usr/bin/pip3', '/usr/bin/git', '/usr/bin/npm', '/usr/bin/curl', '/usr/sbin/dnsmasq')


class Rig:
    def __init__(self):
        assert ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0
        self.folder = tempfile.mkdtemp()
        self.shared = f'{self.folder}/shared'
        os.mkdir(self.shared)
        make_ca(self.folder)
        shutil.copy(f'{self.folder}/ca.pem', self.shared)
        make_repository(self.folder)
        for path in (self.folder, self.shared):
            os.chmod(path, 0o755)
        # cay-net asks whom the host asks.
        with open(f'{self.folder}/resolv.conf', 'w', encoding='utf-8') as f:
            f.write(f'nameserver {PEER}\n')
        subprocess.run(['mount', '--bind', f'{self.folder}/resolv.conf', os.path.realpath('/etc/resolv.conf')], check=True)
        self.internet = Servers(self.folder)

    def run(self, script, *allow, flags=()):
        """Returns the result of `cay run --json`."""
        words = [*flags] + [w for rule in allow for w in ('--allow', rule)]
        done = subprocess.run([f'{BUILD}/cay', 'run', '--json', '--workspace', f'{self.shared}:ro', '--memory', '512m', '--env', 'HOME=/tmp', *words, '--',
                               'sh', '-c', 'cd /tmp; ' + script],
                              capture_output=True, text=True, timeout=10 * patience, check=False, cwd='/', env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})
        return json.loads(done.stdout)

    def close(self):
        self.internet.close()
        subprocess.run(['umount', os.path.realpath('/etc/resolv.conf')], check=True)
        shutil.rmtree(self.folder)


def blocked(result):
    return [(b['name'], b['port']) for b in result['network_blocked']]


def text(result):
    return result['stdout'] + result['stderr']


PIP = 'pip3 -q download --no-deps --no-cache-dir --disable-pip-version-check --retries 0 --cert /workspace/ca.pem ' \
      '--index-url https://index.example/simple/ -d /tmp/got small'


def test_pip(rig):
    got = rig.run(f'{PIP} && cd got && python3 -c \'import sys; sys.path.insert(0, "{WHEEL}"); import small; print(small.answer)\'',
                  'index.example', 'files.example')
    assert got['exit_code'] == 0 and got['stdout'] == '42\n', got
    assert not blocked(got), got


def test_pip_with_a_name_missing(rig):
    got = rig.run(PIP, 'index.example')  # the index is reached; the files lie elsewhere
    assert got['exit_code'] not in (0, None), got
    assert 'files.example' in text(got), got
    assert ('files.example', None) in blocked(got), got
    assert not got['lacks_network'], got
    got = rig.run(PIP)  # no network at all
    assert got['exit_code'] not in (0, None) and 'No matching distribution found for small' in text(got) and got['lacks_network'], got


def test_git(rig):
    clone = 'git -c http.sslCAInfo=/workspace/ca.pem clone -q https://git.example/project.git && cat project/README'
    got = rig.run(clone, 'git.example')
    assert got['exit_code'] == 0 and got['stdout'] == 'from the git server\n' and not blocked(got), got
    got = rig.run(clone, 'index.example')
    assert got['exit_code'] == 128 and 'Could not resolve host: git.example' in got['stderr'], got
    assert blocked(got) == [('git.example', None)], got
    # Its name without its port: judged at the connect, so it is reset.
    got = rig.run(clone, 'git.example:22')
    assert got['exit_code'] == 128 and ('git.example', 443) in blocked(got), got


LOOK_UP = """
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
        const int families[] = { AF_UNSPEC, AF_INET, AF_INET6 };

        for (int i = 0; i < 3; i++) {
                struct addrinfo hints = { .ai_family = families[i], .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all = NULL;
                int r = getaddrinfo(argv[1], "80", &hints, &all), count = 0;

                for (struct addrinfo *a = all; a; a = a->ai_next)
                        count++;
                printf("%d ", r == 0 ? count : -1);
        }
        return argc != 2;
}
"""
NODE_LOOK_UP = "const d = require('dns'); d.lookup(process.argv[1], {all: true, hints: d.ADDRCONFIG}, (e, a) => console.log(e ? e.code : a.length))"


def test_resolvers(rig):
    """Those of glibc, musl and node ask for addresses of the families that the sandbox seems to have: it has both."""
    with open(f'{rig.folder}/look_up.c', 'w', encoding='utf-8') as f:
        f.write(LOOK_UP)
    for compiler, flags in (('cc', ()), ('musl-gcc', ('-static',))):
        if not shutil.which(compiler):
            print(f'{compiler} is not installed')
            continue
        subprocess.run([compiler, *flags, '-o', f'{rig.shared}/look_up', f'{rig.folder}/look_up.c'], check=True)
        got = rig.run('/workspace/look_up git.example; /workspace/look_up evil.example', 'git.example')
        assert got['stdout'] == '2 1 1 -1 -1 -1 ', (compiler, got)
    got = rig.run(f'node -e "{NODE_LOOK_UP}" git.example; node -e "{NODE_LOOK_UP}" evil.example', 'git.example')
    assert got['stdout'] == '2\nENOTFOUND\n', got


def test_browsers_are_online(rig):
    """A browser looks for a device that is no loopback, and may load nothing without one."""
    browser = shutil.which('chromium-headless-shell', path='/usr/bin')
    if not browser:
        print('chromium-headless-shell is not installed')
        return
    page = 'data:text/html,<script>document.write(`online: ${navigator.onLine}`)</script>'
    script = f"{browser} --no-sandbox --disable-gpu --user-data-dir=/tmp/profile --dump-dom '{page}' 2>/dev/null"
    flags = ('--memory', '1g', '--pids', '300')
    assert 'online: true' in rig.run(script, 'git.example', flags=flags)['stdout']
    assert 'online: false' in rig.run(script, flags=flags)['stdout']


def test_npm(rig):
    install = 'NODE_EXTRA_CA_CERTS=/workspace/ca.pem npm install --globalconfig=/tmp/none --no-audit --no-fund --no-update-notifier --fetch-retries=0 ' \
              '--registry https://npm.example/ tiny && node -p \'require("tiny")\''
    got = rig.run(install, 'npm.example')
    assert got['exit_code'] == 0 and got['stdout'].endswith('\n42\n') and not blocked(got), got
    got = rig.run(install, 'index.example')
    assert got['exit_code'] not in (0, None) and 'ENOTFOUND' in text(got) and 'npm.example' in text(got), got
    assert ('npm.example', None) in blocked(got), got


def test_without_nf_tables(rig):
    """The same programs by the proxy, which their environment names. What does not use it reaches nothing."""
    def run(script, *allow):
        return rig.run(script, *allow, flags=('--test-off', 'divert'))
    got = run(PIP, 'index.example', 'files.example')
    assert got['exit_code'] == 0 and not blocked(got), got
    got = run('git -c http.sslCAInfo=/workspace/ca.pem clone -q https://git.example/project.git && cat project/README', 'git.example')
    assert got['exit_code'] == 0 and got['stdout'] == 'from the git server\n', got
    got = run(curl('https://index.example/simple/small/', 'http://slow.example/', 'https://git.example/'), 'index.example', 'slow.example')
    lines = [line.split() for line in got['stdout'].splitlines()]
    assert lines[0][0] == '200' and lines[1][:2] == ['200', str(SLOW_BYTES)] and lines[2][2] != '0', got
    assert blocked(got) == [('git.example', 443)], got
    got = run('python3 -c "import socket; socket.create_connection((\'index.example\', 443), 20)"', 'index.example')
    assert got['exit_code'] == 1 and 'Network is unreachable' in got['stderr'], got
    got = run('echo $https_proxy; curl -s --noproxy "*" https://index.example/ || echo none', 'index.example')
    assert got['stdout'] == 'http://127.0.0.1:64998\nnone\n', got


def curl(*urls):
    """A script that prints status, size and curl's exit code for each."""
    return f'for u in {" ".join(urls)}; do curl -s --cacert /workspace/ca.pem -o /dev/null -w "%{{http_code}} %{{size_download}} %{{exitcode}}\\n" $u; done'


def test_slow(rig):
    began = time.monotonic()
    got = rig.run(curl('https://slow.example/', 'http://slow.example/'), 'slow.example')
    assert got['stdout'] == f'200 {SLOW_BYTES} 0\n' * 2, got
    assert time.monotonic() - began > SLOW_BYTES * SLOW_S


def test_hostile(rig):
    """A server that resets, stops in the middle or never ends its head harms nobody but its own connection."""
    urls = [f'http{s}://hostile.example/{w}' for s in ('', 's') for w in ('reset', 'half', 'endless')]
    got = rig.run(curl(*urls, 'https://index.example/simple/small/'), 'hostile.example', 'index.example')
    *bad, good = [line.split() for line in got['stdout'].splitlines()]
    assert len(bad) == len(urls) and all(code != '0' for _, _, code in bad), got
    assert good[0] == '200' and good[2] == '0', got
    assert bad[0][2] == '56' and bad[1][2] == '18', got  # a reset is a reset inside, an early end an early end


def test_redirects(rig):
    """A server that sends its clients elsewhere sends them where they may not go: metadata, the host, a name that is not allowed. The last one is."""
    places = ('169.254.169.254', '8.8.4.1', '10.9.9.9', 'metadata.example', 'index.example')
    urls = ' '.join(f'http://hostile.example/to/{p}' for p in places)
    got = rig.run(f'for u in {urls}; do curl -sL --max-redirs 3 -o /dev/null -w "%{{num_redirects}} %{{http_code}} %{{exitcode}}\\n" $u; done',
                  'hostile.example', 'index.example', 'metadata.example')
    lines = [line.split() for line in got['stdout'].splitlines()]
    assert len(lines) == len(places) and all(redirects == '1' and end != '0' for redirects, _, end in lines[:4]), got
    assert lines[4][0] == '1' and lines[4][2] == '0', got
    # What is told names what a rule would have to name: a rule for metadata.example is there, and does not help.
    assert ('169.254.169.254', 80) in blocked(got) and not any(name == 'metadata.example' for name, _ in blocked(got)), got
    # The layer off: with rules for the addresses the same redirect arrives.
    got = rig.run('curl -sL -o /dev/null -w "%{num_redirects} %{exitcode}" http://hostile.example/to/169.254.169.254', 'hostile.example', '169.254.169.254:80')
    assert got['stdout'] == '1 0', got


def main():
    missing = [p for p in NEEDED if not os.path.exists(p)]
    if missing or os.geteuid() != 0:
        print('needs root and', *missing)
        sys.exit(77)
    rig = Rig()
    try:
        for name, test in list(globals().items()):
            if name.startswith('test_') and (len(sys.argv) < 2 or name in sys.argv[1:]):
                began = time.monotonic()
                test(rig)
                print(f'{name}: {time.monotonic() - began:.1f} s', flush=True)
    finally:
        rig.close()


main()
