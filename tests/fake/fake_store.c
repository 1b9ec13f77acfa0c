/* SPDX-License-Identifier: Apache-2.0 */
/* Records as copies in lists; a table says where a kind's texts are. */
#include "fake/fake_store.h"

#include <assert.h>

#include "foundation/loop/loop.h"

#define TEXTS_MAX 11

struct fake_record {
        struct fake_record *next;
        _Alignas(max_align_t) char bytes[];
};

struct op {
        struct op *next;
        enum cay_store_kind kind;
        struct fake_record *put; /* NULL: a drop */
        char *drop;
};

struct cay_store_batch {
        struct fake_store *fs;
        struct op *ops, **tail;
};

struct fake_waiting {
        struct fake_waiting *next;
        struct cay_job *job;
};

#define T(type, member) (offsetof(struct cay_store_##type, member) + 1)

static const struct {
        size_t size;
        size_t texts[TEXTS_MAX]; /* offsets + 1; the first is the id */
} kinds[CAY_STORE_KIND_COUNT] = {
        [CAY_STORE_SANDBOX] = { sizeof(struct cay_store_sandbox),
                                { T(sandbox, id), T(sandbox, name), T(sandbox, owner),
                                  T(sandbox, template_name), T(sandbox, engine), T(sandbox, labels),
                                  T(sandbox, metadata), T(sandbox, env), T(sandbox, spec), T(sandbox, state),
                                  T(sandbox, cause) } },
        [CAY_STORE_EXEC] = { sizeof(struct cay_store_exec),
                             { T(exec, id), T(exec, sandbox), T(exec, argv), T(exec, spec), T(exec, state),
                               T(exec, cause), T(exec, cause_text) } },
        [CAY_STORE_CLAIM] = { sizeof(struct cay_store_claim),
                              { T(claim, key), T(claim, owner), T(claim, result) } },
        [CAY_STORE_KEY] = { sizeof(struct cay_store_key), { T(key, id), T(key, owner), T(key, label) } },
        [CAY_STORE_EVENT] = { sizeof(struct cay_store_event),
                              { T(event, kind), T(event, sandbox), T(event, owner), T(event, detail) } },
        [CAY_STORE_VALUE] = { sizeof(struct cay_store_value), { T(value, name), T(value, value) } },
};

static const char **text_at(const struct fake_record *r, enum cay_store_kind kind, unsigned i)
{
        size_t at = kinds[kind].texts[i];

        return at > 0 ? (const char **)(void *)((char *)r->bytes + at - 1) : NULL;
}

static const char *id_of(const struct fake_record *r, enum cay_store_kind kind)
{
        return *text_at(r, kind, 0);
}

static char *dup_text(const char *text)
{
        char *copy = strdup(text != NULL ? text : "");

        assert(copy != NULL);
        return copy;
}

static const char **cause_text_of(const struct fake_record *r, enum cay_store_kind kind)
{
        return kind == CAY_STORE_SANDBOX ? &((struct cay_store_sandbox *)(void *)r->bytes)->cause_text : NULL;
}

static struct fake_record *copy(enum cay_store_kind kind, const void *record)
{
        struct fake_record *r = calloc(1, sizeof(*r) + kinds[kind].size);

        assert(r != NULL);
        memcpy(r->bytes, record, kinds[kind].size);
        for (unsigned i = 0; i < TEXTS_MAX && text_at(r, kind, i) != NULL; i++)
                *text_at(r, kind, i) = dup_text(*text_at(r, kind, i));
        if (cause_text_of(r, kind) != NULL)
                *cause_text_of(r, kind) = dup_text(*cause_text_of(r, kind));
        return r;
}

static void record_free(struct fake_record *r, enum cay_store_kind kind)
{
        if (r == NULL)
                return;
        for (unsigned i = 0; i < TEXTS_MAX && text_at(r, kind, i) != NULL; i++)
                free((char *)*text_at(r, kind, i));
        if (cause_text_of(r, kind) != NULL)
                free((char *)*cause_text_of(r, kind));
        free(r);
}

static struct fake_store *self(const struct cay_store *s)
{
        return cay_container_of((struct cay_store *)s, struct fake_store, store);
}

static struct cay_store_batch *begin(struct cay_store *s)
{
        struct cay_store_batch *b = calloc(1, sizeof(*b));

        assert(b != NULL);
        b->fs = self(s);
        b->tail = &b->ops;
        return b;
}

static struct op *add(struct cay_store_batch *b, enum cay_store_kind kind)
{
        struct op *op = calloc(1, sizeof(*op));

        assert(op != NULL);
        op->kind = kind;
        *b->tail = op;
        b->tail = &op->next;
        return op;
}

static void put(struct cay_store_batch *b, enum cay_store_kind kind, const void *record)
{
        add(b, kind)->put = copy(kind, record);
}

