/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged output: which bytes, as far as they were read. Damage is found by reads (spool.h) and then stored
 * in the command's record.
 */
#include <inttypes.h>

#include "foundation/base/parse.h"
#include "domain/sandboxes/service_priv.h"

/*
 * Adjacent ranges are merged. If there are too many, the two nearest are merged, which reports too much
 * rather than too little.
 */
static void merge(struct cay_exec *x)
{
        struct cay_exec_lost *l = x->lost;
        unsigned i = 1;

        while (i < x->lost_count) {
                if (l[i].from > l[i - 1].to) {
                        i++;
                        continue;
                }
                if (l[i].to > l[i - 1].to)
                        l[i - 1].to = l[i].to;
                memmove(&l[i], &l[i + 1], (x->lost_count - i - 1) * sizeof(*l));
                x->lost_count--;
        }
}

static void join_nearest(struct cay_exec *x)
{
        unsigned at = 1;

        for (unsigned i = 2; i < x->lost_count; i++)
                if (x->lost[i].from - x->lost[i - 1].to < x->lost[at].from - x->lost[at - 1].to)
                        at = i;
        x->lost[at].from = x->lost[at - 1].to;
        merge(x);
}

static bool is_noted(const struct cay_exec *x, uint64_t from, uint64_t to)
{
        for (unsigned i = 0; i < x->lost_count; i++)
                if (x->lost[i].from <= from && to <= x->lost[i].to)
                        return true;
        return false;
}

static void add(struct cay_exec *x, uint64_t from, uint64_t to)
{
        unsigned i = 0;

        while (i < x->lost_count && x->lost[i].from < from)
                i++;
        memmove(&x->lost[i + 1], &x->lost[i], (x->lost_count - i) * sizeof(x->lost[0]));
        x->lost[i] = (struct cay_exec_lost){ .from = from, .to = to };
        x->lost_count++;
        merge(x);
        if (x->lost_count > CAY_SERVICE_LOST_MAX)
                join_nearest(x);
}

int cay_exec_fail_lost(struct cay_exec *x, uint64_t from, uint64_t to, struct cay_error *err)
{
        if (from < to && !is_noted(x, from, to)) {
                cay_log_error("output of a command is damaged on the disk: these bytes of it are lost",
                              "exec=%s sandbox=%s from=%" PRIu64 " to=%" PRIu64, x->id, x->sandbox_id, from,
                              to);
                add(x, from, to);
                x->dirty = true; /* a running command stores it with its end */
                if (x->sandbox != NULL && cay_exec_is_ended(x))
                        cay_exec_store_again(x);
        }
        if (from >= to) /* the amount was not recorded */
                return cay_fail(
                        err, CAY_DAMAGED,
                        "the output of exec '%s' is lost: its file in the daemon's data folder is damaged",
                        x->id);
        return cay_fail(err, CAY_DAMAGED,
                        "bytes %" PRIu64 " to %" PRIu64 " of the output of exec '%s' are lost: their file in "
                        "the daemon's data folder is damaged; what follows is at cursor %" PRIu64,
                        from, to, x->id, to);
}

void cay_exec_lost_text(const struct cay_exec *x, char ret[CAY_SERVICE_LOST_TEXT])
{
        size_t len = 0;

        ret[0] = '\0';
        for (unsigned i = 0; i < x->lost_count; i++)
                len += (size_t)snprintf(ret + len, CAY_SERVICE_LOST_TEXT - len, "%s%" PRIu64 " %" PRIu64,
                                        i > 0 ? " " : "", x->lost[i].from, x->lost[i].to);
}

static bool take_number(const char **at, uint64_t *ret)
{
        size_t len = strcspn(*at, " ");
        char number[24];

        if (len == 0 || len >= sizeof(number))
                return false;
        memcpy(number, *at, len);
        number[len] = '\0';
        *at += len + ((*at)[len] == ' ');
        return cay_parse_u64(number, ret) == 0;
}

void cay_exec_lost_read(struct cay_exec *x, const char *text)
{
        uint64_t from, to;

        while (take_number(&text, &from) && take_number(&text, &to) && from < to)
                add(x, from, to);
}
