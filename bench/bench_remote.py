#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The agent link over a network with a round trip of 20 ms and 100 Mbit/s, in turns with what it is compared to: a command there against one
in a sandbox beside the daemon, a file against the same bytes through plain TLS over the same network; and the memory of an idle agent. The network
is a relay between two namespaces (tests/integration/serve/test_remote_net.py). Ratios are what counts. Run by `make bench` below
tests/isolated/run_isolated (CAY_BUILD_DIR, CAY_SOURCE_DIR)."""
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SERVE = os.path.join(os.environ["CAY_SOURCE_DIR"], "tests", "integration", "serve")
sys.path.insert(0, SERVE)
from test_sign_in import TlsDaemon  # noqa: E402
from test_remote_net import HERE_ADDRESS, Agent, Machine, Road, SKIP  # noqa: E402
from daemon import agent_of, wait_for  # noqa: E402

ROUNDS = int(os.environ.get("RUNS", "7"))
SIZE, RATE, ROUND_TRIP_S = 32 << 20, 100e6 / 8, 0.02


def make_certificate(folder):
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "2", "-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:127.0.0.1,IP:{HERE_ADDRESS}"], check=True,
                   capture_output=True)
    return cert, key


def exec_s(d, box):
    begin = time.perf_counter()
    assert d.run(box, ["/bin/true"])["exit_code"] == 0
    return time.perf_counter() - begin


def timed(work):
    begin = time.perf_counter()
    work()
    return SIZE / (time.perf_counter() - begin)


def serve_tls(cert, key):
    """A server that sends SIZE bytes to whoever connects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def loop():
        while True:
            sock, _ = listener.accept()
            with context.wrap_socket(sock, server_side=True) as s:
                s.recv(1)
                left = SIZE
                while left > 0:
                    left -= s.send(bytes(min(left, 1 << 16)))

    threading.Thread(target=loop, daemon=True).start()
    return listener.getsockname()[1]


def take_tls(machine, port, cert):
    """From the machine's side, as the agent is there."""
    program = (f"import socket,ssl\nc=ssl.create_default_context(cafile={cert!r})\nc.check_hostname=False\n"
               f"s=c.wrap_socket(socket.create_connection(({HERE_ADDRESS!r},{port})))\ns.send(b'x')\nleft={SIZE}\n"
               "while left>0:\n n=len(s.recv(1<<16))\n assert n\n left-=n\n")
    subprocess.run(machine.enter("python3", "-c", program), check=True)


def resident_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        fields = {line.split(":")[0]: line.split()[1] for line in f if ":" in line and line.rstrip().endswith("kB")}
    return int(fields["Rss"]), int(fields["Pss_Anon"])


def result(name, value):
    """For the report at the end of `make bench` (goals.def)."""
    if os.environ.get("CAY_BENCH_RESULTS"):
        with open(os.environ["CAY_BENCH_RESULTS"], "a", encoding="utf-8") as f:
            f.write(f"{name} {value:.3f}\n")


def row(what, values, unit, scale):
    print(f"| {what} | {statistics.median(values) * scale:.2f} {unit} |")


def main():
    folder = tempfile.mkdtemp(prefix="cay-bench-")
    cert, key = make_certificate(folder)
    data = os.urandom(SIZE)
    machine = Machine()
    daemon = TlsDaemon(cert, key, tempfile.mkdtemp(dir=folder))
    daemon.flags = (*daemon.flags, "--trusted-hosts", HERE_ADDRESS)
    with daemon as d:
        road = Road(d.port, RATE)
        direct = Road(serve_tls(cert, key), RATE)
        code = d.must(201, "POST", "/api/machines", {"name": "laptop"})["code"]
        agent = Agent(machine, road.address, folder, code=code, scheme="wss", flags=("--ca", cert))
        wait_for("the machine", lambda: d.must(200, "GET", "/api/machines/laptop")["state"] == "ready")
        far, near = d.make(machine="laptop", may_skip=SKIP), d.make(may_skip=SKIP)
        for box in (far, near):
            d.run(box, "true")
        time.sleep(1)
        both = [resident_kib(pid) for pid in (agent.process.pid, agent_of(agent.process))]  # what they share counts once
        rss, own = sum(r for r, _ in both), sum(o for _, o in both)
        execs = [(exec_s(d, near), exec_s(d, far)) for _ in range(ROUNDS * 10)]
        over = [(f - n) / ROUND_TRIP_S for n, f in execs]
        rates = []
        for _ in range(ROUNDS):
            plain = timed(lambda: take_tls(machine, direct.address, cert))
            up = timed(lambda: d.ask("PUT", f"/api/sandboxes/{far}/files?path=/workspace/f", data))
            down = timed(lambda: d.must(200, "GET", f"/api/sandboxes/{far}/files?path=/workspace/f"))
            out = timed(lambda: d.run(far, "cat f > /dev/null; head -c %d /dev/zero" % SIZE, output_limit=2 * SIZE, max_output=1))
            rates.append((plain, up, down, out))
        print("| over 20 ms and 100 Mbit/s | median |\n|---|---|")
        row("a command beside the daemon", [n for n, _ in execs], "ms", 1e3)
        row("a command on the machine", [f for _, f in execs], "ms", 1e3)
        row("the difference, in round trips", over, "×", 1)
        row("plain TLS", [r[0] for r in rates], "MB/s", 1e-6)
        for nr, what in ((1, "a file there"), (2, "a file back"), (3, "output of a command")):
            row(f"{what}, × plain TLS", [r[nr] / r[0] for r in rates], "×", 1)
        print(f"| idle agent with one sandbox: resident, of that not code on disk | {rss / 1024:.1f} MiB, {own / 1024:.1f} MiB |")
        result("remote_exec", statistics.median(over))
        result("remote_bytes", min(statistics.median([r[nr] / r[0] for r in rates]) for nr in (1, 2, 3)))
        result("remote_idle", own / 1024)
        agent.stop()
        road.close()
        direct.close()
    machine.close()
    subprocess.run(["rm", "-r", folder], check=True)


if __name__ == "__main__":
    main()
