/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/recording_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/utf8.h"

#define SLICE_BYTES (1024u * 1024) /* of a round */

static void on_slice(struct cay_timer *t);

static void soon(struct cay_recording_read *r)
{
        cay_timer_set(r->loop, &r->timer, 0, on_slice);
}

static void end(struct cay_recording_read *r)
{
        struct cay_error err = r->err;

        cay_timer_clear(&r->timer);
        if (r->is_open)
                cay_sealed_reader_close(&r->reader);
        r->is_open = false;
        r->on_end(r, &err);
}

/* 1: there may be more; 0: that was all; -1 with r->err. */
static int read_one(struct cay_recording_read *r, size_t *bytes)
{
        const uint8_t *entry;
        struct cay_item item;
        size_t len = 0;
        int n = cay_sealed_reader_next(&r->reader, &entry, &len);

        if (n == 0)
                return 0;
        if (n > 0)
                n = cay_item_decode(entry, len, &item);
        *bytes += len;
        if (n < 0)
                return cay_fail(&r->err, n == -EBADMSG ? CAY_DAMAGED : CAY_INTERNAL,
                                "the recording is damaged at entry %llu: it is not what was written",
                                (unsigned long long)r->reader.entry + 1);
        return r->on_item(r, &item, &r->err) < 0 ? -1 : 1;
}

static void on_slice(struct cay_timer *t)
{
        struct cay_recording_read *r = cay_container_of(t, struct cay_recording_read, timer);
        size_t bytes = 0;
        int n = 1;

        while (n > 0 && r->err.code == CAY_OK && !r->is_held && bytes < SLICE_BYTES) {
                n = read_one(r, &bytes);
                bytes += 256;
        }
        if (n <= 0 || r->err.code != CAY_OK)
                end(r);
        else if (!r->is_held)
                soon(r);
}

void cay_recording_read_begin(struct cay_recording_read *r, const struct cay_op_world *w,
                              const struct cay_viewer *v, const char *sandbox)
{
        r->loop = w->loop;
        r->is_open = cay_service_recording_read(w->service, v, sandbox, &r->reader, &r->err) == 0;
        soon(r);
}

void cay_recording_read_hold(struct cay_recording_read *r)
{
        r->is_held = true;
}

void cay_recording_read_go_on(struct cay_recording_read *r)
{
        if (!r->is_held)
                return;
        r->is_held = false;
        soon(r);
}

void cay_recording_read_cancel(struct cay_recording_read *r)
{
        if (r->err.code == CAY_OK)
                cay_fail(&r->err, CAY_UNAVAILABLE, "cancelled");
        r->is_held = false;
        soon(r);
}

/* A command */

int cay_recorded_exec_read(struct cay_item *item, struct cay_recorded_exec *ret, struct cay_error *err)
{
        const uint64_t *n = item->numbers;
        uint64_t words = n[6], env = n[7];

        *ret = (struct cay_recorded_exec){ .flags = n[0],
                                           .rows = n[1],
                                           .cols = n[2],
                                           .timeout_ms = n[3],
                                           .cpu_time_ms = n[4],
                                           .output_bytes = n[5],
                                           .hidden = (unsigned)n[8] };
        if (words == 0 || words > CAY_ITEM_TEXTS_MAX || env > CAY_ITEM_TEXTS_MAX ||
            n[8] > CAY_ITEM_TEXTS_MAX || item->text_count != 6 + words + 2 * env + n[8])
                return cay_fail(err, CAY_DAMAGED, "a command in the recording is not what was written");
        ret->argv = calloc(words + 1, sizeof(*ret->argv));
        ret->env = calloc(env + 1, sizeof(*ret->env));
        if (!ret->argv || !ret->env) {
                cay_recorded_exec_done(ret);
                return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        ret->id = cay_item_word(item);
        ret->cwd = cay_item_word(item);
        ret->user = cay_item_word(item);
        ret->term = cay_item_word(item);
        ret->context = cay_item_word(item);
        ret->language = cay_item_word(item);
        for (uint64_t i = 0; i < words; i++)
                ret->argv[i] = cay_item_word(item);
        for (uint64_t i = 0; i < env; i++) {
                ret->env[i].name = cay_item_word(item);
                ret->env[i].value = cay_item_word(item);
        }
        ret->env_count = (unsigned)env;
        return 0;
}

void cay_recorded_exec_done(struct cay_recorded_exec *x)
{
        free(x->argv);
        free(x->env);
        x->argv = NULL;
        x->env = NULL;
}

void cay_recorded_exec_title(const struct cay_recorded_exec *x, char *ret, size_t size)
{
        size_t at = 0;

        ret[0] = '\0';
        for (unsigned i = x->flags & CAY_RECORDING_LINE ? 2 : 0; x->argv[i] && at < size - 1; i++) {
                int n = snprintf(ret + at, size - at, "%s%s", at > 0 ? " " : "", x->argv[i]);

                at += n > 0 ? (size_t)n : 0;
        }
        ret[cay_utf8_cut(ret, strlen(ret))] = '\0';
}