static void drop(struct cay_store_batch *b, enum cay_store_kind kind, const char *id)
{
        add(b, kind)->drop = dup_text(id);
}

static void abandon(struct cay_store_batch *b)
{
        if (b == NULL)
                return;
        while (b->ops != NULL) {
                struct op *op = b->ops;

                b->ops = op->next;
                record_free(op->put, op->kind);
                free(op->drop);
                free(op);
        }
        free(b);
}

static struct fake_record **find(struct fake_store *fs, enum cay_store_kind kind, const char *id)
{
        struct fake_record **at = &fs->records[kind];

        while (*at != NULL && strcmp(id_of(*at, kind), id) != 0)
                at = &(*at)->next;
        return at;
}

static struct fake_record **find_claim(struct fake_store *fs, const char *owner, const char *key)
{
        struct fake_record **at = &fs->records[CAY_STORE_CLAIM];

        for (; *at != NULL; at = &(*at)->next) {
                const struct cay_store_claim *c = (void *)(*at)->bytes;

                if (strcmp(c->owner, owner) == 0 && strcmp(c->key, key) == 0)
                        break;
        }
        return at;
}

static void remove_at(struct fake_record **at, enum cay_store_kind kind)
{
        struct fake_record *r = *at;

        if (r == NULL)
                return;
        *at = r->next;
        record_free(r, kind);
}

static void drop_execs(struct fake_store *fs, const char *sandbox)
{
        struct fake_record **at = &fs->records[CAY_STORE_EXEC];

        while (*at != NULL) {
                const struct cay_store_exec *x = (void *)(*at)->bytes;

                if (strcmp(x->sandbox, sandbox) == 0)
                        remove_at(at, CAY_STORE_EXEC);
                else
                        at = &(*at)->next;
        }
}

/* In place, or at the end: order is that of the first put. */
static void apply_put(struct fake_store *fs, struct op *op, struct cay_store_commit *c)
{
        struct fake_record **at;

        if (op->kind == CAY_STORE_EVENT) {
                struct cay_store_event *e = (void *)op->put->bytes;

                e->seq = c->seq = ++fs->seq;
                e->at_ms = fs->now_ms;
                at = &fs->records[op->kind];
                while (*at != NULL)
                        at = &(*at)->next;
        } else {
                at = op->kind == CAY_STORE_CLAIM ? find_claim(fs, "", "")
                                                 : find(fs, op->kind, id_of(op->put, op->kind));
        }
        op->put->next = NULL;
        if (*at != NULL) {
                op->put->next = (*at)->next;
                record_free(*at, op->kind);
        }
        *at = op->put;
        op->put = NULL;
}

static bool is_taken(struct cay_store_batch *b, struct cay_store_commit *c)
{
        for (const struct op *op = b->ops; op != NULL; op = op->next) {
                const struct cay_store_claim *mine, *first;
                struct fake_record **at;

                if (op->kind != CAY_STORE_CLAIM || op->put == NULL)
                        continue;
                mine = (void *)op->put->bytes;
                at = find_claim(b->fs, mine->owner, mine->key);
                if (*at == NULL)
                        continue;
                first = (void *)(*at)->bytes;
                snprintf(c->first, sizeof(c->first), "%s", first->result);
                return true;
        }
        return false;
}

static void finish(struct fake_store *fs, struct cay_job *job, const struct cay_error *err)
{
        struct fake_waiting *w, **at = &fs->waiting;

        if (!fs->hold) {
                cay_job_finish(cay_loop_jobs(fs->loop), job, err->code != CAY_OK ? err : NULL);
                return;
        }
        w = calloc(1, sizeof(*w));
        assert(w != NULL);
        job->err = *err;
        w->job = job;
        while (*at != NULL)
                at = &(*at)->next;
        *at = w;
}

static void commit(struct cay_store *s, struct cay_store_batch *b, enum cay_store_how how,
                   struct cay_store_commit *c)
{
        struct fake_store *fs = self(s);
        struct cay_error err = { 0 };

        c->first[0] = '\0';
        c->seq = 0;
        if (fs->fail_count > 0) {
                fs->fail_count--;
                cay_fail(&err, fs->fail_with, "fake store: commit");
        } else if (is_taken(b, c)) {
                cay_fail(&err, CAY_EXISTS, "fake store: claim");
        } else {
                fs->commits++;
                for (struct op *op = b->ops; op != NULL; op = op->next) {
                        if (op->put != NULL) {
                                apply_put(fs, op, c);
                                continue;
                        }
                        if (op->kind == CAY_STORE_SANDBOX)
                                drop_execs(fs, op->drop);
                        remove_at(find(fs, op->kind, op->drop), op->kind);
                }
        }
        abandon(b);
        finish(fs, &c->job, &err);
}

