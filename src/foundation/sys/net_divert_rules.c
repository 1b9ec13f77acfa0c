/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a diverted namespace, as one batch of nf_tables messages:
 *
 *   table inet cay
 *     chain leaving, type route, hook output         loopback passes; what is taken gets the mark, the rest
 *                                                    is refused
 *     chain refusing                                 what leaving sends here: told, then a reset, or ICMP
 *                                                    port unreachable
 *     chain arriving, type filter, hook prerouting   marked TCP and UDP goes to the transparent sockets
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "foundation/sys/net_divert_priv.h"
#include "foundation/sys/net_refused.h"

#define TABLE "cay"
#define LEAVING "leaving"
#define ARRIVING "arriving"
#define REFUSING "refusing"
#define PRIORITY (-150) /* before what filters: nft calls it mangle */
#define REG NFT_REG_1
#define TOLD_PER_S 10u /* refusals */
#define TOLD_BURST 50u

enum { V4_TO = 16, V6_TO = 24 }; /* where a packet's destination is */

struct range {
        const char *first;
        unsigned bits;
        bool is_v6;
};

static const struct range names[] = {
        { SYS_DIVERT_NAMES_V4, 15, false },
        { SYS_DIVERT_NAMES_V6, 64, true },
};

/*
 * What no policy without a rule for that very address allows (domain/network/address.c has all of it): here
 * are those that programs try, and that should be refused immediately. The rest is judged, and reset.
 */
static const struct range special[] = {
        { "0.0.0.0", 8, false },      { "10.0.0.0", 8, false },    { "100.64.0.0", 10, false },
        { "169.254.0.0", 16, false }, { "172.16.0.0", 12, false }, { "192.168.0.0", 16, false },
        { "224.0.0.0", 3, false },    { "fc00::", 6, true },
};

struct rule { /* what is open of the message under way */
        struct sys_netlink *n;
        size_t list;
};

static void begin_message(struct sys_netlink *n, uint16_t type, uint16_t flags)
{
        const struct nfgenmsg info = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };

        sys_netlink_begin(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, true, &info, sizeof(info));
}

static void put_frame(struct sys_netlink *n, uint16_t type)
{
        const struct nfgenmsg info = { .nfgen_family = AF_UNSPEC,
                                       .version = NFNETLINK_V0,
                                       .res_id = htons(NFNL_SUBSYS_NFTABLES) };

        sys_netlink_begin(n, type, 0, false, &info, sizeof(info));
        sys_netlink_end(n);
}

