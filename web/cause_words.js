// SPDX-License-Identifier: Apache-2.0
// Why a command or a sandbox ended, and what can be done about it on this page. The daemon's advice names the fields of requests.
import { upperFirst } from './format.js';

const AGAIN = 'Run it again.';
const ADVICE = {
  memory: 'Use less memory, or create a sandbox with more.',
  pids: 'Start fewer processes or threads, or use a template that allows more.',
  disk: 'Write less, remove files, or use a template with more disk.',
  network: 'Transfer less, or use a template that allows more.',
  cpu_time: 'Do less work at once.',
  wall_time: 'Split the work, or use a template that gives commands more time.',
  output: 'Print less, or write to a file.',
  syscall: 'The sandbox does not allow this system call.',
  signalled: 'Its output may say why.',
  sandbox_gone: AGAIN,
  engine_lost: AGAIN,
  daemon_lost: AGAIN,
};

const sentence = (text) => (text ? `${upperFirst(text)}${/[.!?]$/.test(text) ? '' : '.'}` : '');

export const saidOf = (x) => sentence(x.cause_text || (x.cause || '').replaceAll('_', ' '));

/** What can be done; of a sandbox, "again" is to start it. */
export function adviceOf(x, isSandbox = false) {
  const text = ADVICE[x.cause] || '';
  return isSandbox && text === AGAIN ? 'Start it again.' : text;
}
