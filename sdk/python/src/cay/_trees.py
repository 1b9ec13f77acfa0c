# SPDX-License-Identifier: Apache-2.0
"""
Folders as archives. What comes out of a sandbox was written by a stranger: nothing of it may leave the folder that it is put in, follow a
link there, or get more rights than a file of the user has.
"""
from __future__ import annotations

import os
import shutil
import stat
import tarfile
from typing import IO, Callable, List, Optional

FILES_MAX = 1_000_000
Filter = Callable[[str], bool]


class UnsafeArchive(ValueError):
    """An archive names something outside of the folder that it belongs to."""


def pack(folder: str, file: IO[bytes], keep: Optional[Filter] = None) -> List[str]:
    """The folder's content, or one file, as a tar; the names in it. Sockets, devices and the like are left out."""
    names: List[str] = []

    def add(tar: tarfile.TarFile, path: str, name: str) -> None:
        info = tar.gettarinfo(path, name)
        if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
            return
        if info.islnk():  # a second name of a file: its own bytes, for the first may not be in here
            info.type, info.linkname = tarfile.REGTYPE, ""
            info.size = os.path.getsize(path)
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = info.mode & 0o777
        names.append(name)
        if info.isreg():
            with open(path, "rb") as content:
                tar.addfile(info, content)
        else:
            tar.addfile(info)

    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if not os.path.isdir(folder):
            add(tar, folder, os.path.basename(folder))
            return names
        for top, folders, files in os.walk(folder):
            below = os.path.relpath(top, folder)
            folders[:] = sorted(f for f in folders if keep is None or keep(os.path.normpath(os.path.join(below, f))))
            for name in [*folders, *sorted(files)]:
                at = os.path.normpath(os.path.join(below, name))
                if keep is None or keep(at):
                    add(tar, os.path.join(top, name), at)
    return names


def _place(root: str, name: str) -> Optional[str]:
    """Where a member goes; None: it is the folder itself."""
    parts = [p for p in name.split("/") if p not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise UnsafeArchive(f"the archive names '{name[:200]}', which is outside of its folder")
    if not parts:
        return None
    at = root
    for part in parts[:-1]:
        at = os.path.join(at, part)
        if os.path.islink(at):
            raise UnsafeArchive(f"the archive puts '{name[:200]}' behind a link")
        if not os.path.isdir(at):
            os.mkdir(at)
    return os.path.join(at, parts[-1])


def _clear(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise UnsafeArchive(f"'{path}' is a folder here and something else in the archive")
    os.unlink(path)


def _link(root: str, at: str, target: str) -> None:
    inside = os.path.normpath(os.path.join(os.path.dirname(at), target))
    if target.startswith("/") or not (inside + os.sep).startswith(root.rstrip(os.sep) + os.sep):
        raise UnsafeArchive(f"the archive has a link to '{target[:200]}', which is outside of its folder")
    _clear(at)
    os.symlink(target, at)


def unpack(file: IO[bytes], folder: str) -> List[str]:
    """Puts an archive's content below a folder, which is made; the names of its files."""
    os.makedirs(folder, exist_ok=True)
    root = os.path.realpath(folder)
    names: List[str] = []
    with tarfile.open(fileobj=file, mode="r:*") as tar:
        for count, member in enumerate(tar):
            if count >= FILES_MAX:
                raise UnsafeArchive("the archive has too many files")
            at = _place(root, member.name)
            if at is None:
                continue
            if member.isdir():
                if os.path.islink(at) or not os.path.isdir(at):
                    _clear(at)
                    os.mkdir(at)
            elif member.issym():
                _link(root, at, member.linkname)
                names.append(member.name)
            elif member.isreg() or member.islnk():
                content = tar.extractfile(member)
                if content is None:
                    continue
                _clear(at)
                fd = os.open(at, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, member.mode & 0o777)
                with content, open(fd, "wb") as out:
                    shutil.copyfileobj(content, out)
                names.append(member.name)
    return names
