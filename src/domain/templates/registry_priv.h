/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#pragma once

#include "foundation/base/arena.h"
#include "domain/templates/registry.h"

struct cay_registry {
        struct cay_arena mem;  /* owned: the tree and all texts */
        struct cay_arena seen; /* owned: what was read of other files */
        struct cay_template_set set;
        struct cay_template *rows; /* in mem; set.rows */
        unsigned *lines, *columns; /* in mem: where each template stands */
};

/*
 * cay_registry_parse, but *ret is what could be read also where there are errors (-1); NULL: nothing. For
 * `check`, never for use.
 */
int cay_registry_parse_all(const char *origin, const char *text, size_t len, struct cay_notes *notes,
                           struct cay_registry **ret);
/* Whether the file that it is built from is missing in that folder; t->why says so. */
bool cay_registry_lacks_dockerfile(struct cay_template *t, int folder_fd);
