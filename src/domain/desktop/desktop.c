/* SPDX-License-Identifier: Apache-2.0 */
/* The script of a desktop. */
#include "domain/desktop/desktop.h"

#include "domain/desktop/desktop_source.inc" /* made by tools/embed_text: desktop_source[] */

const unsigned char *const cay_desktop_script = desktop_source;
const size_t cay_desktop_script_len = sizeof(desktop_source);