static const char *member(const struct fake_record *r, enum cay_store_kind kind, bool owner)
{
        if (kind == CAY_STORE_EVENT) {
                const struct cay_store_event *e = (const void *)r->bytes;

                return owner ? e->owner : e->sandbox;
        }
        if (kind == CAY_STORE_EXEC)
                return owner ? NULL : ((const struct cay_store_exec *)(const void *)r->bytes)->sandbox;
        if (kind == CAY_STORE_CLAIM)
                return owner ? ((const struct cay_store_claim *)(const void *)r->bytes)->owner : NULL;
        return NULL;
}

static bool takes(const struct cay_store_query *q, const struct fake_record *r)
{
        const char *owner = member(r, q->kind, true), *sandbox = member(r, q->kind, false);
        const struct cay_store_event *e = (const void *)r->bytes;

        if (q->id != NULL && strcmp(q->id, id_of(r, q->kind)) != 0)
                return false;
        if ((q->owner != NULL && owner != NULL && strcmp(q->owner, owner) != 0) ||
            (q->sandbox != NULL && sandbox != NULL && strcmp(q->sandbox, sandbox) != 0))
                return false;
        if (q->kind != CAY_STORE_EVENT)
                return true;
        return e->seq > q->after && (q->before == 0 || e->seq < q->before);
}

static void query(struct cay_store *s, struct cay_store_query *q)
{
        struct fake_store *fs = self(s);
        unsigned max = q->max > 0 && q->max < CAY_STORE_ROWS_MAX ? q->max : CAY_STORE_ROWS_MAX;
        static const struct cay_error fine = { 0 };

        cay_arena_init(&q->mem, 1u << 20);
        q->rows = cay_arena_array(&q->mem, max, sizeof(*q->rows));
        q->count = 0;
        for (const struct fake_record *r = fs->records[q->kind]; r != NULL && q->count < max; r = r->next) {
                struct fake_record *mine;

                if (!takes(q, r))
                        continue;
                mine = cay_arena_alloc(&q->mem, sizeof(*mine) + kinds[q->kind].size);
                memcpy(mine->bytes, r->bytes, kinds[q->kind].size);
                for (unsigned i = 0; i < TEXTS_MAX && text_at(mine, q->kind, i) != NULL; i++)
                        *text_at(mine, q->kind, i) = cay_arena_copy(&q->mem, *text_at(r, q->kind, i),
                                                                    strlen(*text_at(r, q->kind, i)));
                q->rows[q->count++] = mine->bytes;
        }
        finish(fs, &q->job, &fine);
}

static int load(struct cay_store *s, enum cay_store_kind kind, bool (*each)(void *ctx, const void *record),
                void *ctx, struct cay_error *err)
{
        for (const struct fake_record *r = self(s)->records[kind]; r != NULL; r = r->next)
                if (!each(ctx, r->bytes))
                        break;
        return 0;
}

static uint64_t now_ms(const struct cay_store *s)
{
        return self(s)->now_ms;
}

static void health(struct cay_store *s, struct cay_store_health *ret)
{
        *ret = (struct cay_store_health){ .commits = self(s)->commits };
}

static void close_store(struct cay_store *s)
{
        if (s != NULL)
                fake_store_free(self(s));
}

static const struct cay_store_ops ops = {
        .begin = begin,
        .put = put,
        .drop = drop,
        .abandon = abandon,
        .commit = commit,
        .query = query,
        .load = load,
        .now_ms = now_ms,
        .health = health,
        .close = close_store,
};

struct fake_store *fake_store_new(struct cay_loop *loop)
{
        struct fake_store *fs = calloc(1, sizeof(*fs));

        assert(fs != NULL);
        fs->store.ops = &ops;
        fs->loop = loop;
        fs->now_ms = 1000;
        return fs;
}

void fake_store_let_go(struct fake_store *fs)
{
        fs->hold = false;
        while (fs->waiting != NULL) {
                struct fake_waiting *w = fs->waiting;

                fs->waiting = w->next;
                finish(fs, w->job, &w->job->err);
                free(w);
        }
}

void fake_store_free(struct fake_store *fs)
{
        fake_store_let_go(fs);
        for (unsigned kind = 0; kind < CAY_STORE_KIND_COUNT; kind++)
                while (fs->records[kind] != NULL)
                        remove_at(&fs->records[kind], kind);
        free(fs);
}

unsigned fake_store_count(const struct fake_store *fs, enum cay_store_kind kind)
{
        unsigned count = 0;

        for (const struct fake_record *r = fs->records[kind]; r != NULL; r = r->next)
                count++;
        return count;
}

const void *fake_store_find(const struct fake_store *fs, enum cay_store_kind kind, const char *id)
{
        const void *found = NULL;

        for (const struct fake_record *r = fs->records[kind]; r != NULL; r = r->next)
                if (strcmp(id_of(r, kind), id) == 0)
                        found = r->bytes;
        return found;
}
