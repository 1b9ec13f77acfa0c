#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics as JSON and as Prometheus' text: what they count, who sees what. test_metrics.py [NAME…] runs some."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Daemon, run_tests  # noqa: E402

LINE = re.compile(r'([a-z_]+)(?:\{([a-z]+)="([^"]*)"\})? (\d+(?:\.\d+)?)')


def scrape(d, **more):
    """{(name, label): value}, after a look at the form."""
    a = d.ask("GET", "/metrics", **more)
    assert a.status == 200 and a.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", a
    text = a.body.decode()
    assert text.endswith("\n")
    found, kinds, helped = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in helped, line
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kind in ("counter", "gauge", "histogram") and name in helped and name not in kinds, line
            kinds[name] = kind
        else:
            m = LINE.fullmatch(line)
            assert m, line
            name, _, label, value = m.groups()
            base = name if name in kinds else re.sub(r"_(bucket|sum|count)$", "", name)
            assert kinds.get(base) == "histogram" or base == name and base in kinds, line
            assert (kinds[base] == "counter") == name.endswith("_total"), line
            assert (name, label) not in found, line
            found[name, label] = float(value)
    return found


def check_histogram(found, name):
    buckets = [(float(label), value) for (n, label), value in found.items() if n == name + "_bucket"]
    assert buckets == sorted(buckets) and buckets[-1][0] == float("inf"), buckets
    values = [v for _, v in buckets]
    assert values == sorted(values) and values[-1] == found[name + "_count", None], buckets
    return found[name + "_count", None], found[name + "_sum", None]


