/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-front: the daemon's client-facing process. The keeper starts it (cay/keeper/hand_over.h). It reads what
 * needs the keeper's rights, gives those rights up (cay-front/drop.h), and opens store, engines, service and
 * HTTP server. It serves until SIGTERM or until the keeper exits. Sandboxes continue without it: the next
 * front adopts them.
 */
#pragma once

int cay_front_main(int argc, char **argv); /* "cay-front serve N": N TCP listeners; returns the exit status */
int cay_front_token_main(int argc, char **argv); /* "cay-front token …": implements `cay token` */
