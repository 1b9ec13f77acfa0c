# SPDX-License-Identifier: Apache-2.0
"""Models behind two protocols, with Python's own library: a conversation with tools, one turn at a time."""
import json
import os
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass

TIMEOUT_S = 300
ANSWER_MAX = 8 * 1024 * 1024


@dataclass
class Call:
    id: str
    name: str
    args: dict


def post(url, headers, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.loads(answer.read(ANSWER_MAX))
    except urllib.error.HTTPError as e:
        sys.exit(f"agent: the model's endpoint answered {e.code}: {e.read(2000).decode(errors='replace')}")
    except (urllib.error.URLError, TimeoutError) as e:
        sys.exit(f"agent: the model's endpoint {url} does not answer: {e}")


def arguments(text):
    """A model may write anything."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class OpenAI:
    def __init__(self, url, key, name):
        self.url, self.key, self.name = url.rstrip("/") + "/chat/completions", key, name

    def start(self, system, task, tools):
        self.messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
        self.tools = [{"type": "function", "function": t} for t in tools]

    def turn(self):
        answer = post(self.url, {"Authorization": f"Bearer {self.key}"}, {"model": self.name, "messages": self.messages, "tools": self.tools})
        message = answer["choices"][0]["message"]
        self.messages.append(message)
        calls = [Call(c["id"], c["function"]["name"], arguments(c["function"].get("arguments"))) for c in message.get("tool_calls") or []]
        return message.get("content") or "", calls

    def answer(self, call, text):
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


class Anthropic:
    def __init__(self, url, key, name):
        self.url, self.key, self.name = url.rstrip("/") + "/v1/messages", key, name

    def start(self, system, task, tools):
        self.system, self.messages = system, [{"role": "user", "content": task}]
        self.tools = [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in tools]

    def turn(self):
        answer = post(self.url, {"x-api-key": self.key, "anthropic-version": "2023-06-01"},
                      {"model": self.name, "max_tokens": 8192, "system": self.system, "messages": self.messages, "tools": self.tools})
        parts = answer["content"]
        self.messages.append({"role": "assistant", "content": parts})
        calls = [Call(p["id"], p["name"], p.get("input") if isinstance(p.get("input"), dict) else {}) for p in parts if p["type"] == "tool_use"]
        return "".join(p["text"] for p in parts if p["type"] == "text"), calls

    def answer(self, call, text):
        """All answers to one turn belong into one message."""
        result = {"type": "tool_result", "tool_use_id": call.id, "content": text}
        if self.messages[-1]["role"] == "user":
            self.messages[-1]["content"].append(result)
        else:
            self.messages.append({"role": "user", "content": [result]})


def find_model():
    env = os.environ.get
    if env("ANTHROPIC_API_KEY") or env("ANTHROPIC_BASE_URL"):
        return Anthropic(env("ANTHROPIC_BASE_URL") or "https://api.anthropic.com", env("ANTHROPIC_API_KEY") or "none",
                         env("CAY_AGENT_MODEL") or "claude-sonnet-4-5")
    if env("OPENAI_API_KEY") or env("OPENAI_BASE_URL"):
        return OpenAI(env("OPENAI_BASE_URL") or "https://api.openai.com/v1", env("OPENAI_API_KEY") or "none", env("CAY_AGENT_MODEL") or "gpt-4o")
    sys.exit("agent: which model? set ANTHROPIC_API_KEY or OPENAI_API_KEY, or the address of another endpoint with ANTHROPIC_BASE_URL or "
             "OPENAI_BASE_URL")
