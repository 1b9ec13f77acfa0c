/* SPDX-License-Identifier: Apache-2.0 */
/* The script of the reference page. */
#include "dialects/rest/rest_login.h"

const char cay_login_js[] =
        "'use strict';\n"
        "(() => {\n"
        "  const place = document.getElementById('who');\n"
        "  const say = (text) => { if (place) place.textContent = text; };\n"
        "  const show = async () => {\n"
        "    const r = await fetch('/api/whoami');\n"
        "    if (!r.ok) return say('Not signed in: `cay token --login` prints a link.');\n"
        "    const who = await r.json();\n"
        "    say('Signed in as ' + who.owner + ' (' + who.scope + ').');\n"
        "  };\n"
        "  const enter = async (login) => {\n"
        "    const r = await fetch('/api/login', {\n"
        "      method: 'POST',\n"
        "      headers: { 'Content-Type': 'application/json' },\n"
        "      body: JSON.stringify({ login }),\n"
        "    });\n"
        "    if (r.ok) return show();\n"
        "    const answer = await r.json();\n"
        "    say(answer.error.message);\n"
        "  };\n"
        "  const given = /^#login=([A-Za-z0-9_-]+)$/.exec(location.hash);\n"
        "  if (given) history.replaceState(null, '', location.pathname);\n"
        "  (given ? enter(given[1]) : show()).catch(() => say('The daemon does not answer.'));\n"
        "})();\n";
