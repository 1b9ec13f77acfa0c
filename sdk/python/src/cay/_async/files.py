# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox. Paths without a slash in front are below its workspace."""
from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, List, Optional, Union, cast

from .._requests import ANSWER_MAX, Body, request_of
from .._trees import Filter, pack, unpack
from ..errors import ConnectionLostError
from .client import LOST, AsyncAnswer
from .net import in_thread

if TYPE_CHECKING:
    from .._generated.types import File, FileWriteResult, Match
    from .sandbox import AsyncSandbox

TREE_MAX = 4 * 1024 * 1024 * 1024
KEPT = 8 * 1024 * 1024  # of an archive, in memory; the rest of it in a file


class AsyncFiles:
    def __init__(self, box: "AsyncSandbox") -> None:
        self._box = box

    async def _call(self, op: str, args: Dict[str, Any], content: Optional[Body] = None) -> Any:
        return await self._box.client._call(op, {"id": self._box.id, **args}, content)

    async def read(self, path: str, *, offset: Optional[int] = None, length: Optional[int] = None, max_bytes: int = ANSWER_MAX) -> bytes:
        """A file's bytes, or a part of them."""
        r = request_of("file_read", {"id": self._box.id, "path": path, "offset": offset, "length": length}, accept="*/*")

        async def take(answer: AsyncAnswer) -> bytes:
            if answer.status >= 400:
                await answer.value()
            return await answer.read(max_bytes)

        return cast("bytes", await self._box.client._ask(r, take))

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        return (await self.read(path)).decode(encoding)

    async def write(self, path: str, data: Union[bytes, str, Body], **options: Any) -> FileWriteResult:
        """Writes a file: bytes, a text, or a file that is open for reading. options: those of file_write (parents, mode, append, …)."""
        content: Body = data.encode() if isinstance(data, str) else data
        return cast("FileWriteResult", await self._call("file_write", {"path": path, **options}, content))

    async def list(self, path: str = ".", *, recursive: bool = False, sorted: bool = True) -> List[File]:
        """All entries of a folder."""
        out: List[File] = []
        while True:
            page = await self._call("file_list", {"path": path, "recursive": recursive, "sorted": sorted, "offset": len(out)})
            out += page["entries"]
            if not page["more"] or not page["entries"]:
                return out

    async def stat(self, path: str) -> File:
        return cast("File", await self._call("file_stat", {"path": path}))

    async def exists(self, path: str) -> bool:
        from ..errors import NotFoundError
        try:
            await self.stat(path)
            return True
        except NotFoundError:
            return False

    async def mkdir(self, path: str, *, parents: bool = True) -> None:
        await self._call("file_mkdir", {"path": path, "parents": parents})

    async def move(self, path: str, to: str, **options: Any) -> None:
        await self._call("file_move", {"path": path, "to": to, **options})

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        await self._call("file_remove", {"path": path, "recursive": recursive})

    async def find(self, pattern: str, path: Optional[str] = None) -> List[File]:
        """Files whose name is like the pattern (*.py), in all folders below."""
        out: List[File] = []
        while True:
            page = await self._call("file_find", {"pattern": pattern, "path": path, "offset": len(out)})
            out += page["entries"]
            if not page["more"] or not page["entries"]:
                return out

    async def search(self, pattern: str, path: Optional[str] = None, **options: Any) -> List[Match]:
        """Lines that a regular expression matches. options: those of file_search (glob, ignore_case, literal, limit, …)."""
        return cast("List[Match]", (await self._call("file_search", {"pattern": pattern, "path": path, **options}))["matches"])

    async def upload(self, local: "Union[str, os.PathLike[str]]", path: str = ".", *, keep: Optional[Filter] = None) -> List[str]:
        """
        Copies a folder's content into a folder of the sandbox, which is made; or one file into it. keep: which paths (relative to local)
        are taken; default: all. The names that were copied.
        """
        with tempfile.SpooledTemporaryFile(KEPT) as file:
            names = await in_thread(pack, os.fspath(local), file, keep)
            file.seek(0)
            await self._call("archive_put", {"path": path, "parents": True}, cast("Body", file))
        return names

    async def download(self, path: str, local: "Union[str, os.PathLike[str]]", *, max_bytes: int = TREE_MAX) -> List[str]:
        """
        Copies a folder's content, or one file, into a local folder, which is made. What is in the way of a file is replaced; nothing outside
        of that folder is touched, whatever the archive says. The names that were copied.
        """
        with tempfile.TemporaryFile() as file:
            await self._box.client.download_to("archive_get", {"id": self._box.id, "path": path}, file, max_bytes)
            file.seek(0)
            return await in_thread(unpack, file, os.fspath(local))

    async def watch(self, path: str = ".", *, recursive: bool = False) -> AsyncIterator[Dict[str, Any]]:
        """Changes in a folder as they happen. Ends with an error if the connection is cut: what happened meanwhile is not kept."""
        r = request_of("file_watch", {"id": self._box.id, "path": path, "recursive": recursive}, accept="application/x-ndjson")
        answer = await self._box.client._ask(r, self._box.client._stream_of)
        try:
            async for value in answer.objects():
                yield value
        except LOST as e:
            raise ConnectionLostError(f"file_watch: {e}") from e
        finally:
            await answer.aclose()
