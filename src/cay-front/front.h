/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-front: the daemon's face. Started by the keeper (cay/keeper/hand_over.h), it reads what only the keeper's rights can, gives those
 * rights up (cay-front/drop.h), then opens store, engine, service and HTTP server and serves until SIGTERM or the keeper's end.
 * Sandboxes live on without it: the next front adopts them.
 */
#pragma once

int cay_front_main(int argc, char **argv);       /* "cay-front serve N": N TCP listeners; the exit status */
int cay_front_token_main(int argc, char **argv); /* "cay-front token …": what `cay token` does */
