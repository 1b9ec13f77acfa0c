# SPDX-License-Identifier: Apache-2.0
"""The types of the API's answers, as TypedDicts."""
from ._generated.types import *  # noqa: F401,F403
