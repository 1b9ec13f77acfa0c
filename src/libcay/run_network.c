/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run with a network: cay-net is started beside the engine, and gets the sockets that all that leaves the
 * box comes to.
 *
 * Theory of operation. The policy is checked before anything is made. cay-net is started when the engine has
 * begun to make the box, which takes longer, and while this process still has its privileges; it gives up its
 * own. The engine hands over a socket on which the box's sockets arrive before the box is ready; they go on
 * to cay-net with the policy. What the command asks for earlier waits in them. cay-net's log comes back entry
 * by entry; of what was refused the first ones are kept for the result. When cay-net dies the run goes on:
 * its connections end, new ones are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "foundation/base/buf.h"
#include "foundation/base/str.h"
#include "domain/network/complaint.h"
#include "domain/network/policy_text.h"
#include "engines/network/network_limits.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"
#include "libcay/run_priv.h"
#include "links/helper/message.h"
#include "links/net/net_message.h"

#define CLOSE_MS 2000u

static const struct engine_link_kind kind = {
        .program = "cay-net",
        .who = "cay-net",
        .protocol = &net_protocol,
        .close_ms = CLOSE_MS,
};

static int put_rules(struct cay_buf *out, const char *word, const char *const *rules)
{
        for (; rules != NULL && *rules != NULL; rules++)
                if (cay_buf_puts(out, word) < 0 || cay_buf_puts(out, *rules) < 0 ||
                    cay_buf_puts(out, "\n") < 0)
                        return -1;
        return 0;
}

/* There is no template here: its list allows everything that the run's own may. */
static int write_policy(const struct cay_run_options *o, struct cay_buf *out)
{
        static const char *const words[] = {
                [CAY_RUN_NETWORK_NONE] = "none",
                [CAY_RUN_NETWORK_LIST] = "list",
                [CAY_RUN_NETWORK_PUBLIC] = "public",
        };

        if (cay_buf_puts(out, CAY_POLICY_TEMPLATE_ANY "own ") < 0 ||
            cay_buf_puts(out, words[o->network]) < 0 || cay_buf_puts(out, "\n") < 0)
                return -1;
        return put_rules(out, "allow ", o->allow) < 0 || put_rules(out, "deny ", o->deny) < 0 ? -1 : 0;
}

static int make_policy(struct cay_run_network *n, const char *text, size_t len, struct cay_error *err)
{
        n->policy_fd = memfd_create("cay-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (n->policy_fd < 0 || sys_write_all(n->policy_fd, text, len) < 0 ||
            fcntl(n->policy_fd, F_ADD_SEALS, NET_POLICY_SEALS) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "hold the network's policy in memory");
        return 0;
}

int cay_run_network_prepare(struct cay_run *run, struct cay_error *err)
{
        struct cay_run_network *n = &run->network;
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_policy_pair pair = { 0 };
        int r;

        if (run->o.network == CAY_RUN_NETWORK_NONE)
                return 0;
        cay_buf_init(&text, NET_POLICY_MAX);
        if (write_policy(&run->o, &text) < 0)
                return cay_fail(err, CAY_LIMIT, "network: the rules are longer than %u bytes",
                                NET_POLICY_MAX);
        if (cay_policy_text_read(cay_buf_data(&text), text.len, &pair, err) < 0)
                return -1;
        run->shell->spec.egress = (enum cay_spec_egress)cay_policy_egress(&pair.own);
        r = make_policy(n, cay_buf_data(&text), text.len, err);
        cay_policy_pair_done(&pair);
        return r;
}

/* The log */

static struct cay_run_blocked *find_blocked(struct cay_run_result *r, const char *name, unsigned port,
                                            bool is_failure)
{
        for (unsigned i = 0; i < r->blocked_count; i++)
                if (r->blocked[i].port == port && r->blocked[i].is_failure == is_failure &&
                    strcmp(r->blocked[i].name, name) == 0)
                        return &r->blocked[i];
        if (r->blocked_count == CAY_RUN_BLOCKED_MAX)
                return NULL;
        r->blocked[r->blocked_count].port = port;
        r->blocked[r->blocked_count].is_failure = is_failure;
        cay_str_copy(r->blocked[r->blocked_count].name, sizeof(r->blocked[0].name), name);
        return &r->blocked[r->blocked_count++];
}

/* What cay-net says comes from a program that strangers talk to: texts are ended here, whatever it sent. */
static void on_log(struct cay_run *run, const struct net_log_entry *from)
{
        static const struct cay_address none;
        char text[CAY_ADDRESS_TEXT], name[NET_NAME], why[NET_WHY];
        struct cay_address address;
        struct cay_run_blocked *b;

        if (from->verdict != NET_LOG_REFUSED && from->verdict != NET_LOG_FAILED)
                return;
        if (strncmp(from->why, "quota", 5) == 0) {
                run->network.is_over_quota = true;
                return;
        }
        memcpy(name, from->name, sizeof(name));
        name[sizeof(name) - 1] = '\0';
        memcpy(why, from->why, sizeof(why));
        why[sizeof(why) - 1] = '\0';
        memcpy(address.bytes, from->address, sizeof(address.bytes));
        if (cay_policy_is_by_address(why)) /* then a rule for the name would not help */
                name[0] = '\0';
        if (name[0] == '\0' && memcmp(&address, &none, sizeof(none)) == 0)
                return; /* a limit, or a query for what is no name: nothing that a rule could allow */
        b = find_blocked(&run->result, name[0] != '\0' ? name : cay_address_text(&address, text), from->port,
                         from->verdict == NET_LOG_FAILED);
        if (b != NULL)
                b->count++;
}

