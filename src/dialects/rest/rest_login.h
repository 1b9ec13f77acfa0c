/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the reference page: takes the one-time login out of the address (its fragment, which browsers
 * send to nobody), spends it, and says who is signed in. A file of its own because the page's policy allows
 * no script inside of it.
 */
#pragma once

extern const char cay_login_js[];
