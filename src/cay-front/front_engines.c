/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what the keeper says that there is. */
#include "cay-front/front_engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "engines/docker/docker.h"
#include "engines/native/native.h"
#include "engines/process/process_link.h"
#include "cay/keeper/hand_over.h"
#include "foundation/sys/unix_socket.h"

/* How each is reached. */
static const struct kind {
        const char *name;
        const char *doing; /* for errors */
        int (*open_take)(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                         struct cay_error *err);
} kinds[] = {
        { "native", "reach the warden", cay_engine_native_open_link_take },
        { "docker", "reach cay-docker", cay_engine_docker_open_link_take },
        { "process", "reach cay-process", cay_engine_process_open_link_take },
};

#define FIRST_KINDS 2u /* that every keeper knows */
#define PROCESS_NOTE "the daemon's keeper is of before there was one: start the daemon anew"

static struct cay_front_engine *add(struct cay_front_engines *e, const char *name, bool runs,
                                    const char *note)
{
        struct cay_front_engine *row = &e->rows[e->count++];

        row->name = name;
        row->runs = runs;
        snprintf(row->note, sizeof(row->note), "%s", note);
        return row;
}

int cay_front_engines_read(struct cay_front_engines *e, const char *setting, char *const *words,
                           struct cay_error *err)
{
        bool has_words = words[0] != NULL;

        e->is_auto = strcmp(setting, "auto") == 0;
        for (unsigned i = 0; i < CAY_COUNT(kinds); i++) {
                if (words[0] == NULL) { /* an older keeper, of before there was this one, or any words */
                        bool by_setting =
                                i < FIRST_KINDS && !has_words &&
                                (strcmp(setting, "docker") == 0) == (strcmp(kinds[i].name, "docker") == 0);

                        add(e, kinds[i].name, by_setting, i < FIRST_KINDS ? "" : PROCESS_NOTE);
                        e->keeper_is_old = true;
                        continue;
                }
                if (words[1] == NULL || words[2] == NULL || strcmp(words[0], kinds[i].name) != 0)
                        return cay_fail(err, CAY_INVALID,
                                        "what the keeper says of engines is not understood");
                add(e, kinds[i].name, strcmp(words[1], CAY_HAND_RUNS) == 0, words[2]);
                words += 3;
        }
        return 0;
}

static int open_one(struct cay_front_engine *row, const struct kind *kind, struct cay_loop *loop, int link,
                    struct cay_error *err)
{
        const struct cay_engine_env env = { .loop = loop };

        if (!row->runs)
                return 0;
        if (kind->open_take(&env, link, &row->engine, err) == 0)
                return 0;
        row->engine = NULL;
        cay_wrap(err, "%s", kind->doing);
        snprintf(row->note, sizeof(row->note), "%s", err->msg);
        return -1;
}

static void note_name(struct cay_front_engines *e, const struct cay_front_engine *row)
{
        size_t len = strlen(e->names);

        snprintf(e->names + len, sizeof(e->names) - len, "%s%s", len > 0 ? " " : "", row->name);
        cay_log_info("engine is there", "engine=%s", row->name);
}

/* All that run have to come, unless the setting leaves it to us and one that isolates has: nothing falls back to what does not. */
static int judge(struct cay_front_engines *e, const struct cay_error *first, struct cay_error *err)
{
        bool isolates = false;

        for (unsigned i = 0; i < e->count; i++) {
                if (e->rows[i].engine == NULL)
                        continue;
                note_name(e, &e->rows[i]);
                isolates |= !(e->rows[i].engine->ops->lacks & CAY_ENGINE_LACKS_ISOLATION);
        }
        if (first->code == CAY_OK || (e->is_auto && isolates))
                return 0;
        *err = *first;
        return -1;
}

int cay_front_engines_open(struct cay_front_engines *e, struct cay_loop *loop, int first_link,
                           struct cay_error *err)
{
        struct cay_error first = { 0 };
        int next = first_link;

        if (!e->rows[0].runs)
                close(CAY_HAND_WARDEN); /* which leads nowhere */
        for (unsigned i = 0; i < CAY_COUNT(kinds); i++) {
                struct cay_error why = { 0 };
                int link = i == 0 ? CAY_HAND_WARDEN : e->rows[i].runs ? next++ : -1;

                if (open_one(&e->rows[i], &kinds[i], loop, link, &why) == 0)
                        continue;
                cay_log_warn("engine not opened", "engine=%s error=%s", e->rows[i].name, why.msg);
                if (first.code == CAY_OK)
                        first = why;
        }
        return judge(e, &first, err);
}

struct reopen { /* one that was handed a link; there may be the next one before it has failed */
        struct cay_job job;
        struct cay_front_engines *all;
        const char *name;
};

static void on_reopened(struct cay_job *job)
{
        struct reopen *r = cay_container_of(job, struct reopen, job);

        r->all->on_back(r->all, r->name, &job->err);
        free(r);
}

int cay_front_engines_hear(struct cay_front_engines *e, int sock)
{
        struct cay_hand_engine say;
        char peek[sizeof(say) + 1]; /* others' messages have other sizes */
        int fds[SYS_FDS_MAX];
        struct cay_front_engine *row;
        struct reopen *r;
        unsigned count = 0;
        ssize_t n = recv(sock, peek, sizeof(peek), MSG_PEEK | MSG_DONTWAIT);

        if (n != (ssize_t)sizeof(say))
                return 0;
        n = sys_recv_fds(sock, &say, sizeof(say), fds, &count, MSG_DONTWAIT);
        row = n == (ssize_t)sizeof(say) && say.engine < e->count ? &e->rows[say.engine] : NULL;
        r = row != NULL && say.magic == CAY_HAND_MAGIC && say.size == sizeof(say) && count == 1 &&
                            row->engine != NULL && row->engine->ops->reopen_take != NULL
                    ? calloc(1, sizeof(*r))
                    : NULL;
        if (r == NULL) {
                if (n >= 0)
                        sys_close_fds(fds, count);
                return -1;
        }
        r->all = e;
        r->name = row->name;
        cay_job_init(&r->job, on_reopened);
        row->engine->ops->reopen_take(row->engine, fds[0], &r->job);
        return 1;
}

void cay_front_engines_close(struct cay_front_engines *e)
{
        for (unsigned i = 0; i < e->count; i++) {
                struct cay_engine *engine = cay_take(e->rows[i].engine);

                if (engine != NULL)
                        engine->ops->close(engine);
        }
}

void cay_front_engines_fill(const struct cay_front_engines *e, struct cay_service_env *env)
{
        for (unsigned i = 0; i < e->count; i++)
                env->engines[i] =
                        (struct cay_service_engine){ e->rows[i].name, e->rows[i].engine, e->rows[i].note };
        env->engine_count = e->count;
}

const char *cay_front_engines_default(const struct cay_front_engines *e)
{
        for (unsigned i = 0; i < e->count; i++)
                if (e->rows[i].engine != NULL)
                        return e->rows[i].name;
        return "";
}

const char *cay_front_engines_with(const struct cay_front_engines *e, unsigned cap)
{
        for (unsigned i = 0; i < e->count; i++)
                if (e->rows[i].engine != NULL && e->rows[i].engine->caps & cap)
                        return e->rows[i].name;
        return NULL;
}

const char *cay_front_engines_why_not(void *engines, const char *name)
{
        const struct cay_front_engines *e = engines;

        for (unsigned i = 0; i < e->count; i++)
                if (strcmp(e->rows[i].name, name) == 0 && e->rows[i].engine == NULL)
                        return e->rows[i].note;
        return NULL;
}
