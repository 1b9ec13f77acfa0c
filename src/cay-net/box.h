/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sandbox's network: its sockets, policy, limits, counters, log, and the connections that go through
 * them.
 *
 * Theory of operation. The sockets belong to the sandbox's network namespace, so whatever comes by them is
 * that sandbox's: nobody can speak for another. TCP connections arrive under the address that the program
 * wanted; one of the ranges for names is looked up in the table of names that this sandbox was told (names
 * are per sandbox). A connection over the limit per second waits in the kernel; one over the limit at once is
 * reset. All connections of a sandbox share its two rates, by turns.
 */
#pragma once

#include "cay-net/bucket.h"
#include "cay-net/log.h"
#include "cay-net/pump.h"
#include "cay-net/resolver.h"
#include "domain/network/names.h"
#include "domain/network/policy_text.h"
#include "foundation/loop/loop.h"
#include "links/net/net_message.h"

#define NET_CONNECTIONS_DEFAULT 512u
#define NET_CONNECTIONS_MAX 16384u
#define NET_CONNECTIONS_S_DEFAULT 100u
#define NET_DNS_S_DEFAULT 50u
#define NET_DNS_LINKS_MAX 16u /* connections to the resolver over TCP, of one sandbox */
#define NET_UDP_IDLE_S_DEFAULT 30u
#define NET_FLOW_SLOTS 256u  /* of the table of flows */
#define NET_NO_FILES_MS 200u /* until descriptors may be free again */

struct net_box;
struct net_conn;
struct net_dns_link;
struct net_edge;
struct cay_net_secrets;
struct net_flow;

enum net_dial_state { NET_DIAL_FREE, NET_DIAL_USED, NET_DIAL_DRAINING };

struct net_dial { /* member.c: a socket in the namespace of a member of a private network */
        int fd;   /* owned by the box */
        enum net_dial_state state;
        struct net_box *box;
        struct net_conn *user; /* while it is USED */
        uint64_t since_ms;     /* DRAINING */
};

struct net_world {                     /* what all sandboxes share */
        struct cay_loop *loop;         /* borrowed */
        struct net_resolver *resolver; /* borrowed */
        struct net_pipes pipes;
        int routes;            /* sys_route_open */
        struct net_edge *edge; /* owned by the broker; NULL: there are no secrets here */
        unsigned connections, connections_most;
        uint64_t last_connection; /* number of it */
        struct net_box *members;  /* of private networks; borrowed */
        void (*on_log)(struct net_world *world, struct net_box *b,
                       unsigned verdict); /* a new entry; may be NULL */
};

struct net_flows { /* flow.c: of one sandbox */
        struct net_flow *slots[NET_FLOW_SLOTS];
        struct net_flow *oldest, *newest; /* owned; by use */
        unsigned refused;                 /* that are remembered */
        size_t waiting_bytes;             /* of datagrams that wait for a name */
};

struct net_box {
        struct net_world *world;
        struct net_box *next; /* the owner's list */
        char id[CAY_NAME_MAX + 1];
        struct cay_watch tcp, dns_udp, dns_tcp, udp; /* descriptors owned */
        struct cay_watch refused;                    /* by the kernel's rules; descriptor owned */
        int raw4, raw6;                              /* owned; -1: none */
        struct net_dial dials[NET_DIALS_MAX];        /* of a member of a private network */
        unsigned dial_count;
        struct net_box *next_member; /* the world's list */
        struct cay_timer drain;
        struct cay_policy_pair policy;
        struct net_limits limits; /* defaults filled in */
        struct net_bucket up, down, connects, queries;
        struct cay_timer accept_again, go_on; /* when a rate lets it */
        struct cay_timer dns_again;           /* when descriptors may be free again */
        struct cay_names *names;
        struct net_log log;
        uint64_t log_told;                   /* the owner's: next number to send to the front */
        struct net_conn *conns, *conns_last; /* owned; those that had a turn come last */
        unsigned conn_count, waiting;        /* waiting: directions that a rate holds back */
        struct net_flows flows;              /* they count as connections */
        struct net_dns_link *dns_links;
        unsigned dns_link_count;
        struct cay_net_secrets *secrets; /* owned; NULL: none */
        unsigned edge_count;             /* connections that cay-edge has */
        struct net_answer_stats {
                uint64_t up_bytes, down_bytes, connections_all, refused, queries, queries_refused;
        } stats;
        bool is_over_quota;
        char last_query[CAY_POLICY_NAME_MAX +
                        1]; /* a name asked for twice within a second (A, AAAA) is logged once */
        uint64_t last_query_ms;
        unsigned last_query_verdict, last_query_type;
        struct cay_deferred gone;
};

/*
 * fds: enum net_fd, without the policy, count of them (0: nothing comes by sockets of the box); taken in any
 * case, as is the policy (*policy is empty afterwards). NULL: err says why.
 */
struct net_box *net_box_new_take(struct net_world *world, const struct net_box_request *req, const int *fds,
                                 unsigned count, struct cay_policy_pair *policy, struct cay_error *err);
/* The policy is taken; connections that it does not allow any more end. */
void net_box_change_take(struct net_box *b, const struct net_limits *limits, struct cay_policy_pair *policy);
void net_box_free(struct net_box *b); /* ends its connections; the memory goes at the end of the round */

bool net_box_is_stream(int fd); /* that a connection to a proxy can be; it does not block any more */

/* For the files of this folder */
void net_box_log(struct net_box *b, struct net_log_entry *e); /* number and time are set here */
/* Whether its newest connection, which is counted already, leaves the other sandboxes their part. */
bool net_box_is_fair(const struct net_box *b);
/*
 * 1: packets to it stay on this host, or would come back to it through a translator; 0: they leave; -errno:
 * no answer.
 */
int net_world_is_own(const struct net_world *world, const struct cay_address *a);
/* Judges by policy and by whether the address is the host's own. */
void net_box_judge(struct net_box *b, const struct cay_policy_target *t, struct cay_policy_verdict *ret);
/* How many bytes a direction may read in this turn; 0: it waits for its rate. */
size_t net_box_allowance(struct net_box *b, bool is_up);
/* Counts them; true: the quota was reached, and every connection has been ended. */
bool net_box_count(struct net_box *b, bool is_up, size_t bytes);
/* What the kernel's rules refused so far is in the log afterwards. */
void net_box_note_refused(struct net_box *b);
void net_box_wait(struct net_box *b); /* a direction waits: net_conn_go_on will be called */