static void on_unasked(struct engine_link *l, const struct helper_answer_head *a)
{
        struct cay_run *run = cay_container_of(l, struct cay_run, network.link);

        if (a->type == NET_log)
                on_log(run, &((const struct net_answer *)(const void *)a)->log);
}

/* What the command says */

void cay_run_network_note(struct cay_run *run, const void *bytes, size_t len)
{
        struct cay_run_network *n = &run->network;

        if (run->o.network != CAY_RUN_NETWORK_NONE ||
            (n->tail == NULL && !(n->tail = malloc(2u * CAY_RUN_TAIL))))
                return;
        if (len > CAY_RUN_TAIL) {
                bytes = (const char *)bytes + (len - CAY_RUN_TAIL);
                len = CAY_RUN_TAIL;
        }
        if (n->tail_len + len > 2u * CAY_RUN_TAIL) {
                memmove(n->tail, n->tail + (n->tail_len - CAY_RUN_TAIL), CAY_RUN_TAIL);
                n->tail_len = CAY_RUN_TAIL;
        }
        memcpy(n->tail + n->tail_len, bytes, len);
        n->tail_len += len;
}

void cay_run_network_judge(struct cay_run *run)
{
        run->facts.network_hit = run->network.is_over_quota;
        run->facts.network_limit = run->o.spec.limits.network_total;
        run->result.lacks_network = run->facts.exit_code > 0 && run->network.tail_len > 0 &&
                                    cay_network_complains(run->network.tail, run->network.tail_len);
}

/* The way to cay-net */

static void on_hello(struct engine_call *call, const struct helper_answer_head *a)
{
        struct cay_run *run = cay_container_of(call, struct cay_run, network.hello);
        struct cay_error err = { 0 };

        engine_link_read_error(&run->network.link, a, &err);
        if (err.code != CAY_OK && run->step < CAY_RUN_DESTROYING)
                cay_run_fail(run, &err);
}

static void on_added(struct engine_call *call, const struct helper_answer_head *a)
{
        struct cay_run *run = cay_container_of(call, struct cay_run, network.add);
        struct cay_error err = { 0 };

        engine_link_read_error(&run->network.link, a, &err);
        if (err.code != CAY_OK && run->step < CAY_RUN_DESTROYING && !run->leaving)
                cay_run_fail(run, &err);
}

int cay_run_network_open(struct cay_run *run, struct cay_error *err)
{
        struct cay_run_network *n = &run->network;
        struct net_request hello = { .type = NET_hello, .hello.version = NET_WIRE_VERSION };

        if (run->o.network == CAY_RUN_NETWORK_NONE)
                return 0;
        n->link.kind = &kind;
        n->link.on_unasked = on_unasked;
        if (engine_link_open(&n->link, run->loop, run->o.program_dir, err) < 0)
                return -1;
        n->hello.on_answer = on_hello;
        engine_link_ask(&n->link, &n->hello, &hello, NULL, 0);
        return 0;
}

int cay_run_network_attach(struct cay_run *run, struct cay_error *err)
{
        struct cay_run_network *n = &run->network;
        struct net_request req = { .type = NET_box_add };
        struct wire_network_sockets head = { 0 };
        int fds[SYS_FDS_MAX], from = cay_take_fd(run->shell->box.network_fd);
        unsigned count = 0;
        ssize_t got;

        if (from < 0)
                return 0;
        got = sys_recv_fds(from, &head, sizeof(head), fds, &count, MSG_DONTWAIT);
        close(from);
        if (got != (ssize_t)sizeof(head) || head.magic != WIRE_MAGIC || head.result != 0 ||
            count != SYS_DIVERT_SOCKETS) {
                sys_close_fds(fds, got < 0 ? 0 : count);
                return cay_fail(err, CAY_UNAVAILABLE, "the sandbox's network did not hand over its sockets");
        }
        cay_str_copy(req.box.id, sizeof(req.box.id), run->result.id);
        req.box.limits = cay_network_limits(&run->o.spec.limits);
        fds[count++] = n->policy_fd;
        n->add.on_answer = on_added;
        engine_link_ask(&n->link, &n->add, &req, fds, count); /* copies them */
        sys_close_fds(fds, SYS_DIVERT_SOCKETS);
        return 0;
}

void cay_run_network_hang_up(struct cay_run *run)
{
        struct cay_run_network *n = &run->network;

        if (run->shell->box.network_fd >= 0)
                close(cay_take_fd(run->shell->box.network_fd));
        if (n->policy_fd >= 0)
                close(cay_take_fd(n->policy_fd));
        free(cay_take(n->tail));
        if (n->link.kind != NULL) {
                engine_link_forget(&n->link, &n->hello);
                engine_link_forget(&n->link, &n->add);
                engine_link_lose(&n->link);
        }
}

void cay_run_network_close(struct cay_run *run)
{
        if (run->network.link.kind != NULL)
                engine_link_close(&run->network.link);
}
