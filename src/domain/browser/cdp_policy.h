/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which commands of clients are refused or changed on their way to the browser: the rows of cdp_methods.def.
 */
#pragma once

#include "domain/browser/cdp_message.h"

#define CAY_CDP_TAKEN "a person has taken over mouse and keys of this browser; wait until they hand back"

enum cay_cdp_rule { CAY_CDP_AS_IT_IS, CAY_CDP_REFUSED, CAY_CDP_DOWNLOADS, CAY_CDP_INPUT };

enum cay_cdp_rule cay_cdp_rule_of(const char *method, const char **ret_text); /* the text of a refusal */
/*
 * The parameters of a download command with this folder, appended. Anything but `deny` and `default` becomes
 * files named by their ids, with events.
 */
int cay_cdp_put_downloads(struct cay_buf *out, struct cay_json_view params, const char *folder,
                          bool is_of_page);
