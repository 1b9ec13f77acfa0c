/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions and globs of strangers: read, and run over what follows the pattern's line. */
#include <stdint.h>
#include <string.h>

#include "foundation/base/pattern.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct cay_pattern p;
        static struct cay_pattern_run run;
        const char *line = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL, *text = (const char *)data + 1;
        size_t len, end = 0, rest;
        struct cay_error err = { 0 };
        int r;

        if (!line)
                return 0;
        len = (size_t)(line - text);
        rest = size - 2 - len;
        if (rest > 4096)
                rest = 4096;
        r = data[0] & 4 ? cay_pattern_compile_glob(&p, text, len, &err)
                        : cay_pattern_compile(&p, text, len, data[0] & 3, &err);
        if (r < 0) {
                must(err.msg[0] && (err.code == CAY_INVALID || err.code == CAY_INTERNAL));
                return 0;
        }
        must(p.count > 0 && p.count <= CAY_PATTERN_CODE_MAX);
        if (cay_pattern_find(&p, &run, line + 1, rest, data[0] & 8, data[0] & 16, &end))
                must(end <= rest);
        return 0;
}
