# SPDX-License-Identifier: Apache-2.0
"""The model's tools, and where they go: all of them to the sandbox, none to this machine."""
import cay

ANSWER_MAX = 20000  # characters that a model is told of one answer


def _tool(name, description, **properties):
    return {"name": name, "description": description,
            "parameters": {"type": "object", "properties": {k: {"type": "string", "description": v} for k, v in properties.items()},
                           "required": list(properties)}}


TOOLS = [
    _tool("run", "Run a shell command in the sandbox. Answers with its output and how it ended.", command="line for /bin/sh"),
    _tool("read_file", "Read a text file.", path="path below /workspace"),
    _tool("write_file", "Write a text file; folders are made, an old file is replaced.", path="path below /workspace", text="its whole content"),
    _tool("list_files", "List everything below a folder.", path="folder, . is /workspace"),
]


class Tools:
    def __init__(self, box):
        self.box = box

    @staticmethod
    def brief(call):
        """A call in a line, for people."""
        return str(call.args.get("command") or call.args.get("path") or "")[:100].replace("\n", " ")

    def do(self, call):
        """The answer as a text. What went wrong is an answer, too: a model can go on from it."""
        try:
            method = getattr(self, "do_" + call.name, None)
            answer = method(**call.args) if method is not None else f"there is no tool '{call.name}'"
        except (cay.CayError, TypeError, UnicodeDecodeError) as e:
            answer = f"error: {e}"
        return answer if len(answer) <= ANSWER_MAX else answer[:ANSWER_MAX] + "\n(the rest was cut)"

    def do_run(self, command):
        r = self.box.run(command, timeout="5m")
        end = f"exit code {r.exit_code}" if r.cause == "exited" else f"{r.cause_text}; {r.advice}"
        return f"{r.stdout}{r.stderr}\n[{end}]"

    def do_read_file(self, path):
        return self.box.files.read_text(path)

    def do_write_file(self, path, text):
        return f"{self.box.files.write(path, text, parents=True)['bytes']} bytes written"

    def do_list_files(self, path):
        return "\n".join(f["name"] for f in self.box.files.list(path, recursive=True) if f["type"] != "directory")
