/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the engines that the keeper runs. */
#include "cay-front/front_engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "engines/docker/docker.h"
#include "engines/native/native.h"
#include "engines/network/network_client.h"
#include "engines/process/process_link.h"
#include "engines/remote/remote.h"
#include "cay/keeper/hand_over.h"
#include "foundation/sys/unix_socket.h"

#define FD_MAX 1023
#define NETWORK_MS 5000 /* for cay-net to list its sandboxes */

/* How each engine is reached over the link to its helper. */
static int (*const opens[CAY_ENGINE_COUNT])(const struct cay_engine_env *env, int sock,
                                            struct cay_engine **ret, struct cay_error *err) = {
        [CAY_ENGINE_native] = cay_engine_native_open_link_take,
        [CAY_ENGINE_docker] = cay_engine_docker_open_link_take,
        [CAY_ENGINE_process] = cay_engine_process_open_link_take,
};

/* Reading */

static int read_engine(struct cay_front_engines *e, char *const *words)
{
        int nr = cay_engine_list_find(words[1]);

        if (nr < 0)
                return -1;
        e->rows[nr].runs = strcmp(words[2], CAY_HAND_RUNS) == 0;
        snprintf(e->rows[nr].note, sizeof(e->rows[nr].note), "%s", words[3]);
        return 0;
}

static int read_link(struct cay_front_engines *e, char *const *words)
{
        int nr = cay_helper_find(words[1]);
        uint64_t fd;

        if (nr < 0 || cay_parse_u64(words[2], &fd) < 0 || fd <= STDERR_FILENO || fd > FD_MAX)
                return -1;
        e->links[nr] = (int)fd;
        return 0;
}

static int skip(struct cay_front_engines *e, char *const *words)
{
        return 0;
}

static const struct group {
        const char *word;
        unsigned count; /* number of words, including this one */
        int (*read)(struct cay_front_engines *e, char *const *words);
} groups[] = {
        { CAY_HAND_ENGINE, 4, read_engine },
        { CAY_HAND_LINK, 3, read_link },
        { CAY_HAND_CRASHERS, 2, skip }, /* for front_crashers.c */
};

static const struct group *find_group(char *const *words)
{
        for (unsigned i = 0; i < CAY_COUNT(groups); i++) {
                if (strcmp(groups[i].word, words[0]) != 0)
                        continue;
                for (unsigned k = 1; k < groups[i].count; k++)
                        if (words[k] == NULL)
                                return NULL;
                return &groups[i];
        }
        return NULL;
}

int cay_front_engines_read(struct cay_front_engines *e, const char *setting, char *const *words,
                           struct cay_error *err)
{
        e->is_auto = strcmp(setting, "auto") == 0;
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                e->rows[i].name = cay_engine_infos[i].name;
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                e->links[i] = -1;
        while (words[0] != NULL) {
                const struct group *g = find_group(words);

                if (g == NULL || g->read(e, words) < 0)
                        return cay_fail(err, CAY_INVALID, "the keeper sent an unknown word '%.40s'",
                                        words[0]);
                words += g->count;
        }
        return 0;
}

/* Opening */

/* A part of this process: it needs no helper. */
static int open_own(struct cay_front_engines *e, unsigned nr, struct cay_loop *loop, struct cay_error *err)
{
        return e->rows[nr].runs ? cay_engine_remote_new(loop, &e->rows[nr].engine, err) : 0;
}

static int open_one(struct cay_front_engines *e, unsigned nr, struct cay_loop *loop, struct cay_error *err)
{
        const struct cay_helper_info *helper = &cay_helper_infos[cay_engine_infos[nr].helper];
        const struct cay_engine_env env = { .loop = loop };
        struct cay_front_engine *row = &e->rows[nr];
        int link = cay_take_fd(e->links[cay_engine_infos[nr].helper]);

        if (!row->runs) {
                if (link >= 0)
                        close(link);
                return 0;
        }
        if (link < 0 ? cay_fail(err, CAY_UNAVAILABLE, "the keeper gave no link") == 0
                     : opens[nr](&env, link, &row->engine, err) == 0)
                return 0;
        row->engine = NULL;
        cay_wrap(err, "reach %s", helper->who);
        snprintf(row->note, sizeof(row->note), "%s", err->msg);
        return -1;
}

static void note_name(struct cay_front_engines *e, const struct cay_front_engine *row)
{
        size_t len = strlen(e->names);

        snprintf(e->names + len, sizeof(e->names) - len, "%s%s", len > 0 ? " " : "", row->name);
        cay_log_info("engine is there", "engine=%s", row->name);
}

/*
 * All running engines must open. Exception: with `auto`, an isolating engine that opened is enough. Nothing
 * falls back to an engine without isolation.
 */
static int judge(struct cay_front_engines *e, const struct cay_error *first, struct cay_error *err)
{
        bool isolates = false;

        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                if (e->rows[i].engine == NULL)
                        continue;
                note_name(e, &e->rows[i]);
                isolates |= cay_engine_infos[i].start == CAY_ENGINE_START_AUTO;
        }
        if (first->code == CAY_OK || (e->is_auto && isolates))
                return 0;
        *err = *first;
        return -1;
}

