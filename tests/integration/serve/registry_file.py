# SPDX-License-Identifier: Apache-2.0
"""A registry in a folder of its own that others may look into: for the tests of this folder."""
import os
import shutil
import tempfile


class Registry:
    def __init__(self, text):
        self.folder = tempfile.mkdtemp(prefix="cay-registry-")
        os.chmod(self.folder, 0o755)
        self.path = os.path.join(self.folder, "registry.yaml")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path, 0o644)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        shutil.rmtree(self.folder)
