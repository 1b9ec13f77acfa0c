/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the network refused, or could not reach, while a command ran.
 *
 * Theory of operation. The broker tells each entry of its log as it is written; the commands that run in that
 * sandbox note it. Before a command is judged the broker is asked something: its answers come in order, so
 * that all it wrote before is here. What came of it is stored with the command's end. Of a sandbox without a
 * network there is no log: then the end of the command's output says whether that was why it failed
 * (domain/network/complaint.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "domain/network/complaint.h"
#include "domain/network/policy.h"
#include "domain/sandboxes/service_priv.h"

#define TAIL_BYTES 8192u
#define SETTLE_MS 2000u /* cay-net answers in less than a millisecond; a hint is not worth more */

static struct cay_exec_network *network_of(struct cay_exec *x)
{
        if (x->network == NULL)
                x->network = calloc(1, sizeof(*x->network));
        return x->network;
}

static void note_allowed(struct cay_exec *x, const char *host, unsigned port)
{
        struct cay_exec_network *n = network_of(x);

        if (n == NULL || host[0] == '\0')
                return;
        for (unsigned i = 0; i < n->allowed_count; i++) {
                if (n->allowed[i].port == port && strcmp(n->allowed[i].host, host) == 0) {
                        n->allowed[i].count++;
                        return;
                }
        }
        if (n->allowed_count == CAY_EXEC_BLOCKED_MAX)
                return;
        n->allowed[n->allowed_count] = (struct cay_exec_blocked){ .port = port, .count = 1 };
        cay_str_copy(n->allowed[n->allowed_count++].host, sizeof(n->allowed[0].host), host);
}

static void add(struct cay_exec *x, const char *host, unsigned port, uint64_t count, bool is_failure)
{
        struct cay_exec_network *n = network_of(x);

        if (n == NULL || host[0] == '\0')
                return;
        for (unsigned i = 0; i < n->count; i++) {
                struct cay_exec_blocked *b = &n->items[i];

                if (b->port == port && b->is_failure == is_failure && strcmp(b->host, host) == 0) {
                        b->count += count;
                        return;
                }
        }
        if (n->count == CAY_EXEC_BLOCKED_MAX)
                return;
        n->items[n->count].port = port;
        n->items[n->count].count = count;
        n->items[n->count].is_failure = is_failure;
        cay_str_copy(n->items[n->count].host, sizeof(n->items[0].host), host);
        for (char *at = n->items[n->count++].host; *at != '\0'; at++)
                if ((unsigned char)*at <= ' ' || *at == ';')
                        *at = '?'; /* no host has one: what separates them in the record */
}

void cay_exec_note_network(struct cay_exec *x, const struct cay_network_entry *e)
{
        bool is_refused = strcmp(e->verdict, "refused") == 0;
        /* What a rule would have to name. */
        const char *host = e->name[0] != '\0' && !cay_policy_is_by_address(e->why) ? e->name : e->address;

        if (strcmp(e->verdict, "allowed") == 0 && e->port > 0)
                note_allowed(x, e->name[0] != '\0' ? e->name : e->address, e->port);
        if (!is_refused && strcmp(e->verdict, "failed") != 0)
                return;
        if (strncmp(e->why, "quota", 5) == 0) {
                if (network_of(x) != NULL)
                        x->network->is_over_quota = true;
                return;
        }
        add(x, host, e->port, 1, !is_refused);
}

/* Before it is judged */

static void on_settled(struct cay_async *e, const struct cay_error *err)
{
        cay_exec_network_settled(e->exec);
}

bool cay_exec_settle_network(struct cay_exec *x)
{
        struct cay_sandbox *sb = x->sandbox;
        struct cay_network_broker *n = sb->service->env.network;
        struct cay_async *e;

        if (sb->policy == NULL || n == NULL || !n->ops->is_ready(n) || !n->ops->has(n, sb->id))
                return false;
        e = cay_async_new(x->service, sb, x, on_settled);
        e->local = true;
        n->ops->stats(n, sb->id, &e->network_stats, cay_async_engine(e, SETTLE_MS));
        return true;
}

static bool complains(struct cay_exec *x)
{
        char tail[TAIL_BYTES];
        struct cay_spool_place place = { 0 };
        uint64_t end;
        size_t len = 0;
        unsigned stream;
        ssize_t n;

        if (x->spool.fd < 0)
                return false;
        end = x->spool.end;
        place.at = end > sizeof(tail) ? end - sizeof(tail) : 0;
        if (place.at < x->spool.oldest)
                place.at = x->spool.oldest;
        while (len < sizeof(tail) &&
               (n = cay_spool_read(&x->spool, &place, tail + len, sizeof(tail) - len, &stream)) > 0)
                len += (size_t)n;
        return cay_network_complains(tail, len);
}

void cay_exec_note_no_network(struct cay_exec *x)
{
        if (x->sandbox->network == CAY_NETWORK_NONE && x->facts.facts.exit_code > 0 &&
            x->facts.not_started[0] == '\0' && complains(x) && network_of(x) != NULL)
                x->network->lacks_one = true;
}

/*
 * For the record: "-" lacks a network, "q" over quota, "b HOST PORT COUNT" blocked, "f …" failed; each ended
 * by ";".
 */

void cay_exec_network_text(const struct cay_exec *x, struct cay_buf *out)
{
        const struct cay_exec_network *n = x->network;

        if (n->lacks_one)
                cay_buf_puts(out, "-;");
        if (n->is_over_quota)
                cay_buf_puts(out, "q;");
        for (unsigned i = 0; i < n->count; i++)
                cay_buf_printf(out, "%c %s %u %" PRIu64 ";", n->items[i].is_failure ? 'f' : 'b',
                               n->items[i].host, n->items[i].port, n->items[i].count);
}

static void read_item(struct cay_exec *x, const char *item)
{
        char host[256], port[8], count[24], kind;
        uint64_t port_nr, times;

        if (strcmp(item, "-") == 0 && network_of(x) != NULL)
                x->network->lacks_one = true;
        else if (strcmp(item, "q") == 0 && network_of(x) != NULL)
                x->network->is_over_quota = true;
        else if (sscanf(item, "%c %255s %7s %23s", &kind, host, port, count) == 4 &&
                 cay_parse_u64(port, &port_nr) == 0 && cay_parse_u64(count, &times) == 0)
                add(x, host, (unsigned)port_nr, times, kind == 'f');
}

void cay_exec_network_read(struct cay_exec *x, const char *text)
{
        while (text[0] != '\0') {
                size_t len = strcspn(text, ";");
                char item[320];

                if (len < sizeof(item)) {
                        memcpy(item, text, len);
                        item[len] = '\0';
                        read_item(x, item);
                }
                text += len + (text[len] == ';');
        }
}
