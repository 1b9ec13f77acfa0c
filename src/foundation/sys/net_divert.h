/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network namespace in which all outbound traffic is diverted to our sockets, without a device on the host,
 * a bridge, forwarding or a firewall rule outside of it.
 *
 * Theory of operation. The namespace gets a pair of veth devices with both ends inside it (programs check
 * whether an interface is up), one address of each family on it, and default routes. nf_tables rules in the
 * namespace mark outbound packets. Marked packets are routed back to loopback and delivered to a transparent
 * socket (TPROXY), whatever their destination is. getsockname on an accepted connection gives the original
 * destination, a control message that of a datagram. One dual-stack socket of each kind takes both families.
 * An answer to a datagram has to come from the address and port that it was sent to: it is written whole,
 * with its headers, through a raw socket, which reaches this namespace alone.
 *
 * Names are answered with addresses of a range of their own (SYS_DIVERT_NAMES_V4 and _V6): with
 * SYS_DIVERT_NAMES alone only these are diverted, and the kernel refuses everything else immediately. With
 * SYS_DIVERT_PUBLIC it refuses the addresses that are no public ones. UDP is diverted with SYS_DIVERT_UDP,
 * and else refused. Loopback is not changed. Everything except TCP and UDP is refused. TCP connections that
 * the rules refuse are told to one more socket (net_refused.h), where the kernel can do that.
 *
 * It needs CAP_NET_ADMIN in the user namespace that owns the network namespace, at set-up and for a change;
 * the sockets need nothing later. Not chosen: REDIRECT in the output hook, which knows TCP over IPv4 alone; a
 * tap device with a TCP stack of our own.
 */
#pragma once

#include <stdbool.h>

#define SYS_DIVERT_PORT 64998             /* of the transparent sockets */
#define SYS_DIVERT_NAMES_V4 "198.18.0.0"  /* /15: reserved for network benchmarks, so never a real address */
#define SYS_DIVERT_NAMES_V6 "fdca:c0de::" /* /64 */

enum sys_divert {                       /* which destinations reach the sockets: one of these, */
                  SYS_DIVERT_NAMES = 1, /* those that stand for names */
                  SYS_DIVERT_ADDRESSES, /* all */
                  SYS_DIVERT_PUBLIC,    /* those that stand for names, and public addresses */
                  SYS_DIVERT_WHERE = 3, /* mask of the above */
                  SYS_DIVERT_UDP = 4,   /* and with it: datagrams too */
                  SYS_DIVERT_DIAL = 8,  /* and: sockets that connect inside the namespace */
                  SYS_DIVERT_ALL = 15
};

#define SYS_DIVERT_OWN_V4                                                                                    \
        "192.0.2.2" /* the namespace's own addresses: from a documentation range, and a private one */
#define SYS_DIVERT_OWN_V6 "fdca:c0de:0:1::2"

/* -1: none. Non-blocking; they belong to the namespace in which they were made, wherever they are used */
struct sys_divert_sockets {
        int tcp;        /* listens; getsockname of its connections is the original destination */
        int dns_udp;    /* port 53 of loopback */
        int dns_tcp;    /* the same, listens */
        int udp;        /* datagrams, each with its original destination (IP_ORIGDSTADDR, IPV6_ORIGDSTADDR) */
        int raw4, raw6; /* send packets with the headers that they are given; without IPv6 both are of IPv4 */
        int refused;    /* tells what the rules refused (net_refused.h) */
        int dials[32];  /* TCP, of IPv4, not connected */
        unsigned dial_count;
};

enum { SYS_DIVERT_SOCKETS = 7, SYS_DIVERT_DIALS = 32, SYS_DIVERT_SOCKETS_MAX = 39 }; /* with dials */

/*
 * Sets up the calling process's network namespace, which must be new. 0 or -errno (-EOPNOTSUPP, -ENOENT,
 * -EPROTONOSUPPORT: no nf_tables here).
 */
int sys_divert_set_up(unsigned mode, struct sys_divert_sockets *ret);
/*
 * Where there is no nf_tables: the same sockets, and nothing that leads to them but loopback, where programs
 * ask the first one as a proxy. Everything else has no route. The namespace must be new, or one in which
 * sys_divert_set_up failed with one of the three.
 */
int sys_divert_set_up_plain(unsigned mode, struct sys_divert_sockets *ret);
bool sys_divert_is_lacking(int r);    /* one of the three */
int sys_divert_change(unsigned mode); /* the same namespace, later */
/* New sockets in a namespace that was set up before, when the old sockets are lost. */
int sys_divert_open(unsigned mode, struct sys_divert_sockets *ret);
void sys_divert_close(struct sys_divert_sockets *s);
bool sys_divert_is_mode(unsigned mode);
/* In the order of the struct, as they are sent to others; returns how many. */
unsigned sys_divert_list(const struct sys_divert_sockets *s, int ret[SYS_DIVERT_SOCKETS_MAX]);
