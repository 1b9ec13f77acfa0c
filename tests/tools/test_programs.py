# SPDX-License-Identifier: Apache-2.0
"""The built programs: cay-init and cay-warden are static and small, cay loads nothing."""
import os
import struct
import unittest

BUILD = os.environ["CAY_BUILD_DIR"]
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474E551
DT_NEEDED, DT_STRTAB = 1, 5
ET_DYN = 3
INIT_MAX_BYTES = 240 * 1024  # 12 KiB of it are what waiting interpreters run
WARDEN_MAX_BYTES = 224 * 1024


class Elf:
    """As much of a 64-bit little-endian ELF file as the tests ask about."""

    def __init__(self, name):
        with open(os.path.join(BUILD, name), "rb") as file:
            self.bytes = file.read()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", f"{name} is no 64-bit little-endian ELF file"
        (offset,) = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        (self.kind,) = struct.unpack_from("<H", self.bytes, 16)
        self.segments = []  # (type, flags, offset, address, file size)
        for i in range(count):
            row = struct.unpack_from("<IIQQQQ", self.bytes, offset + i * size)
            self.segments.append((row[0], row[1], row[2], row[3], row[5]))

    def segment(self, kind):
        return next((s for s in self.segments if s[0] == kind), None)

    def offset_of(self, address):
        for kind, _, offset, start, size in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        raise ValueError(hex(address))

    def needed(self):
        dynamic = self.segment(PT_DYNAMIC)
        if not dynamic:
            return []
        entries = list(struct.iter_unpack("<qQ", self.bytes[dynamic[2]:dynamic[2] + dynamic[4] // 16 * 16]))
        strings = self.offset_of(next(value for tag, value in entries if tag == DT_STRTAB))
        names = [strings + value for tag, value in entries if tag == DT_NEEDED]
        return [self.bytes[at:self.bytes.index(b"\0", at)].decode() for at in names]


class Programs(unittest.TestCase):
    def check_small(self, name, limit):
        elf = Elf(name)
        self.assertIsNone(elf.segment(PT_INTERP), f"{name} asks for a loader: it can't start in an empty image")
        self.assertEqual(elf.needed(), [])
        self.assertLessEqual(len(elf.bytes), limit, f"{name} has grown to {len(elf.bytes)} bytes")
        self.assertNotIn(b".symtab", elf.bytes, f"{name} is not stripped")

    def test_init_is_static_and_small(self):
        self.check_small("cay-init", INIT_MAX_BYTES)

    def test_warden_is_static_and_small(self):
        self.check_small("cay-warden", WARDEN_MAX_BYTES)

    def test_cay_loads_nothing(self):
        self.assertIsNone(Elf("cay").segment(PT_INTERP), "a loader's work would be a fifth of a run")
        self.assertEqual(Elf("cay").needed(), [])

    def test_an_agent_loads_nothing(self):
        """The one for other machines."""
        if not os.path.exists(os.path.join(BUILD, "cay-agent-static")):
            self.skipTest("the libraries that it is made of are not there as archives")
        elf = Elf("cay-agent-static")
        self.assertIsNone(elf.segment(PT_INTERP))
        self.assertEqual(elf.needed(), [])
        self.assertEqual(elf.kind, ET_DYN, "it is loaded at a fixed address")
        self.assertLessEqual(len(elf.bytes), 8 << 20)

    def test_random_addresses(self):
        for name in ("cay", "cay-init", "cay-warden"):
            self.assertEqual(Elf(name).kind, ET_DYN, f"{name} is loaded at a fixed address")

    def test_no_executable_stack(self):
        for name in ("cay", "cay-init", "cay-warden"):
            stack = Elf(name).segment(PT_GNU_STACK)
            self.assertIsNotNone(stack, name)
            self.assertFalse(stack[1] & 1, name)


if __name__ == "__main__":
    unittest.main()