static void put_table(struct sys_netlink *n)
{
        begin_message(n, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
        sys_netlink_put_text(n, NFTA_TABLE_NAME, TABLE);
        sys_netlink_end(n);
}

/* type: NULL: of a chain that only rules lead to */
static void put_chain(struct sys_netlink *n, const char *name, const char *type, uint32_t hook)
{
        size_t nest;

        begin_message(n, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL);
        sys_netlink_put_text(n, NFTA_CHAIN_TABLE, TABLE);
        sys_netlink_put_text(n, NFTA_CHAIN_NAME, name);
        if (type == NULL) {
                sys_netlink_end(n);
                return;
        }
        nest = sys_netlink_nest(n, NFTA_CHAIN_HOOK);
        sys_netlink_put_u32_big(n, NFTA_HOOK_HOOKNUM, hook);
        sys_netlink_put_u32_big(n, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
        sys_netlink_nest_end(n, nest);
        sys_netlink_put_text(n, NFTA_CHAIN_TYPE, type);
        sys_netlink_end(n);
}

static void put_flush(struct sys_netlink *n, const char *chain)
{
        begin_message(n, NFT_MSG_DELRULE, 0);
        sys_netlink_put_text(n, NFTA_RULE_TABLE, TABLE);
        sys_netlink_put_text(n, NFTA_RULE_CHAIN, chain);
        sys_netlink_end(n);
}

/* Rules */

static struct rule begin_rule(struct sys_netlink *n, const char *chain)
{
        begin_message(n, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
        sys_netlink_put_text(n, NFTA_RULE_TABLE, TABLE);
        sys_netlink_put_text(n, NFTA_RULE_CHAIN, chain);
        return (struct rule){ n, sys_netlink_nest(n, NFTA_RULE_EXPRESSIONS) };
}

static void end_rule(struct rule *r)
{
        sys_netlink_nest_end(r->n, r->list);
        sys_netlink_end(r->n);
}

struct expression {
        size_t element, data;
};

static struct expression begin_expression(struct rule *r, const char *name)
{
        struct expression e = { .element = sys_netlink_nest(r->n, NFTA_LIST_ELEM) };

        sys_netlink_put_text(r->n, NFTA_EXPR_NAME, name);
        e.data = sys_netlink_nest(r->n, NFTA_EXPR_DATA);
        return e;
}

static void end_expression(struct rule *r, const struct expression *e)
{
        sys_netlink_nest_end(r->n, e->data);
        sys_netlink_nest_end(r->n, e->element);
}

static void put_value(struct rule *r, uint16_t attribute, const void *value, size_t len)
{
        size_t nest = sys_netlink_nest(r->n, attribute);

        sys_netlink_put(r->n, NFTA_DATA_VALUE, value, len);
        sys_netlink_nest_end(r->n, nest);
}

static void load_meta(struct rule *r, uint32_t key)
{
        struct expression e = begin_expression(r, "meta");

        sys_netlink_put_u32_big(r->n, NFTA_META_KEY, key);
        sys_netlink_put_u32_big(r->n, NFTA_META_DREG, REG);
        end_expression(r, &e);
}

static void is_equal(struct rule *r, const void *value, size_t len)
{
        struct expression e = begin_expression(r, "cmp");

        sys_netlink_put_u32_big(r->n, NFTA_CMP_SREG, REG);
        sys_netlink_put_u32_big(r->n, NFTA_CMP_OP, NFT_CMP_EQ);
        put_value(r, NFTA_CMP_DATA, value, len);
        end_expression(r, &e);
}

static void meta_is(struct rule *r, uint32_t key, const void *value, size_t len)
{
        load_meta(r, key);
        is_equal(r, value, len);
}

static void protocol_is(struct rule *r, uint8_t protocol)
{
        meta_is(r, NFT_META_L4PROTO, &protocol, sizeof(protocol));
}

static void load_destination(struct rule *r, uint32_t offset, uint32_t len)
{
        struct expression e = begin_expression(r, "payload");

        sys_netlink_put_u32_big(r->n, NFTA_PAYLOAD_DREG, REG);
        sys_netlink_put_u32_big(r->n, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
        sys_netlink_put_u32_big(r->n, NFTA_PAYLOAD_OFFSET, offset);
        sys_netlink_put_u32_big(r->n, NFTA_PAYLOAD_LEN, len);
        end_expression(r, &e);
}

static void mask(struct rule *r, const void *bits, const void *zero, uint32_t len)
{
        struct expression e = begin_expression(r, "bitwise");

        sys_netlink_put_u32_big(r->n, NFTA_BITWISE_SREG, REG);
        sys_netlink_put_u32_big(r->n, NFTA_BITWISE_DREG, REG);
        sys_netlink_put_u32_big(r->n, NFTA_BITWISE_LEN, len);
        put_value(r, NFTA_BITWISE_MASK, bits, len);
        put_value(r, NFTA_BITWISE_XOR, zero, len);
        end_expression(r, &e);
}

static void load_number(struct rule *r, const void *value, size_t len)
{
        struct expression e = begin_expression(r, "immediate");

        sys_netlink_put_u32_big(r->n, NFTA_IMMEDIATE_DREG, REG);
        put_value(r, NFTA_IMMEDIATE_DATA, value, len);
        end_expression(r, &e);
}

/* chain: for NFT_GOTO */
static void end_with(struct rule *r, uint32_t code, const char *chain)
{
        struct expression e = begin_expression(r, "immediate");
        size_t data, verdict;

        sys_netlink_put_u32_big(r->n, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        data = sys_netlink_nest(r->n, NFTA_IMMEDIATE_DATA);
        verdict = sys_netlink_nest(r->n, NFTA_DATA_VERDICT);
        sys_netlink_put_u32_big(r->n, NFTA_VERDICT_CODE, code);
        if (chain != NULL)
                sys_netlink_put_text(r->n, NFTA_VERDICT_CHAIN, chain);
        sys_netlink_nest_end(r->n, verdict);
        sys_netlink_nest_end(r->n, data);
        end_expression(r, &e);
}

static void accept_packet(struct rule *r)
{
        end_with(r, NF_ACCEPT, NULL);
}

static void reject_packet(struct rule *r, uint32_t type, uint8_t code)
{
        struct expression e = begin_expression(r, "reject");

        sys_netlink_put_u32_big(r->n, NFTA_REJECT_TYPE, type);
        sys_netlink_put_u8(r->n, NFTA_REJECT_ICMP_CODE, code);
        end_expression(r, &e);
}

/* It comes back over loopback, marked. */
static void take(struct rule *r)
{
        const uint32_t mark_value = SYS_DIVERT_MARK;
        struct expression e;

        load_number(r, &mark_value, sizeof(mark_value));
        e = begin_expression(r, "meta");
        sys_netlink_put_u32_big(r->n, NFTA_META_KEY, NFT_META_MARK);
        sys_netlink_put_u32_big(r->n, NFTA_META_SREG, REG);
        end_expression(r, &e);
        accept_packet(r);
}

static void to_socket(struct rule *r)
{
        const uint16_t port = htons(SYS_DIVERT_PORT);
        struct expression e;

        load_number(r, &port, sizeof(port));
        e = begin_expression(r, "tproxy");
        sys_netlink_put_u32_big(r->n, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
        sys_netlink_put_u32_big(r->n, NFTA_TPROXY_REG_PORT, REG);
        end_expression(r, &e);
        accept_packet(r);
}

static void pass_loopback(struct sys_netlink *n)
{
        static const char name[16] = "lo";
        struct rule r = begin_rule(n, LEAVING);

        meta_is(&r, NFT_META_OIFNAME, name, sizeof(name));
        accept_packet(&r);
        end_rule(&r);
}

/* Of a family: packets to the range. */
static void to_range(struct rule *r, const struct range *range)
{
        static const uint8_t zero[16];
        const uint8_t v4 = NFPROTO_IPV4, v6 = NFPROTO_IPV6;
        uint8_t first[16], bits[16] = { 0 };
        uint32_t len = range->is_v6 ? 16 : 4;

        inet_pton(range->is_v6 ? AF_INET6 : AF_INET, range->first, first);
        for (unsigned i = 0; i < range->bits; i++)
                bits[i / 8] = (uint8_t)(bits[i / 8] | 0x80 >> i % 8);
        meta_is(r, NFT_META_NFPROTO, range->is_v6 ? &v6 : &v4, 1);
        load_destination(r, range->is_v6 ? V6_TO : V4_TO, len);
        mask(r, bits, zero, len);
        is_equal(r, first, len);
}

static void take_names(struct sys_netlink *n, uint8_t protocol)
{
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                struct rule r = begin_rule(n, LEAVING);

                to_range(&r, &names[i]);
                protocol_is(&r, protocol);
                take(&r);
                end_rule(&r);
        }
}

static void take_all(struct sys_netlink *n, uint8_t protocol)
{
        struct rule r = begin_rule(n, LEAVING);

        protocol_is(&r, protocol);
        take(&r);
        end_rule(&r);
}

static void refuse_special(struct sys_netlink *n)
{
        for (unsigned i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
                struct rule r = begin_rule(n, LEAVING);

                to_range(&r, &special[i]);
                end_with(&r, (uint32_t)NFT_GOTO, REFUSING);
                end_rule(&r);
        }
}

static void take_by_mode(struct sys_netlink *n, unsigned mode)
{
        const unsigned where = mode & SYS_DIVERT_WHERE;

        if (where != SYS_DIVERT_ADDRESSES) {
                take_names(n, IPPROTO_TCP);
                if (mode & SYS_DIVERT_UDP)
                        take_names(n, IPPROTO_UDP);
        }
        if (where == SYS_DIVERT_NAMES)
                return;
        if (where == SYS_DIVERT_PUBLIC)
                refuse_special(n);
        take_all(n, IPPROTO_TCP);
        if (mode & SYS_DIVERT_UDP)
                take_all(n, IPPROTO_UDP);
}

static void refuse_rest(struct sys_netlink *n)
{
        struct rule r = begin_rule(n, LEAVING);

        end_with(&r, (uint32_t)NFT_GOTO, REFUSING);
        end_rule(&r);
}

/* A program that tries again and again is told of as often as people can use. */
static void limit_rate(struct rule *r)
{
        const uint64_t rate = htobe64(TOLD_PER_S), seconds = htobe64(1);
        struct expression e = begin_expression(r, "limit");

        sys_netlink_put(r->n, NFTA_LIMIT_RATE, &rate, sizeof(rate));
        sys_netlink_put(r->n, NFTA_LIMIT_UNIT, &seconds, sizeof(seconds));
        sys_netlink_put_u32_big(r->n, NFTA_LIMIT_BURST, TOLD_BURST);
        sys_netlink_put_u32_big(r->n, NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
        end_expression(r, &e);
}

/* TCP alone: a QUIC client that falls back would look as if the host were refused. */
static void tell(struct sys_netlink *n)
{
        const uint16_t group = htons(SYS_REFUSED_GROUP);
        struct rule r = begin_rule(n, REFUSING);
        struct expression e;

        protocol_is(&r, IPPROTO_TCP);
        limit_rate(&r);
        e = begin_expression(&r, "log");
        sys_netlink_put(n, NFTA_LOG_GROUP, &group, sizeof(group));
        end_expression(&r, &e);
        end_rule(&r);
}

static void refuse(struct sys_netlink *n, bool is_told)
{
        struct rule r;

        if (is_told)
                tell(n);
        r = begin_rule(n, REFUSING);
        protocol_is(&r, IPPROTO_TCP);
        reject_packet(&r, NFT_REJECT_TCP_RST, 0);
        end_rule(&r);
        r = begin_rule(n, REFUSING);
        reject_packet(&r, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
        end_rule(&r);
}

static struct rule begin_arriving(struct sys_netlink *n, uint8_t protocol)
{
        const uint32_t mark_value = SYS_DIVERT_MARK;
        struct rule r = begin_rule(n, ARRIVING);

        meta_is(&r, NFT_META_MARK, &mark_value, sizeof(mark_value));
        protocol_is(&r, protocol);
        return r;
}

/*
 * When a socket is closed, its rule does nothing. A connection would then wait for its own timeout: the
 * second rule refuses it. A datagram goes on to the kernel's own UDP; with IPv6 it says that nobody has the
 * port, with IPv4 (which takes no foreign source for that error) it is lost.
 */
static void deliver(struct sys_netlink *n)
{
        struct rule r = begin_arriving(n, IPPROTO_TCP);

        to_socket(&r);
        end_rule(&r);
        r = begin_arriving(n, IPPROTO_TCP);
        reject_packet(&r, NFT_REJECT_TCP_RST, 0);
        end_rule(&r);
        r = begin_arriving(n, IPPROTO_UDP);
        to_socket(&r);
        end_rule(&r);
}

static int put_rules(unsigned mode, bool is_new, bool is_told)
{
        struct sys_netlink n;
        int r;

        r = sys_netlink_open(&n, NETLINK_NETFILTER);
        if (r < 0)
                return r;
        put_frame(&n, NFNL_MSG_BATCH_BEGIN);
        if (is_new) {
                put_table(&n);
                put_chain(&n, LEAVING, "route", NF_INET_LOCAL_OUT);
                put_chain(&n, ARRIVING, "filter", NF_INET_PRE_ROUTING);
                put_chain(&n, REFUSING, NULL, 0);
                deliver(&n);
                refuse(&n, is_told);
        } else {
                put_flush(&n, LEAVING);
        }
        pass_loopback(&n);
        take_by_mode(&n, mode);
        refuse_rest(&n);
        put_frame(&n, NFNL_MSG_BATCH_END);
        r = sys_netlink_send(&n);
        sys_netlink_close(&n);
        return r;
}

/* A batch is all or nothing: where the kernel cannot log (nft_log, nft_limit), it is put without. */
int sys_divert_put_rules(unsigned mode, bool is_new)
{
        int r;

        if (!sys_divert_is_mode(mode))
                return -EINVAL;
        r = put_rules(mode, is_new, true);
        return is_new && sys_divert_is_lacking(r) ? put_rules(mode, is_new, false) : r;
}
