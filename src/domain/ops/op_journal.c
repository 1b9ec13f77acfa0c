/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_verify: is the journal of a sandbox what was written? Its events are a chain of hashes
 * (domain/auth/journal_chain.h). All that are kept are read, in pages, and each hash is computed again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/auth/journal_chain.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

#define HEX (2 * CAY_DIGEST_SIZE)
#define PAGE CAY_STORE_ROWS_MAX

_Static_assert(CAY_DIGEST_SIZE == CAY_STORE_HASH, "one kind of hash");

struct journal_args {
        const char *id, *head;
};

static const struct cay_field journal_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct journal_args, id), 0,
          "id or name of the sandbox; the id of one that was destroyed", .min = 1, .max = CAY_NAME_MAX },
        { "head", CAY_FIELD_TEXT, offsetof(struct journal_args, head), 0,
          "a hash that an earlier check gave: it must be in the journal", .min = HEX, .max = HEX },
        {},
};

struct check {
        struct cay_store_query query;
        struct cay_viewer viewer; /* its owner is the call's */
        struct cay_op_call *call;
        char id[CAY_NAME_MAX + 1];
        uint64_t count, unchained, first_seq, last_seq, broken_seq;
        uint8_t head[CAY_DIGEST_SIZE], wanted[CAY_DIGEST_SIZE];
        bool has_wanted; /* not found yet */
        bool is_chained; /* the chain has begun */
        const char *why; /* it is broken; NULL: whole so far */
};

static bool is_zero(const uint8_t hash[CAY_DIGEST_SIZE])
{
        static const uint8_t zero[CAY_DIGEST_SIZE];

        return memcmp(hash, zero, sizeof(zero)) == 0;
}

static int digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hash(const char *text, uint8_t ret[CAY_DIGEST_SIZE])
{
        for (unsigned i = 0; i < CAY_DIGEST_SIZE; i++) {
                int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

                if (low < 0)
                        return false;
                ret[i] = (uint8_t)(high << 4 | low);
        }
        return text[HEX] == '\0';
}

/* What is wrong with this event behind the one before it; NULL: nothing. */
static const char *find_fault(const struct check *k, const struct cay_store_event *e)
{
        const struct cay_chain_event what = { .sandbox = e->sandbox,
                                              .owner = e->owner,
                                              .kind = e->kind,
                                              .detail = e->detail,
                                              .wall_ms = e->wall_ms };
        uint8_t hash[CAY_DIGEST_SIZE];

        if (is_zero(e->hash))
                return k->is_chained ? "the event has no hash" : NULL;
        if (k->is_chained && memcmp(e->before, k->head, sizeof(k->head)) != 0)
                return "an event is missing before this one, or was added";
        if (cay_chain_hash(e->before, &what, hash) < 0)
                return "no memory to compute its hash";
        return memcmp(hash, e->hash, sizeof(hash)) == 0 ? NULL : "the event was changed";
}

static void look_at(struct check *k, const struct cay_store_event *e)
{
        k->why = find_fault(k, e);
        if (k->why) {
                k->broken_seq = e->seq;
                return;
        }
        if (k->count++ == 0)
                k->first_seq = e->seq;
        k->last_seq = e->seq;
        if (is_zero(e->hash)) {
                k->unchained++;
                return;
        }
        k->is_chained = true;
        memcpy(k->head, e->hash, sizeof(k->head));
        if (k->has_wanted && memcmp(k->wanted, e->hash, sizeof(k->wanted)) == 0)
                k->has_wanted = false;
}

/* err stays untouched where nothing is wrong. */
static void find_damage(const struct check *k, struct cay_error *err)
{
        if (k->why)
                cay_fail(err, CAY_DAMAGED,
                         "the journal of '%s' is not what was written: event %" PRIu64 ": %s", k->id,
                         k->broken_seq, k->why);
        else if (k->count == 0)
                cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no journal here", k->id);
        else if (k->has_wanted)
                cay_fail(err, CAY_DAMAGED,
                         "head: is not in the journal of '%s': its end was cut off, or it was rewritten, "
                         "or the event "
                         "was too old to be kept",
                         k->id);
}

static void answer(struct check *k)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, k->call);
        cay_op_key_text(&o.j, "sandbox_id", k->id);
        cay_op_key_u64(&o.j, "events", k->count);
        cay_op_key_u64(&o.j, "unchained", k->unchained);
        cay_op_key_u64(&o.j, "first_seq", k->first_seq);
        cay_op_key_u64(&o.j, "last_seq", k->last_seq);
        cay_op_put_hash(&o.j, "head", k->head);
        cay_op_result_answer(&o, k->call, CAY_OP_OK);
}

static void on_rows(struct cay_job *job);

static void ask(struct check *k)
{
        k->query = (struct cay_store_query){ .after = k->last_seq, .max = PAGE };
        cay_job_init(&k->query.job, on_rows);
        cay_service_events(k->call->world->service, &k->viewer, k->id, &k->query);
}

static void on_rows(struct cay_job *job)
{
        struct check *k = cay_container_of(job, struct check, query.job);
        bool has_more = k->query.count == PAGE;
        struct cay_error err = job->err;

        for (unsigned i = 0; err.code == CAY_OK && i < k->query.count && !k->why; i++)
                look_at(k, k->query.rows[i]);
        cay_store_query_done(&k->query);
        if (err.code == CAY_OK && has_more && !k->why) {
                ask(k);
                return;
        }
        if (err.code == CAY_OK)
                find_damage(k, &err);
        if (err.code != CAY_OK)
                cay_op_fail(k->call, &err, err.code == CAY_NOT_FOUND ? "id" : NULL);
        else
                answer(k);
        free(k);
}

static void run_verify(struct cay_op_call *c)
{
        const struct journal_args *a = c->args;
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct check *k = cay_op_alloc(c, sizeof(*k));

        if (!k)
                return;
        k->call = c;
        k->viewer = cay_op_viewer(c);
        k->has_wanted = a->head != NULL;
        if (a->head && !read_hash(a->head, k->wanted)) {
                cay_fail(&err, CAY_INVALID, "head: must be %u hexadecimal digits, in lower case", HEX);
                cay_op_fail(c, &err, "head");
                free(k);
                return;
        }
        /* By its name, while it is there; its journal outlives it. */
        if (cay_service_get(c->world->service, &k->viewer, a->id, &view, &err) == 0)
                snprintf(k->id, sizeof(k->id), "%s", view.id);
        else
                snprintf(k->id, sizeof(k->id), "%s", a->id);
        ask(k);
}

RESULT(result_verify, "JournalCheck", TEXT("sandbox_id"), NUMBER("events"), NUMBER("unchained"),
       NUMBER("first_seq"), NUMBER("last_seq"), MAYBE("head", TEXT));

const struct cay_op cay_op_journal_verify = {
        .name = "journal_verify",
        .route = "GET /api/sandboxes/{id}/journal/check",
        .doc = "Checks that the journal of a sandbox is what was written: each event's hash covers the event "
               "and the hash "
               "before it. What was changed is an error (damaged). The answer's head, kept elsewhere, also "
               "shows later that the end was not cut off",
        .scope = CAY_SCOPE_READ,
        .fields = journal_fields,
        .args_size = sizeof(struct journal_args),
        .result = &result_verify,
        .verb = CAY_OP_VERB(
                "journal verify", "id",
                "Checks that the journal of a sandbox is what was written. Keep the head that it prints\n"
                "elsewhere: with --head it is looked for later, so that a cut end is noticed too.",
                "events=events first=first_seq last=last_seq head=head"),
        .run = run_verify,
};