def test_counts(d):
    admin = d.make_token("--scope", "admin")
    zero = scrape(d, token=admin)
    assert zero["cay_sandboxes", "ready"] == 0 and zero["cay_execs_started_total", None] == 0 and zero["cay_engine_up", None] == 1, zero
    assert check_histogram(zero, "cay_exec_duration_seconds") == (0, 0)
    box = d.make()
    ran = [d.run(box, ["sh", "-c", "exit 3"]), d.run(box, ["sleep", "600"], timeout="200ms"),
           d.run(box, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")]
    d.must(429, "POST", "/api/sandboxes", {})
    one = scrape(d, token=admin)
    assert one["cay_sandboxes", "ready"] == 1 and one["cay_execs_running", None] == 0, one
    assert one["cay_execs_started_total", None] == 3, one
    assert one["cay_execs_ended_total", "exited"] == 2 and one["cay_execs_ended_total", "wall_time"] == 1, one
    assert one["cay_sandbox_creations_total", None] == 2 and check_histogram(one, "cay_sandbox_creation_seconds")[0] == 1, one
    assert check_histogram(one, "cay_exec_start_seconds")[0] == 3
    count, seconds = check_histogram(one, "cay_exec_duration_seconds")
    assert count == 3 and round(seconds * 1e6) == sum(r["wall_us"] for r in ran), (one, ran)
    assert one["cay_exec_duration_seconds_bucket", "0.100"] == sum(r["wall_us"] <= 100000 for r in ran), (one, ran)
    assert one["cay_exec_cpu_seconds_total", None] > 0 and one["cay_sandbox_memory_bytes", None] > 0, one
    assert one["cay_sandbox_cpu_seconds", None] > 0 and one["cay_pool_ready", None] == 0 and one["cay_links_lost", None] == 0, one
    assert one["cay_http_answers_total", "4xx"] == zero["cay_http_answers_total", "4xx"] + 1, one
    assert one["cay_http_answers_total", "2xx"] == zero["cay_http_answers_total", "2xx"] + 5, one
    got = d.must(200, "GET", "/api/metrics", token=admin)
    assert got["execs"]["causes"]["wall_time"] == 1 and got["execs"]["ended"] == 3 and got["sandboxes"]["states"]["ready"] == 1, got
    assert got["execs"]["duration"]["count"] == 3 and got["creations"] == {**got["creations"], "started": 2, "waiting": 0}, got
    assert [b["count"] for b in got["execs"]["duration"]["buckets"]][-1] == 3, got
    assert got["resources"]["sandboxes"] == 1 and got["resources"]["memory_limit_bytes"] == 2 << 30, got
    assert one["cay_snapshots", None] == one["cay_steps", None] == one["cay_snapshot_bytes", None] == one["cay_sandboxes_asleep", None] == 0, one
    shot = d.must(201, "POST", f"/api/sandboxes/{box}/snapshots", {})
    d.run(box, "true", checkpoint=True)
    kept = scrape(d, token=admin)
    added = d.must(200, "GET", f"/api/sandboxes/{box}/steps")["steps"][0]["added_bytes"] + shot["added_bytes"]
    assert (kept["cay_snapshots", None], kept["cay_steps", None], kept["cay_snapshot_bytes", None]) == (1, 1, added), kept
    assert d.must(200, "GET", "/api/metrics", token=admin)["snapshots"] == {"count": 1, "steps": 1, "added_bytes": added}
    assert d.must(200, "GET", "/api/metrics", token=d.make_token("--owner", "other"))["snapshots"]["count"] == 0
    d.must(200, "DELETE", f"/api/snapshots/{shot['snapshot_id']}")
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    two = scrape(d, token=admin)
    for (name, label), value in one.items():
        if name.endswith(("_total", "_bucket", "_sum", "_count")):
            assert two[name, label] >= value, (name, label)
    assert two["cay_sandboxes", "ready"] == 0 and two["cay_measured_sandboxes", None] == 0, two


def test_who_sees_what(d):
    """One's own, and for admin and metrics_owner all; the daemon's own figures for the latter alone."""
    other, exec_token = (d.make_token("--owner", "other", "--scope", scope) for scope in ("read", "exec"))
    box = d.make()
    d.run(box, ["true"])
    got = d.must(200, "GET", "/api/metrics", token=other)
    assert got["covers"] == "own" and got["sandboxes"] == {**got["sandboxes"], "known": 0, "alive": 0, "links_lost": 0}, got
    assert not any(got["sandboxes"]["states"].values()) and not any(got["sandboxes"]["engines"].values()), got
    assert not any(got["execs"]["causes"].values()) and not any(got["resources"].values()), got
    assert got["creations"]["started"] == got["execs"]["started"] == got["execs"]["duration"]["count"] == 0, got
    for hour in got["last_hour"].values():
        assert hour == {"count": 0, "p50_us": 0, "p99_us": 0, "max_us": 0, "minutes": []}, got
    assert not {"http_answers", "daemon"} & set(got) and "waiting" not in got["creations"], got
    text = scrape(d, token=other)
    assert text["cay_measured_sandboxes", None] == 0 and text["cay_sandboxes", "ready"] == 0 and text["cay_engine_up", None] == 1, text
    assert not any(name.startswith(("cay_store", "cay_http", "cay_adoptions")) for name, _ in text), text
    admin = scrape(d, unix=True, token=False)  # root
    scraper = scrape(d, token=d.make_token("--owner", "scraper", "--scope", "read"))
    for text in (admin, scraper):
        assert text["cay_measured_sandboxes", None] == 1 and text["cay_sandboxes", "ready"] == 1 and ("cay_store_bytes", None) in text, text
    d.must(200, "DELETE", f"/api/sandboxes/{box}")
    own = d.must(201, "POST", "/api/sandboxes", {}, token=exec_token)["sandbox_id"]
    got = d.must(200, "GET", "/api/metrics", token=other)
    assert got["sandboxes"]["states"]["ready"] == got["sandboxes"]["engines"]["native"] == got["creations"]["started"] == 1, got
    assert got["last_hour"]["create"]["count"] == got["creations"]["latency"]["count"] == got["resources"]["sandboxes"] == 1, got
    d.must(404, "GET", f"/api/sandboxes/{own}", token=d.make_token("--owner", "scraper", "--scope", "read"))
    for path in ("/metrics", "/api/metrics"):
        d.must(401, "GET", path, token=False)
        assert d.ask("POST", path).status == 405
    d.must(200, "DELETE", f"/api/sandboxes/{own}", token=exec_token)


def test_reasons(d):
    """Why an engine does not run names places of the host: in full for admin alone."""
    shown = {e["name"]: e for e in d.must(200, "GET", "/api/engines")["engines"]}
    told = {e["name"]: e for e in d.must(200, "GET", "/api/engines", unix=True, token=False)["engines"]}
    assert shown["docker"]["why"] == "it does not run here" and shown["native"]["why"] is None and shown["native"]["chosen"] is None, shown
    assert told["docker"]["why"] == told["native"]["chosen"] == "the setting engine is native", told


def main():
    with Daemon("--max-sandboxes", "1", "--metrics-owner", "scraper") as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
