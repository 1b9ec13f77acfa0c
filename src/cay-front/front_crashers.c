/* SPDX-License-Identifier: Apache-2.0 */
/* Records which request the front works on. */
#include "cay-front/front_crashers.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/base/parse.h"

#define WORD_LONGEST                                                                                         \
        14u /* of a fixed path segment; longer segments and those with a digit are ids or names */

static int find_memory(char *const *words)
{
        uint64_t fd;

        for (; words[0] && words[1]; words++)
                if (strcmp(words[0], CAY_HAND_CRASHERS) == 0 && !words[2])
                        return cay_parse_u64(words[1], &fd) < 0 || fd > 1023 ? -1 : (int)fd;
        return -1;
}

void cay_front_crashers_open(struct cay_front_crashers *t, char *const *words)
{
        int fd = find_memory(words);
        void *at;

        *t = (struct cay_front_crashers){ 0 };
        if (fd < 0)
                return;
        at = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (at == MAP_FAILED)
                return;
        t->shared = at;
        memcpy(t->refused, t->shared->refused, sizeof(t->refused));
        t->until_ms = cay_clock_ms() + CAY_HAND_REFUSED_MS;
}

static bool is_id(const char *word, size_t len)
{
        return len > WORD_LONGEST || strcspn(word, "0123456789%") < len;
}

/* The path with "*" in place of ids and names. */
static void put_route(const char *path, char *ret, size_t size)
{
        size_t at = 0;

        while (*path && at + 2 < size) {
                size_t len;

                if (*path == '/') {
                        ret[at++] = *path++;
                        continue;
                }
                len = strcspn(path, "/");
                if (is_id(path, len) || at + len + 1 >= size) {
                        ret[at++] = '*';
                } else {
                        memcpy(ret + at, path, len);
                        at += len;
                }
                path += len;
        }
        ret[at] = '\0';
}

uint64_t cay_front_request_key(const struct cay_http_peer *peer, const char *method, const char *path,
                               char text[CAY_HAND_REQUEST_TEXT])
{
        uint64_t key = 0xcbf29ce484222325u;
        char route[64];

        put_route(path, route, sizeof(route));
        if (peer->is_unix)
                snprintf(text, CAY_HAND_REQUEST_TEXT, "%s %s of uid %u", method, route,
                         (unsigned)peer->cred.uid);
        else
                snprintf(text, CAY_HAND_REQUEST_TEXT, "%s %s of %s", method, route, peer->address);
        for (const char *c = text; *c; c++)
                key = (key ^ (uint8_t)*c) * 0x100000001b3u;
        return key ? key : 1;
}

void cay_front_crashers_begin(struct cay_front_crashers *t, const struct cay_http_request *req)
{
        if (!t->shared)
                return;
        if (req)
                t->shared->key = cay_front_request_key(&req->peer, cay_http_method_word(req->method),
                                                       req->target.path, t->shared->text);
        else
                *(volatile uint64_t *)&t->shared->key = 0;
}

bool cay_front_crashers_refuses(const struct cay_front_crashers *t, const struct cay_http_request *req)
{
        char text[CAY_HAND_REQUEST_TEXT];
        uint64_t key;

        if (!t->shared || t->refused[0] == 0 || cay_clock_ms() >= t->until_ms)
                return false;
        key = cay_front_request_key(&req->peer, cay_http_method_word(req->method), req->target.path, text);
        for (unsigned i = 0; i < CAY_HAND_REFUSED_MAX; i++)
                if (t->refused[i] == key)
                        return true;
        return false;
}
