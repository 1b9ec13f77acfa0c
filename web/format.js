// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people.

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

export function bytes(n) {
  if (!Number.isFinite(n)) return '–';
  let i = 0;
  while (n >= 1024 && i < UNITS.length - 1) { n /= 1024; i++; }
  return `${n >= 100 || i === 0 ? Math.round(n) : n.toFixed(1).replace('.0', '')} ${UNITS[i]}`;
}

export function span(ms) {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  const two = (n, unit, m, small) => `${n} ${unit}${m ? ` ${m} ${small}` : ''}`;
  if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
  return two(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

/** What is left of a time, to the second: 4:05, 1:00:00. */
export function countdown(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  if (s >= 86400) return span(ms);
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** Short times, to three digits. */
export function fine(ms) {
  if (!Number.isFinite(ms) || ms >= 1000) return span(ms);
  return `${Number(ms.toPrecision(3))} ms`;
}

export function age(at) {
  const ms = Date.now() - Date.parse(at);
  return Number.isFinite(ms) ? span(Math.max(1000, ms)).replace(/\.\d/, '') : '–';
}

function show(at, how) {
  const t = new Date(at);
  return Number.isNaN(t.getTime()) ? '–' : t.toLocaleString(undefined, how);
}

const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }; // as the charts have it
const DAY = { year: 'numeric', month: 'short', day: 'numeric' };
export const clock = (at) => show(at, TIME);
export const day = (at) => show(at, DAY);
export const moment = (at) => show(at, { ...DAY, ...TIME });

export function command(words) {
  if (!Array.isArray(words)) return String(words ?? '');
  if (words.length === 3 && words[0] === '/bin/sh' && words[1] === '-c') return words[2];
  return words.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(' ');
}

export function rate(bytesPerSecond) { return `${bytes(bytesPerSecond)}/s`; }

export const upperFirst = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** There is a box behind it: it can be measured, and has terminals. */
export function isAlive(box) {
  return ['ready', 'busy', 'paused'].includes(box?.status);
}

export function title(box) {
  return box.name || box.project_name || box.sandbox_id;
}

/** A command that could not be started has printed nothing: why is in its cause's text. */
export function hasNotRun(x) {
  return x.cause === 'exited' && [126, 127].includes(x.exit_code) && !x.stdout_bytes && !x.stderr_bytes;
}
