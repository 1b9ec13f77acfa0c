/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP port inside a sandbox as a duplex: one channel of the box link, whatever the network policy. */
#pragma once

#include <stdint.h>

#include "foundation/http/duplex.h"
#include "foundation/loop/loop.h"
#include "domain/sandboxes/service.h"

/*
 * NULL: err says why (not found, not running…). A port without a listener causes on_lost. Ends with the
 * duplex's close. why (may be NULL, zeroed) is borrowed until then: it is filled with the sandbox's reason
 * before on_lost.
 */
struct cay_duplex *cay_port_duplex_open(struct cay_loop *loop, struct cay_service *service,
                                        const struct cay_viewer *v, const char *sandbox, uint16_t port,
                                        struct cay_error *why, struct cay_error *err);
void cay_port_duplex_forget(struct cay_duplex *d); /* `why` goes, the duplex lives on */
