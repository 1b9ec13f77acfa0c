#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
agent.py [--yes] [--test COMMAND] PROJECT TASK: lets a model work on a project in a sandbox, and shows what it changed before anything of
it happens to the project.

  1. provisions a sandbox for the run      4. collects the results of the tests as data
  2. maps the project, copy-on-write       5. shows the difference, and applies it if you say yes
  3. routes the model's tool calls to it   6. destroys the sandbox

The model is any endpoint that speaks OpenAI's or Anthropic's protocol: set OPENAI_API_KEY or ANTHROPIC_API_KEY, the address with
OPENAI_BASE_URL or ANTHROPIC_BASE_URL if it is another one, and the model's name with CAY_AGENT_MODEL.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SDK = os.path.join(HERE, "..", "..", "sdk", "python", "src")
if os.path.isdir(SDK):  # from the checkout; elsewhere the installed package is used
    sys.path.insert(0, SDK)
import cay  # noqa: E402
from changes import Changes  # noqa: E402
from model import find_model  # noqa: E402
from tools import TOOLS, Tools  # noqa: E402

TURNS_MAX = 40
RESULTS = "/tmp/results.xml"
SYSTEM = ("You work on the project in /workspace, which is a sandbox: you may change and run anything there. Use the tools. Make the smallest "
          "change that does the task, run the tests, and end with one short paragraph that says what you changed.")


def provision(project, memory):
    """A sandbox with the project in it. Over a unix socket the folder is mapped and stays as it is; elsewhere it is copied."""
    client = cay.Client()
    # Python takes cached bytecode for current if size and second of the source agree: an agent edits faster than that.
    options = {"client": client, "memory": memory, "timeout": "1h", "labels": {"agent": "example"}, "env": {"PYTHONDONTWRITEBYTECODE": "1"}}
    if client.place.socket is not None:
        options |= {"workspace": project, "workspace_mode": "cow"}
    return cay.Sandbox("python", **options)


def converse(model, tools, task):
    """Until the model asks for no more tools: its last words."""
    model.start(SYSTEM, task, TOOLS)
    for _ in range(TURNS_MAX):
        text, calls = model.turn()
        if not calls:
            return text
        for call in calls:
            print(f"· {call.name} {tools.brief(call)}", flush=True)
            model.answer(call, tools.do(call))
    return f"(stopped after {TURNS_MAX} turns)"


def run_tests(box, command):
    """The tests' results as data, from a JUnit file if the command writes one, else from its output (TAP); None: no tests are known."""
    if command is None:
        if box.run("python3 -c 'import pytest' && ls test_*.py tests/test_*.py tests/*_test.py").stdout.strip() == "":
            return None
        command = "python3 -m pytest -q"
    if "pytest" in command:
        command += f" --junitxml={RESULTS}"
    box.run(["rm", "-f", RESULTS])
    ran = box.run(command, timeout="10m")
    if box.files.exists(RESULTS):
        return box.test_results(RESULTS)
    return box.test_results(command=ran)


def show_tests(results):
    if results is None:
        return
    print(f"\ntests: {results['passed']} passed, {results['failed']} failed, {results['errors']} errors, {results['skipped']} skipped")
    for case in results["cases"]:
        if case["status"] in ("failed", "error"):
            print(f"  {case['status']}: {case['class_name']}{'.' if case['class_name'] else ''}{case['name']}: {case['message'].splitlines()[:1]}")
    if results["problem"]:
        print(f"  ({results['problem']})")


def agrees(always):
    if always:
        return True
    if not sys.stdin.isatty():
        print("\nnot applied: there is nobody to ask (--yes applies without asking)")
        return False
    return input("\napply this to the project? [y/N] ").strip().lower() in ("y", "yes")


def main():
    parser = argparse.ArgumentParser(description="Let a model work on a project in a sandbox.")
    parser.add_argument("project", help="folder of the project")
    parser.add_argument("task", help="what to do, in words")
    parser.add_argument("--yes", action="store_true", help="apply the changes without asking")
    parser.add_argument("--test", metavar="COMMAND", help="how to run the tests (default: pytest, if there are tests)")
    parser.add_argument("--memory", default="1g", help="memory of the sandbox (default: 1g)")
    args = parser.parse_args()
    project = os.path.realpath(args.project)
    model = find_model()
    with provision(project, args.memory) as box:
        if box.client.place.socket is None:
            box.files.upload(project)
        print(f"sandbox {box.id}, model {model.name}", flush=True)
        print(converse(model, Tools(box), args.task))
        show_tests(run_tests(box, args.test))
        with tempfile.TemporaryDirectory() as copy:
            box.files.download("/workspace", copy)
            changes = Changes(project, copy)
            if not changes:
                print("\nnothing was changed")
                return
            print("\n" + changes.diff())
            if agrees(args.yes):
                changes.apply()
                print(f"applied: {changes.summary()}")


if __name__ == "__main__":
    try:
        main()
    except cay.CayError as e:
        sys.exit(f"agent: {e}")
    except KeyboardInterrupt:
        sys.exit(130)
