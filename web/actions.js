// SPDX-License-Identifier: Apache-2.0
// What can be done to a sandbox, as data: when, how it is asked, what it calls. Both views make their buttons from this.
import { h, button, iconButton } from './dom.js';
import { call, may, path, post } from './api.js';
import { ask, fail, note } from './dialogs.js';
import { live } from './live.js';
import { adviceOf, saidOf } from './cause_words.js';
import { isAlive, span, title } from './format.js';

const SOON_MS = 60 * 60 * 1000; // less than this is likely to be too little

export const ACTIONS = [
  { verb: 'start', label: 'Start', icon: 'play', when: (b) => ['stopped', 'error'].includes(b.status), said: 'was started' },
  { verb: 'pause', label: 'Pause', icon: 'pause', when: (b) => ['ready', 'busy'].includes(b.status), said: 'was paused',
    undo: 'resume' },
  { verb: 'resume', label: 'Resume', icon: 'play', when: (b) => b.status === 'paused', said: 'was resumed' },
  { verb: 'stop', label: 'Stop', icon: 'stop', when: isAlive, said: 'was stopped', undo: 'start',
    ask: (b) => ({ title: `Stop “${title(b)}”?`, text: `${b.execs_running ? `Its commands are ended (${b.execs_running} running now). ` : ''}Its files are kept, and you can start it again.`, yes: 'Stop', danger: true }) },
  { verb: 'extend', label: 'Change the lifetime', short: 'Lifetime', icon: 'clock', when: isAlive, said: 'has a new lifetime',
    ask: (b) => ({ title: `Change the lifetime of “${title(b)}”`, text: 'Times like 90s, 30m or 2h; 0 means no limit. Anything left empty stays as it is.', yes: 'Change',
      fields: [h('label', { for: 'timeout' }, 'Lifetime, counted from now'), h('input', { id: 'timeout', name: 'timeout', autocomplete: 'off', placeholder: `now: ${b.expires_in_ms === null ? 'no limit' : `${span(b.expires_in_ms)} left`}`, value: b.expires_in_ms !== null && b.expires_in_ms < SOON_MS ? '1h' : '', autofocus: true }),
        h('label', { for: 'idle' }, 'Idle limit'), h('input', { id: 'idle', name: 'idle_timeout', autocomplete: 'off', placeholder: `now: ${b.idle_limit_ms ? span(b.idle_limit_ms) : 'no limit'}` })] }),
    body: (v) => {
      const body = Object.fromEntries(Object.entries(v).map(([k, text]) => [k, text.trim()]).filter(([, text]) => text));
      if (Object.keys(body).length === 0) throw Object.assign(new Error('Enter a lifetime or an idle limit.'), { field: 'timeout' });
      return body;
    } },
  { verb: 'destroy', label: 'Destroy', icon: 'trash', class: 'danger', when: () => true, said: 'was destroyed',
    ask: (b) => ({ title: `Destroy “${title(b)}”?`, text: 'The sandbox and its files are deleted. This cannot be undone.', yes: 'Destroy', danger: true }) },
];

function send(verb, id, body) {
  return verb === 'destroy' ? call('DELETE', path('sandboxes', id)) : post(path('sandboxes', id, verb), body);
}

export async function run(action, box) {
  const act = async (values) => { await send(action.verb, box.sandbox_id, action.body ? action.body(values) : values); return true; };
  try {
    // What is wrong with what was typed is said in the dialog; what is wrong otherwise, when it is closed.
    const asked = action.ask?.(box);
    const done = !asked ? await act({}) : asked.fields ? await ask({ ...asked, send: act }) : await ask(asked) && await act({});
    if (!done) return false;
  } catch (e) {
    fail(e);
    return false;
  }
  const undo = action.undo && { label: 'Undo', run: () => send(action.undo, box.sandbox_id, {}).then(() => live.refresh(), fail) };
  note(`${title(box)} ${action.said}.`, { kind: 'good', action: undo });
  live.refresh();
  return true;
}

/** One action on several: asked once, done one after the other; what could not be done is told together. */
export async function runAll(action, boxes) {
  const some = boxes.filter((b) => action.when(b));
  if (some.length === 0) return;
  const count = `${some.length} sandbox${some.length > 1 ? 'es' : ''}`;
  const yes = !action.ask || await ask({ title: `${action.label} ${count}?`, text: action.verb === 'destroy' ? 'The sandboxes and their files are deleted. This cannot be undone.' : some.map(title).slice(0, 10).join(', ') + (some.length > 10 ? ', …' : ''), yes: action.label, danger: true });
  if (!yes) return;
  const failed = [];
  for (const b of some) await send(action.verb, b.sandbox_id, {}).catch((e) => failed.push(`${title(b)}: ${e.message}`));
  if (failed.length) note(`${failed.length} of ${count} failed. ${failed[0]}`, { kind: 'bad', ms: 10000 });
  else note(`${count} ${some.length > 1 ? action.said.replace(/^was/, 'were') : action.said}.`, { kind: 'good' });
  live.refresh();
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
  bar.setState = (box) => { for (const [a, el] of made) el.hidden = !may('exec') || !a.when(box); };
  return bar;
}

/** Why it is as it is: loud when something went wrong, quiet when somebody asked for it. */
export function showCause(el, box) {
  const calm = box.status !== 'error';
  el.classList.toggle('calm', calm);
  el.replaceChildren(...(calm ? [saidOf(box)] : [saidOf(box), ' ', h('i', {}, adviceOf(box, true))]));
}
