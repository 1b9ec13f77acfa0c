// SPDX-License-Identifier: Apache-2.0
// Shells: commands of a sandbox with a terminal that somebody types into. They run on without the page, so that any browser can come back to one.
import * as api from './api.js';
import { command } from './format.js';

/** A login shell where there is bash, else whatever sh is. */
export const SHELL = 'command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l';
// Characters have the width that the page draws them with, in a UTF-8 locale alone. A prompt without colour gets some; one's own stays as it is.
const ENV = {
  LANG: 'C.UTF-8', COLORTERM: 'truecolor',
  PROMPT_COMMAND: String.raw`case $PS1 in *\\e[*|*\\033[*|*$'\033'*) ;; *) PS1='\[\e[1;32m\]\u@\h\[\e[0m\]:\[\e[1;34m\]\w\[\e[0m\]\$ ' ;; esac`,
};

export const isShell = (x) => x.tty && x.open_stdin && x.status !== 'ended';

/** Those that run, oldest first. */
export async function list(sandbox) {
  const { execs } = await api.get(api.path('sandboxes', sandbox, 'execs'));
  return execs.filter(isShell).sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
}

export const start = (sandbox, { rows, columns }) => api.post(api.path('sandboxes', sandbox, 'execute'), {
  command: SHELL, env: ENV, tty: true, open_stdin: true, background: true, term: 'xterm-256color', rows, cols: columns,
});

export const end = (sandbox, exec) => api.call('DELETE', api.path('sandboxes', sandbox, 'execs', exec));

/** The page's own shells by what they are, others by their command. */
export function title(x) {
  const text = command(x.command);
  return text === SHELL ? 'Shell' : text;
}
