/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms from strangers: every step stays within what it was given, and a form in pieces is the same as in
 * one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

/* Bytes of all parts, and how it ended. */
static size_t walk(const char *bytes, size_t size, size_t piece, enum cay_multipart_event *ret_end)
{
        struct cay_multipart m;
        size_t at = 0, end = piece < size ? piece : size, used, total = 0;

        HOLDS(cay_multipart_init(&m, "multipart/form-data; boundary=b"));
        for (;;) {
                enum cay_multipart_event event = cay_multipart_step(&m, bytes + at, end - at, &used);

                HOLDS(used <= end - at);
                HOLDS(event != CAY_MULTIPART_DATA || used > 0);
                total += event == CAY_MULTIPART_DATA ? used : 0;
                at += used;
                *ret_end = event;
                if (event == CAY_MULTIPART_DONE || event == CAY_MULTIPART_BAD)
                        return total;
                if (event == CAY_MULTIPART_MORE && used == 0) {
                        if (end == size)
                                return total;
                        end = end + piece < size ? end + piece : size;
                }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        enum cay_multipart_event one, other;
        char *copy = malloc(size ? size : 1); /* its own block: sanitizers see a byte behind it */
        struct cay_multipart m;
        char type[300];
        size_t a, b;

        if (!copy)
                return 0;
        if (size > 0)
                memcpy(copy, data, size);
        a = walk(copy, size, size ? size : 1, &one);
        b = walk(copy, size, 3, &other);
        HOLDS((one == CAY_MULTIPART_DONE) == (other == CAY_MULTIPART_DONE));
        HOLDS(one != CAY_MULTIPART_DONE || a == b);
        memset(type, 0, sizeof(type));
        memcpy(type, "multipart/form-data; ", 21);
        memcpy(type + 21, copy, size < 250 ? size : 250);
        cay_multipart_init(&m, type);
        free(copy);
        return 0;
}
