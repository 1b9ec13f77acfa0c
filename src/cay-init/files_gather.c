/* SPDX-License-Identifier: Apache-2.0 */
/* Names gathered by a walk, then sorted. */
#include "cay-init/files_gather.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "links/box/message.h"

#define LOOK_EVERY 64u /* entries, at the clock */

struct gathering {
        struct cay_files_walk walk;
        struct cay_pattern_run run;
        char name[CAY_BOX_PATH_MAX + 1];
};

/* A slash sorts before everything else: then what is in a folder follows it. */
static int compare(const void *a, const void *b)
{
        const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

        while (*x && *x == *y) {
                x++;
                y++;
        }
        return (*x == '/' ? 1 : *x ? *x + 1 : 0) - (*y == '/' ? 1 : *y ? *y + 1 : 0);
}

static bool keep(struct cay_files_gather *g, const char *name, size_t len)
{
        if (g->count >= CAY_GATHER_NAMES || len + 1 > CAY_GATHER_BYTES - g->len)
                return false;
        memcpy(g->mem + g->len, name, len + 1);
        g->names[g->count++] = g->mem + g->len;
        g->len += len + 1;
        return true;
}

/* False: no more is kept. */
static bool take(struct cay_files_gather *g, struct gathering *s, const struct cay_files_gather_what *what)
{
        int len = cay_files_chain_join(&s->walk.chain, s->walk.name, s->name, sizeof(s->name) - 1);
        size_t end;

        if (len < 0) {
                g->passed++;
                return true;
        }
        if (what->files_only && s->walk.dtype != DT_REG && s->walk.dtype != DT_UNKNOWN)
                return true;
        if (what->glob && !cay_pattern_find(what->glob, &s->run, s->name, (size_t)len, true, true, &end))
                return true;
        if (keep(g, s->name, (size_t)len))
                return true;
        g->is_crowded = true;
        return false;
}

static int gather(struct cay_files_gather *g, struct gathering *s, const struct cay_files_gather_what *what)
{
        uint64_t seen = 0;
        int r;

        while ((r = cay_files_walk_next(&s->walk)) != CAY_FILES_END) {
                if (r < 0)
                        return r;
                if (r != CAY_FILES_ENTRY)
                        continue;
                if (++seen % LOOK_EVERY == 0 && cay_clock_ms() > what->until_ms) {
                        g->is_late = true;
                        return 0;
                }
                if (!take(g, s, what))
                        return 0;
                if (!what->is_recursive || (s->walk.dtype != DT_DIR && s->walk.dtype != DT_UNKNOWN))
                        continue;
                r = cay_files_walk_descend(&s->walk);
                if (r == -ENAMETOOLONG || r == -EACCES)
                        g->passed++;
                else if (r < 0 && r != -ENOTDIR && r != -ENOENT && r != -EXDEV)
                        return r;
        }
        return 0;
}

int cay_files_gather_take(struct cay_files_gather *g, int dir_fd, const struct cay_files_gather_what *what)
{
        cay_auto_free struct gathering *s = malloc(sizeof(*s));
        int r;

        *g = (struct cay_files_gather){ .names = malloc(CAY_GATHER_NAMES * sizeof(g->names[0])),
                                        .mem = malloc(CAY_GATHER_BYTES) };
        if (!s || !g->names || !g->mem) {
                close(dir_fd);
                return -ENOMEM;
        }
        r = cay_files_walk_init_take(&s->walk, dir_fd);
        if (r < 0)
                return r;
        r = gather(g, s, what);
        cay_files_walk_done(&s->walk);
        qsort(g->names, g->count, sizeof(g->names[0]), compare);
        return r;
}

void cay_files_gather_done(struct cay_files_gather *g)
{
        free(g->names);
        free(g->mem);
        *g = (struct cay_files_gather){ 0 };
}
