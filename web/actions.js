// SPDX-License-Identifier: Apache-2.0
// What can be done to a sandbox, as data: when, how it is asked, what it calls. Both views make their buttons from this.
import { h, button, iconButton } from './dom.js';
import { call, path, post } from './api.js';
import { ask, fail, note } from './dialogs.js';
import { live } from './live.js';
import { isAlive, title } from './format.js';

export const ACTIONS = [
  { verb: 'start', label: 'Start', icon: 'play', when: (b) => ['stopped', 'error'].includes(b.status), said: 'started' },
  { verb: 'pause', label: 'Pause', icon: 'pause', when: (b) => ['ready', 'busy'].includes(b.status), said: 'paused',
    undo: 'resume' },
  { verb: 'resume', label: 'Resume', icon: 'play', when: (b) => b.status === 'paused', said: 'goes on' },
  { verb: 'stop', label: 'Stop', icon: 'stop', when: isAlive, said: 'stopped', undo: 'start',
    ask: (b) => ({ title: `Stop ${title(b)}?`, text: `Every command in it ends${b.execs_running ? ` (${b.execs_running} running now)` : ''}. Start goes on with it.`, yes: 'Stop it', danger: true }) },
  { verb: 'extend', label: 'Extend its life', short: 'Extend', icon: 'clock', when: isAlive, said: 'has a new life time',
    ask: (b) => ({ title: `How long should ${title(b)} live?`, text: 'Counted from now. 0: until it is destroyed.', yes: 'Extend',
      fields: [h('label', { for: 'timeout' }, 'Time (90s, 30m, 2h)'), h('input', { id: 'timeout', name: 'timeout', value: b.expires_in_ms === null ? '0' : '1h', required: true, autofocus: true, pattern: '[0-9.]+[smhd]?' }),
        h('label', { for: 'idle' }, 'Without use (0: for ever)'), h('input', { id: 'idle', name: 'idle_timeout', value: `${Math.round((b.idle_limit_ms || 0) / 1000)}s`, required: true, pattern: '[0-9.]+[smhd]?' })] }) },
  { verb: 'destroy', label: 'Destroy', icon: 'trash', class: 'danger', when: () => true, said: 'is gone',
    ask: (b) => ({ title: `Destroy ${title(b)}?`, text: 'The sandbox, its files and its history go. This cannot be undone.', yes: 'Destroy it', danger: true }) },
];

function send(verb, id, body) {
  return verb === 'destroy' ? call('DELETE', path('sandboxes', id)) : post(path('sandboxes', id, verb), body);
}

export async function run(action, box) {
  let body = {};
  if (action.ask) {
    body = await ask(action.ask(box));
    if (!body) return false;
  }
  try {
    await send(action.verb, box.sandbox_id, body);
  } catch (e) {
    fail(e);
    return false;
  }
  const undo = action.undo && { label: 'Undo', run: () => send(action.undo, box.sandbox_id, {}).then(() => live.refresh(), fail) };
  note(`${title(box)} ${action.said}.`, { kind: 'good', action: undo });
  live.refresh();
  return true;
}

/** Buttons for every action, as pictures or with their names; setState() hides those that make no sense now. */
export function actionButtons(find, { done, named = false } = {}) {
  const bar = h('div', { class: 'actions', role: 'group', 'aria-label': 'Actions' });
  const made = ACTIONS.map((a) => {
    const props = { class: a.class, 'data-verb': a.verb, onclick: async () => { if (await run(a, find())) done?.(a.verb); } };
    const el = named ? button(a.short || a.label, { 'aria-label': a.label, title: a.label, ...props }, a.icon) : iconButton(a.label, a.icon, props);
    bar.append(el);
    return [a, el];
  });
  bar.setState = (box) => { for (const [a, el] of made) el.hidden = !a.when(box); };
  return bar;
}

/** Why it is as it is: loud when something went wrong, quiet when somebody asked for it. */
export function showCause(el, box) {
  const calm = box.status !== 'error';
  el.classList.toggle('calm', calm);
  el.replaceChildren(...(calm ? [box.cause_text || box.cause] : [h('b', {}, box.cause.replaceAll('_', ' ')), ` ${box.cause_text || ''} `, h('i', {}, box.advice || '')]));
}
