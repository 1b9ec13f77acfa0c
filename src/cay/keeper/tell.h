/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper prints for people (how to use the daemon, within the first second) and tells systemd
 * (READY, STOPPING).
 */
#pragma once

#include "domain/settings/config.h"
#include "cay/keeper/hand_over.h"
#include "cay/keeper/place.h"

void cay_tell_people(const struct cay_config *c, const struct cay_place *p,
                     const struct cay_hand_ready *ready);
void cay_tell_systemd(const char *state); /* "READY=1"; nothing unless systemd started us */
