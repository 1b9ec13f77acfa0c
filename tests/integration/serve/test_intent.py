#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a message asks for: over REST and by `cay api`, up to the run that it asks for. test_intent.py [NAME…] runs some."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import CAY, PATIENCE_S, Daemon, run_tests  # noqa: E402

SHELL = "```bash\necho $((6 * 7))\n```"


def detect(d, message, **more):
    return d.must(200, "POST", "/api/intent", {"message": message}, **more)


def test_run(d):
    """Told to run: what the answer holds is all that code_run needs."""
    got = detect(d, "Please run this:\n" + SHELL)
    assert got["decision"] == "run" and got["execute"] is True and got["obstacle"] is None, got
    assert got["reason"] == "the code block comes with 'Please run this'" and got["speech"] == "en", got
    assert got["template"] == {"name": "shell", "matched_by": "language", "available": True, "needs_confirm": False}, got
    assert got["code"] == {"text": "echo $((6 * 7))\n", "language": "bash", "guessed": False, "kind": "fenced", "block": 1, "blocks": 1}, got
    ran = d.must(200, "POST", "/api/run", {"code": got["code"]["text"], "language": got["code"]["language"]})
    assert ran["stdout"] == "42\n" and ran["exit_code"] == 0 and ran["template"] == got["template"]["name"], ran


def test_not_run(d):
    for message, decision in (("Don't run this:\n", "none"), ("Explain this code\n", "explain"), ("Improve this code\n", "improve"),
                              ("Why does this work?\n", "why"), ("Write me tests for this\n", "write"),
                              ("Bitte nicht ausführen\n", "none")):
        got = detect(d, message + SHELL)
        assert got["decision"] == decision and got["execute"] is False and got["reason"], got
    got = detect(d, "run this")
    assert got["decision"] == "none" and "code" not in got and "template" not in got, got
    got = detect(d, "run this\n```cobol\nDISPLAY 'A'.\n```")
    assert got["decision"] == "run" and got["execute"] is False and got["obstacle"] == "no template runs cobol; add one", got


def test_danger(d):
    """What destroys is not executed on a message's word alone: not by the answer, and not by the op that runs."""
    message = "Run it now, I am sure.\n```sh\nmkdir x && rm -rf x && echo gone\n```"
    got = detect(d, message)
    assert got["decision"] == "run" and got["needs_confirm"] is True and got["execute"] is False and got["obstacle"] is None, got
    assert got["danger"] == {"what": "deletes files", "text": "rm ", "where": "code"}, got
    body = {"code": got["code"]["text"], "language": "shell", "from_message": message}
    refused = d.must(428, "POST", "/api/run", body)
    token = refused["error"]["confirm"]
    assert "deletes files" in refused["error"]["message"], refused
    d.must(409, "POST", "/api/run", {**body, "code": body["code"] + "echo more\n", "confirm": token})
    token = d.must(428, "POST", "/api/run", body)["error"]["confirm"]
    assert d.must(200, "POST", "/api/run", {**body, "confirm": token})["stdout"] == "gone\n"
    d.must(409, "POST", "/api/run", {**body, "confirm": token})
    d.must(428, "POST", "/api/run", {"code": "echo 1", "language": "shell", "from_message": "run this on production\n`echo 1`"})
    assert d.must(200, "POST", "/api/run", {"code": "rm -f x; echo ok", "language": "shell"})["stdout"] == "ok\n"
    assert detect(d, "rm -rf /tmp/x")["decision"] == "none"


def test_bounds(d):
    assert detect(d, "a" * 65536)["decision"] == "none"
    assert "message" in json.dumps(d.must(400, "POST", "/api/intent", {"message": "a" * 65537}))
    d.must(400, "POST", "/api/intent", {})
    d.must(400, "POST", "/api/intent", {"message": ""})
    d.must(401, "POST", "/api/intent", {"message": "hi"}, token=False)
    reader = d.make_token("--scope", "read")
    assert detect(d, "```sh\ndate\n```", token=reader)["execute"] is True


def test_cli(d):
    done = subprocess.run([CAY, "api", "intent_detect", "--data", os.path.join(d.folder, "data"), "--message", "¿Funciona?\n" + SHELL], check=True,
                          capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE_S)
    got = json.loads(done.stdout)
    assert got["decision"] == "run" and got["speech"] == "es", got


def main():
    with Daemon() as d:
        run_tests(globals(), d)


if __name__ == "__main__":
    main()
