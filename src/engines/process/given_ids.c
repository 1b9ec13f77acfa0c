/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that the host has assigned to others: no box gets them, and no process is killed because of them. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/banned.h"
#include "engines/process/own_id.h"

#define LINE_BYTES 16384

/* A process with the id of a box's killer is as much a conflict as one with the box's id. */
static void add(struct cay_id_set *set, uint64_t first, uint64_t count)
{
        for (uint64_t id = CAY_OWN_ID_FIRST; id < CAY_OWN_ID_FIRST + CAY_OWN_IDS; id++)
                if ((id >= first && id - first < count) ||
                    (id + CAY_OWN_IDS >= first && id + CAY_OWN_IDS - first < count))
                        cay_id_set_add(set, (uint32_t)id);
}

/* "name:first:count" or "name:x:id:…". */
static void read_line(struct cay_id_set *set, const char *line, unsigned field, bool has_count)
{
        uint64_t first, count = 1;
        char *end;

        for (unsigned i = 0; i < field; i++) {
                line = strchr(line, ':');
                if (!line)
                        return;
                line++;
        }
        if (!isdigit((unsigned char)*line))
                return;
        first = strtoull(line, &end, 10);
        if (has_count && *end == ':')
                count = strtoull(end + 1, NULL, 10);
        add(set, first, count);
}

void cay_own_id_read_given(struct cay_id_set *set, const char *path, unsigned field, bool has_count)
{
        FILE *f = fopen(path, "re");
        char line[LINE_BYTES];

        if (!f)
                return;                      /* a host without users */
        while (fgets(line, sizeof(line), f)) /* the rest of one that is longer has no such fields */
                read_line(set, line, field, has_count);
        fclose(f);
}
