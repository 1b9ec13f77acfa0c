/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files as text that is safe in messages and lines: printable ASCII, everything else
 * percent-encoded.
 */
#pragma once

#include "foundation/base/banned.h"

struct cay_files_text {
        char s[112];
};

/*
 * Fills and returns t->s. A name that does not fit shows its end, behind "...": that is what tells names
 * apart.
 */
const char *cay_files_quote(struct cay_files_text *t, const char *name);

/*
 * Encodes up to `len` bytes into ret (size ≥ 4) with a NUL; cut between characters when full. Returns the
 * length.
 */
size_t cay_files_escape(const char *bytes, size_t len, char *ret, size_t size);
