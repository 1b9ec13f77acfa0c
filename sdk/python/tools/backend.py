# SPDX-License-Identifier: Apache-2.0
"""
Builds the package (PEP 517, PEP 660) with Python's own library: a wheel and an sdist of one pure package. The same sources give the same
bytes. The version is the daemon's, by way of src/cay/_generated/codes.py.
"""
import base64
import gzip
import hashlib
import io
import os
import re
import tarfile
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = "cay"
WHEN = (2020, 1, 1, 0, 0, 0)
WHEN_S = 1577836800
ENTRY_POINTS = "[pytest11]\ncay = cay.pytest_plugin\n"


def version():
    with open(os.path.join(TOP, "src", "cay", "_generated", "codes.py"), encoding="utf-8") as f:
        return re.search(r'^VERSION = "([^"]+)"', f.read(), re.M).group(1)


def metadata():
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return ("Metadata-Version: 2.1\n"
            f"Name: {NAME}\nVersion: {version()}\n"
            "Summary: Isolated sandboxes for agents: the client of the Cay daemon\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n"
            "Classifier: License :: OSI Approved :: Apache Software License\nClassifier: Typing :: Typed\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def sources(*folders):
    """Path in the package's folder to bytes, sorted."""
    found = {}
    for folder in folders:
        for top, folders_, names in os.walk(os.path.join(TOP, folder)):
            folders_[:] = sorted(f for f in folders_ if f != "__pycache__")
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    path = os.path.join(top, name)
                    with open(path, "rb") as f:
                        found[os.path.relpath(path, TOP)] = (f.read(), os.access(path, os.X_OK))
    return found


def info_name():
    return f"{NAME}-{version()}.dist-info"


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_wheel(folder, content):
    """content: name to bytes, without the dist-info."""
    info = info_name()
    content = dict(content)
    content[f"{info}/METADATA"] = metadata().encode()
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: cay\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    content[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    record = "".join(record_line(n, d) for n, d in content.items()) + f"{info}/RECORD,,\n"
    content[f"{info}/RECORD"] = record.encode()
    name = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path, WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            z.writestr(entry, data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {os.path.relpath(p, "src"): data for p, (data, _) in sources("src").items()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {"cay-editable.pth": (os.path.join(TOP, "src") + "\n").encode()})


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{version()}"
    content = sources("src", "tools", "tests")
    for name in ("pyproject.toml", "README.md"):
        with open(os.path.join(TOP, name), "rb") as f:
            content[name] = (f.read(), False)
    content["PKG-INFO"] = (metadata().encode(), False)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, (data, is_program) in sorted(content.items()):
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size, entry.mode, entry.mtime = len(data), 0o755 if is_program else 0o644, WHEN_S
            tar.addfile(entry, io.BytesIO(data))
    name = base + ".tar.gz"
    with open(os.path.join(sdist_directory, name), "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=WHEN_S) as z:
        z.write(packed.getvalue())
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


if __name__ == "__main__":  # backend.py FOLDER: both packages, for `make sdk`
    import sys
    os.makedirs(sys.argv[1], exist_ok=True)
    for build in (build_wheel, build_sdist):
        print(os.path.join(sys.argv[1], build(sys.argv[1])))
