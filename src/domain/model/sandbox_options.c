/* SPDX-License-Identifier: Apache-2.0 */
/* Merging and copying, row by row. */
#include "domain/model/sandbox_options.h"

#include <errno.h>
#include <string.h>

void cay_sandbox_options_fill(struct cay_sandbox_options *o, const struct cay_sandbox_options *other)
{
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        if (!o->name)                                                                                        \
                o->name = other->name;
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
}

/* Sets where a text is; other values are copied with the struct. */
#define COPY_BOOL(name)
#define COPY_NUMBER(name)
#define COPY_TEXT(name)                                                                                      \
        if (from->name) {                                                                                    \
                to->name = cay_arena_copy(mem, from->name, strlen(from->name));                              \
                if (!to->name)                                                                               \
                        return -ENOMEM;                                                                      \
        }

int cay_sandbox_options_copy(struct cay_arena *mem, const struct cay_sandbox_options *from,
                             struct cay_sandbox_options *to)
{
        (void)mem; /* while there is no text among them */
        *to = *from;
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc) COPY_##kind(name)
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        return 0;
}
