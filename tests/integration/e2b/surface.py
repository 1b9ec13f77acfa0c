# SPDX-License-Identifier: Apache-2.0
"""What the packages e2b and @e2b/code-interpreter declare for their users, what docs/e2b.md says about it, and what the tests called.
A method that a later package adds, and that the page or the tests lack, makes test_e2b.py fail."""
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.environ["CAY_SOURCE_DIR"], "docs", "e2b.md")

# How the page calls the objects of a class. Statics and methods of the same name are one name there.
NAMES = {"Sandbox": "Sandbox", "SandboxApi": "Sandbox", "Commands": "commands", "Filesystem": "files", "Pty": "pty", "Git": "git",
         "CommandHandle": "CommandHandle", "WatchHandle": "WatchHandle", "Paginator": "Paginator", "SandboxPaginator": "Paginator",
         "SnapshotPaginator": "Paginator", "SecretPaginator": "Paginator", "Volume": "Volume", "Secret": "Secret", "TemplateBase": "Template",
         "E2B": "E2B", "OutputMessage": "OutputMessage", "ExecutionError": "ExecutionError", "Result": "Result", "Execution": "Execution",
         "ReadyCmd": "ReadyCmd", "LogEntry": "LogEntry", "LogEntryStart": "LogEntry", "LogEntryEnd": "LogEntry"}
# The clients' own: how they connect. No server has a part in these.
OWN = {"ConnectionConfig", "ClientFactory", "ApiClient", "EnvdApiClient", "VolumeConnectionConfig"}
OWN_PROPERTIES = {("Volume", "debug"), ("Volume", "domain"), ("Volume", "proxy")}
CLASS = re.compile(r"^(?:export )?declare (?:abstract )?class (\w+)(?:\$\d+)?([^{]*)\{", re.M)
MEMBER = re.compile(r"\s*((?:(?:static|readonly|get|set|async|abstract|protected|private|public) )*)(\w+)\??\s*(<[^>]*>)?\s*([(:])")


def bodies(text):
    """(class, what it extends, its members without what is inside of their braces)."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    for m in CLASS.finditer(text):
        depth, at, top = 1, m.end(), ""
        while depth:
            c = text[at]
            depth += (c in "{(") - (c in "})")
            if depth == 1 and c not in "})" or depth == 2 and c in "{(":
                top += c
            at += 1
        yield m[1], m[2], top


def declared(packages):
    """Names of methods, of properties and of errors, as the page has them."""
    methods, properties, errors = set(), set(), set()
    for package in packages:
        with open(os.path.join(package, "dist", "index.d.ts"), encoding="utf-8") as f:
            text = f.read()
        exported = re.findall(r"(?:^export \{|, )(\w+)(?=[,} ])", text[text.rindex("\nexport {"):].replace("\n", ""))
        found = list(bodies(text))
        assert len(found) >= 5, package
        for name, heritage, top in found:
            if re.search(r"extends (\w*Error)\b", heritage):
                errors.add(name)
                continue
            assert name in NAMES or name in OWN, f"{package}: class {name} is new: give it a name in surface.py and docs/e2b.md"
            if name in OWN:
                continue
            for line in re.split(r"[;\n]", top):
                m = MEMBER.match(line)
                if not m or {"private", "protected"} & set(m[1].split()) or m[2] == "constructor" or (name, m[2]) in OWN_PROPERTIES:
                    continue
                is_method = m[4] == "(" and "get" not in m[1].split()
                (methods if is_method else properties).add(f"{NAMES[name]}.{m[2]}")
        methods.update(n for n in exported if re.search(rf"^declare (?:const|function) {n}\b[^=]*\(", text, re.M))
    return methods, properties, errors


def told():
    """The names in the section Methods of the page: `commands.run`, `.list` are two."""
    with open(PAGE, encoding="utf-8") as f:
        section = f.read().split("\n## Methods\n")[1].split("\n## ")[0]
    names, last = set(), ""
    for span in re.findall(r"`([^`]+)`", "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))):
        name = last + span if span.startswith(".") else span
        names.add(name)
        last = name.split(".")[0]
    return names


def compare(what, wanted, found):
    missing = sorted(wanted - found)
    assert not missing, f"{what}: {', '.join(missing)}"


def check_page(packages):
    methods, properties, errors = declared(packages)
    page = told()
    compare("docs/e2b.md, Methods, lacks", methods | properties | errors, page)
    compare("docs/e2b.md names what the packages do not have", page, methods | properties | errors)


def check_tests(packages, called):
    """called: the lines of CAY_E2B_CALLED, "Sandbox.create", "Commands#run", "!TimeoutError"."""
    methods, properties, errors = declared(packages)
    seen = set()
    for line in called:
        owner, _, member = line.replace("#", ".").partition(".")
        seen.add(line[1:] if line.startswith("!") else f"{NAMES.get(owner, owner)}.{member}" if member else owner)
    text = ""
    for path in glob.glob(os.path.join(HERE, "*.cjs")):
        with open(path, encoding="utf-8") as f:
            text += f.read()
    compare("no test calls", {m for m in methods - NEVER if "." in m}, seen)
    compare("no test meets", errors - NEVER, seen)
    compare("no test reads", {p for p in properties if not re.search(rf"\.{p.split('.')[1]}\b", text) and p not in seen}, set())
    compare("no test calls", {m for m in methods if "." not in m and not re.search(rf"\b{m}\(", text)}, set())


# What needs a service that is not there; and the package makes no objects of that class, only such with the same members.
NEVER = {"SecretNotFoundError", "OutputMessage.toString"}
