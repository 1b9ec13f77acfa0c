#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
suite.py [--async] [--only TEXT] FILE: carries out the cases of sdk/suite with this SDK's synchronous or asynchronous surface. FILE says
which daemons there are (sdk/suite/README.md).
"""
import argparse
import asyncio
import base64
import glob
import inspect
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "src"))
import cay  # noqa: E402

CASES = os.path.join(HERE, "..", "..", "suite", "cases")
KINDS = {"string": str, "number": (int, float), "boolean": bool, "list": list, "object": dict, "null": type(None)}


# What a result is like

def test(word, wanted, got):
    if word == "$any":
        return got is not None
    if word == "$type":
        return isinstance(got, KINDS[wanted]) and not (wanted == "number" and isinstance(got, bool))
    if word in ("$contains", "$not_contains"):
        found = wanted in got if isinstance(got, str) else any(is_like(wanted, g) for g in got)
        return found == (word == "$contains")
    if word == "$match":
        return isinstance(got, str) and re.search(wanted, got) is not None
    if word in ("$least", "$most"):
        return got >= wanted if word == "$least" else got <= wanted
    if word == "$length":
        return is_like(wanted, len(got))
    if word == "$each":
        return all(is_like(wanted, g) for g in got)
    raise ValueError(f"unknown test {word}")


def is_like(wanted, got):
    if isinstance(wanted, dict):
        if len(wanted) == 1 and next(iter(wanted)).startswith("$"):
            ((word, value),) = wanted.items()
            return test(word, value, got)
        return isinstance(got, dict) and all(k in got and is_like(v, got[k]) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and all(is_like(w, g) for w, g in zip(wanted, got))
    return wanted == got and type(wanted) is type(got)


# One surface: what is awaited here is a value there

async def got(value):
    return await value if inspect.isawaitable(value) else value


async def all_of(iterator):
    if hasattr(iterator, "__aiter__"):
        return [item async for item in iterator]
    return list(iterator)


def result_value(result):
    return {"exec_id": result.exec_id, "stdout": result.stdout, "stderr": result.stderr, "exit_code": result.exit_code, "signal": result.signal,
            "cause": result.cause, "cause_text": result.cause_text, "advice": result.advice, "ok": result.ok}


def events_value(events):
    collector = cay.results.Collector()
    for e in events:
        collector.take(e)
    return {**result_value(collector.result()), "events": [e.data for e in events]}


def error_value(e):
    if isinstance(e, cay.CommandError):
        names = ("cause", "cause_text", "advice", "exit_code", "stdout", "stderr")
    else:
        names = ("code", "status", "message", "field", "request_id", "first")
    return {"class": type(e).__name__, **{n: getattr(e, n, None) for n in names}}


class Runner:
    def __init__(self, setup, is_async):
        self.folder, self.is_async = setup["folder"], is_async
        self.Client, self.Sandbox = (cay.AsyncClient, cay.AsyncSandbox) if is_async else (cay.Client, cay.Sandbox)
        self.clients = setup["clients"]

    async def run(self, case, client_name):
        self.saved, self.made = {}, []
        self.client = self.Client(**self.clients[client_name])
        try:
            for i, step in enumerate(case["steps"]):
                try:
                    await self.step(step)
                except AssertionError as e:
                    raise AssertionError(f"step {i + 1} ({step['do']}): {e}") from None
        finally:
            for box in self.made:
                await got(box.destroy())
            await got(self.client.aclose() if self.is_async else self.client.close())

    def value(self, x):
        """Saved values in place of their names."""
        if isinstance(x, dict):
            return {k: self.value(v) for k, v in x.items()}
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if isinstance(x, str) and re.fullmatch(r"\$[a-z]\w*(\.\w+)*", x) and x[1:].split(".")[0] in self.saved:
            name, *path = x[1:].split(".")
            found = self.saved[name]
            if path and hasattr(found, "data"):
                found = found.data
            for part in path:
                found = found[int(part)] if isinstance(found, list) else found[part]
            return found
        return x

    async def step(self, step):
        args = self.value(step.get("args", {}))
        on = self.value(step["on"]) if "on" in step else None
        try:
            result = await getattr(self, "do_" + step["do"])(on, **args)
        except cay.CayError as e:
            assert "error" in step, f"raised {error_value(e)}"
            assert is_like(step["error"], error_value(e)), f"raised {error_value(e)}, not {step['error']}"
            return
        assert "error" not in step, f"gave {str(result)[:300]}, and should have failed with {step['error']}"
        if "save" in step:
            self.saved[step["save"]] = result
        if "expect" in step:
            found = dict(result.data) if hasattr(result, "data") else result
            wanted = self.value(step["expect"])
            assert is_like(wanted, found), f"gave {json.dumps(found)[:2000]}, not {json.dumps(wanted)[:1000]}"

    # The client's

    async def do_create(self, on, **args):
        args["memory"], args["cpus"] = args.pop("memory_limit", None), args.pop("cpu_limit", None)
        box = await got(self.Sandbox.create(client=self.client, **args))
        self.made.append(box)
        return box

    async def do_get(self, on, id):
        return await got(self.Sandbox.get(id, client=self.client))

    async def do_list(self, on, **args):
        return await all_of(self.client.sandboxes(**args))

    async def do_run_code(self, on, **args):
        return result_value(await got(self.client.run_code(**args)))

    async def do_op(self, on, name, args=None):
        return await got(getattr(self.client, name)(**(args or {})))

    # A sandbox's life

    async def do_info(self, on):
        return dict(await got(on.info()))

    async def do_stop(self, on):
        return dict(await got(on.stop()))

    async def do_start(self, on):
        return dict(await got(on.start()))

    async def do_pause(self, on):
        return dict(await got(on.pause()))

    async def do_resume(self, on):
        return dict(await got(on.resume()))

    async def do_extend(self, on, **args):
        return dict(await got(on.extend(**args)))

    async def do_destroy(self, on):
        await got(on.destroy())

    # Commands

    async def do_run(self, on, command, **args):
        return result_value(await got(on.run(command, **args)))

    async def do_stream(self, on, command, **args):
        return events_value(await all_of(on.stream(command, **args)))

    async def do_spawn(self, on, command, **args):
        return await got(on.spawn(command, **args))

    async def do_follow(self, on, **args):
        return events_value(await all_of(on.events(args.get("from", 0))))

    async def do_wait(self, on):
        return result_value(await got(on.wait()))

    async def do_input(self, on, text="", eof=False):
        await got(on.input(text, eof=eof))

    async def do_resize(self, on, rows, cols):
        await got(on.resize(rows, cols))

    async def do_signal(self, on, signal):
        await got(on.signal(signal))

    async def do_kill(self, on):
        await got(on.kill())

    # Files

    async def do_write(self, on, path, text=None, **args):
        data = text if text is not None else base64.b64decode(args.pop("base64"))
        return await got(on.files.write(path, data, **args))

    async def do_read(self, on, path):
        data = await got(on.files.read(path))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        return {"text": text, "base64": base64.b64encode(data).decode()}

    async def do_files(self, on, **args):
        return await got(on.files.list(**args))

    async def do_stat(self, on, path):
        return await got(on.files.stat(path))

    async def do_mkdir(self, on, **args):
        await got(on.files.mkdir(**args))

    async def do_move(self, on, **args):
        await got(on.files.move(**args))

    async def do_remove(self, on, **args):
        await got(on.files.remove(**args))

    async def do_find(self, on, **args):
        return await got(on.files.find(**args))

    async def do_search(self, on, **args):
        return await got(on.files.search(**args))

    async def do_local(self, on, files):
        folder = tempfile.mkdtemp(dir=self.folder)
        for path, text in files.items():
            at = os.path.join(folder, path)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            with open(at, "w", encoding="utf-8") as f:
                f.write(text)
        return {"path": folder}

    async def do_local_read(self, on, path):
        found = {}
        for top, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(top, name), encoding="utf-8") as f:
                    found[os.path.relpath(os.path.join(top, name), path)] = f.read()
        return {"files": found}

    async def do_upload(self, on, local, path):
        return {"files": await got(on.files.upload(local, path))}

    async def do_download(self, on, local, path):
        return {"files": await got(on.files.download(path, local))}

    # Ports and network

    async def do_ports(self, on):
        return await got(on.ports())

    async def do_port_wait(self, on, port):
        await got(on.wait_for_port(port, 60))

    async def do_port_url(self, on, port):
        return {"url": on.url(port)}

    async def do_port_link(self, on, port):
        return {"url": await got(on.link(port))}

    async def do_http_get(self, on, port, path):
        answer = await got(on.fetch(port, path))
        return {"status": answer.status, "text": answer.text}

    async def do_network(self, on):
        return dict(await got(on.network()))

    async def do_network_log(self, on):
        return await got(on.network_log())

    async def do_test_results(self, on, **args):
        return dict(await got(on.test_results(**args)))


async def run_all(runner, only):
    passed = failed = 0
    for path in sorted(glob.glob(os.path.join(CASES, "*.json"))):
        with open(path, encoding="utf-8") as f:
            cases = json.load(f)
        for case in cases if isinstance(cases, list) else [cases]:
            for client in case["clients"]:
                name = f"{case['name']} [{client}{', async' if runner.is_async else ''}]"
                if only not in name or (runner.is_async and case.get("async") is False):
                    continue
                try:
                    await runner.run(case, client)
                    passed += 1
                except (AssertionError, cay.CayError) as e:
                    failed += 1
                    print(f"FAILED {name}: {type(e).__name__}: {e}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed == 0 and passed > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--async", dest="is_async", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("file")
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as f:
        setup = json.load(f)
    sys.exit(0 if asyncio.run(run_all(Runner(setup, args.is_async), args.only)) else 1)


if __name__ == "__main__":
    main()
