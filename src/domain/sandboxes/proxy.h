/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out of sandboxes whose engine cannot hand over the sockets of their network namespace (Docker).
 *
 * Theory of operation. cay-init listens on the sandbox's loopback and gives each connection to a channel of
 * kind ACCEPT (docs/box-link.md). One such channel waits at any time. When it has a connection, the broker
 * gets one end of a stream, and the bytes are moved between the other end and the channel here; what they ask
 * for is the broker's to judge, as of everybody. Bytes that the broker does not take are not acknowledged, so
 * they wait in the sandbox. With the link, this process or the broker all of them end. A sandbox may be older
 * than this process: no such channel is opened before its cay-init has said that it knows the kind.
 */
#pragma once

#define CAY_PROXY_PORT 64998 /* as SYS_DIVERT_PORT, which is the proxy's where sockets are handed over */
#define CAY_PROXY_ADDRESS "127.0.0.1:64998"
#define CAY_PROXIED_MAX 64 /* connections of one sandbox, and the one that waits */

struct cay_error;
struct cay_sandbox;
struct cay_proxied;

void cay_proxy_tend(struct cay_sandbox *sb); /* one waits, if it is to have a way out and can have one now */
/* -1: its cay-init, which is older than this process, has no proxy. */
int cay_proxy_check(const struct cay_sandbox *sb, struct cay_error *err);
void cay_proxy_end_all(struct cay_sandbox *sb);
