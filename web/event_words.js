// SPDX-License-Identifier: Apache-2.0
// Events of a sandbox in a few words: what happened, and the part of its detail that a person wants to know.
import * as format from './format.js';

const ENDS = { asked: 'on request', expired: 'its time to live ended', idle: 'it was not used', cleanup: 'by a cleanup' };
const why = (d) => ENDS[d.why] || (d.why && `${d.why}`.replaceAll('_', ' '));
const time = (ms) => (Number(ms) > 0 ? format.span(Number(ms)) : 'no limit');

function howEnded(d) {
  if (d.exit_code !== undefined && d.exit_code !== null) return `exit ${d.exit_code}${d.cause && d.cause !== 'exited' ? `, ${d.cause.replaceAll('_', ' ')}` : ''}`;
  return d.signal || d.cause?.replaceAll('_', ' ');
}

const WORDS = {
  sandbox_created: ['Created', (d) => [d.template && `template ${d.template}`, d.engine && `engine ${d.engine}`, d.snapshot && `from snapshot ${d.snapshot}`]],
  sandbox_started: ['Started', (d) => [d.mended && `${d.mended}` !== 'false' && 'its files were repaired; the last changes may be missing']],
  sandbox_stopped: ['Stopped', (d) => [why(d), `${d.kept}` === 'false' && 'its files were not kept']],
  sandbox_paused: ['Paused'],
  sandbox_resumed: ['Resumed'],
  sandbox_extended: ['Lifetime changed', (d) => [d.timeout_ms !== undefined && `time to live: ${time(d.timeout_ms)}`, d.idle_ms !== undefined && `idle limit: ${time(d.idle_ms)}`]],
  network_changed: ['Network changed', (d) => [d.network]],
  snapshot_created: ['Snapshot made', (d) => [d.name || d.snapshot]],
  snapshot_removed: ['Snapshot removed', (d) => [d.name || d.snapshot, why(d)]],
  step_made: ['Step made', (d) => [d.step && `step ${d.step}`]],
  sandbox_undone: ['Undone', (d) => [d.step && `to step ${d.step}`]],
  recording_began: ['Recording began'],
  recording_ended: ['Recording ended', (d) => [{ limit: 'it reached its largest size', disk: 'the disk was full', undone: 'the sandbox was undone' }[d.why] || d.why]],
  file_written: ['File written', (d) => [d.path, d.bytes && format.bytes(Number(d.bytes))]],
  files_changed: ['Files changed', (d) => [d.what, d.path, d.to]],
  sandbox_destroyed: ['Destroyed', (d) => [why(d)]],
  sandbox_error: ['Failed', (d) => [d.text || d.cause]],
  sandbox_recovered: ['Recovered'],
  sandbox_adopted: ['Taken over after a restart of the daemon'],
  files_adopted: ['Restored from files without a record', (d) => [d.name]],
  machine_paired: ['Machine paired', (d) => [d.machine, d.fingerprint]],
  machine_connected: ['Machine connected', (d) => [d.machine]],
  machine_away: ['Machine away', (d) => [d.machine, d.why]],
  machine_disconnected: ['Machine disconnected', (d) => [d.machine]],
  machine_removed: ['Machine removed', (d) => [d.machine]],
  exec_started: ['Command started'],
  exec_ended: ['Command ended', (d) => [howEnded(d)]],
};

/** [what happened, a few words more]. A kind that is not known here is shown as the daemon calls it. */
export function sayEvent(e) {
  const d = e.detail || {};
  const [title, more] = WORDS[e.kind] || [e.kind.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase()), () => []];
  return [title, (more ? more(d) : []).filter(Boolean).join(' · ')];
}

/** Everything that the daemon noted, for who wants to know it exactly. */
export function detailOf(e) {
  return Object.entries(e.detail || {}).map(([k, v]) => `${k}: ${typeof v === 'object' ? JSON.stringify(v) : v}`).join('\n');
}