/* Without cay-net there are no networks, but everything else works; the keeper restarts it. */
static int open_network(struct cay_front_engines *e, struct cay_loop *loop, struct cay_error *err)
{
        int link = cay_take_fd(e->links[CAY_HELPER_net]);
        struct cay_error why = { 0 };

        if (link < 0)
                return 0;
        if (cay_network_client_new(loop, &e->network, err) < 0) {
                close(link);
                return -1;
        }
        if (cay_network_client_open_take(e->network, link, &why) < 0)
                cay_log_warn("no networks for sandboxes", "error=%s", why.msg);
        else
                cay_network_client_await(e->network, NETWORK_MS);
        return 0;
}

int cay_front_engines_open(struct cay_front_engines *e, struct cay_loop *loop, struct cay_error *err)
{
        struct cay_error first = { 0 };

        if (open_network(e, loop, err) < 0)
                return -1;

        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                struct cay_error why = { 0 };

                if ((cay_engine_infos[i].helper == CAY_HELPER_none ? open_own : open_one)(e, i, loop, &why) ==
                    0)
                        continue;
                cay_log_warn("engine not opened", "engine=%s error=%s", e->rows[i].name, why.msg);
                if (first.code == CAY_OK)
                        first = why;
        }
        return judge(e, &first, err);
}

struct reopen { /* was handed a link; the next link may arrive before it has failed */
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

/* The helper that a link's message is for; -1: none. */
static int helper_of(const struct cay_hand_link *say)
{
        if (say->magic != CAY_HAND_MAGIC || say->size != sizeof(*say) ||
            !memchr(say->helper, 0, sizeof(say->helper)))
                return -1;
        return cay_helper_find(say->helper);
}

/* The engine that uses the link; NULL: none. */
static struct cay_front_engine *find_asked(struct cay_front_engines *e, int helper)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if ((int)cay_engine_infos[i].helper == helper && e->rows[i].engine != NULL &&
                    e->rows[i].engine->ops->reopen_take != NULL)
                        return &e->rows[i];
        return NULL;
}

static int hear_network_take(struct cay_front_engines *e, int link)
{
        struct cay_error err = { 0 };

        if (!e->network) {
                close(link);
                return -1;
        }
        if (cay_network_client_open_take(e->network, link, &err) < 0) {
                cay_log_error("the new cay-net cannot be used", "error=%s", err.msg);
                return -1;
        }
        return 1;
}

int cay_front_engines_hear(struct cay_front_engines *e, int sock)
{
        struct cay_hand_link say;
        char peek[sizeof(say) + 1]; /* other messages have other sizes */
        int fds[SYS_FDS_MAX];
        struct cay_front_engine *row;
        struct reopen *r;
        unsigned count = 0;
        int helper;
        ssize_t n = recv(sock, peek, sizeof(peek), MSG_PEEK | MSG_DONTWAIT);

        if (n != (ssize_t)sizeof(say))
                return 0;
        n = sys_recv_fds(sock, &say, sizeof(say), fds, &count, MSG_DONTWAIT);
        helper = n == (ssize_t)sizeof(say) && count == 1 ? helper_of(&say) : -1;
        if (helper == CAY_HELPER_net)
                return hear_network_take(e, fds[0]);
        row = find_asked(e, helper);
        r = row != NULL ? calloc(1, sizeof(*r)) : NULL;
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
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                struct cay_engine *engine = cay_take(e->rows[i].engine);

                if (engine != NULL)
                        engine->ops->close(engine);
        }
        cay_network_client_free(cay_take(e->network));
}

void cay_front_engines_fill(const struct cay_front_engines *e, struct cay_service_env *env)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                env->engines[i] =
                        (struct cay_service_engine){ e->rows[i].name, e->rows[i].engine, e->rows[i].note };
        env->engine_count = CAY_ENGINE_COUNT;
        env->network = e->network;
}

const char *cay_front_engines_default(const struct cay_front_engines *e)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (e->rows[i].engine != NULL)
                        return e->rows[i].name;
        return "";
}

const char *cay_front_engines_with(const struct cay_front_engines *e, unsigned cap)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (e->rows[i].engine != NULL && e->rows[i].engine->caps & cap)
                        return e->rows[i].name;
        return NULL;
}

void cay_front_engines_names_with(const struct cay_front_engines *e, unsigned cap, char *ret, size_t size)
{
        size_t len = 0;

        ret[0] = '\0';
        for (unsigned i = 0; i < CAY_ENGINE_COUNT && len < size; i++)
                if (e->rows[i].engine != NULL && e->rows[i].engine->caps & cap)
                        len += (size_t)snprintf(ret + len, size - len, "%s%s", len > 0 ? " " : "",
                                                e->rows[i].name);
}

const char *cay_front_engines_why_not(void *engines, const char *name)
{
        const struct cay_front_engines *e = engines;

        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (strcmp(e->rows[i].name, name) == 0 && e->rows[i].engine == NULL)
                        return e->rows[i].note;
        return NULL;
}
