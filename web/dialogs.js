// SPDX-License-Identifier: Apache-2.0
// Questions (the browser's own dialog: focus stays inside, Escape closes) and short notes at the edge.
import { h, button, iconButton } from './dom.js';
import { ApiError, post, words } from './api.js';

/** Resolves with the form's values, or null. fields: elements with names. */
export function ask({ title, text, fields = [], yes = 'OK', no = 'Cancel', danger = false }) {
  return new Promise((resolve) => {
    const done = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    const form = h('form', {
      method: 'dialog',
      onsubmit: (e) => { e.preventDefault(); done(Object.fromEntries(new FormData(form))); },
    },
    h('h2', { id: 'ask-title' }, title), text && h('p', { class: 'pre-line' }, text), fields,
    h('div', { class: 'row end' },
      no && button(no, { onclick: () => done(null) }),
      h('button', { type: 'submit', class: danger ? 'danger solid' : 'primary', autofocus: fields.length === 0 }, yes)));
    const dialog = h('dialog', { 'aria-labelledby': 'ask-title', oncancel: (e) => { e.preventDefault(); done(null); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

let shelf;
/** A note that goes by itself; `action` is a button on it, to undo or to go on. */
export function note(text, { kind = 'info', action, ms = 6000 } = {}) {
  shelf ??= document.body.appendChild(h('div', { class: 'notes', role: 'status', 'aria-live': 'polite' }));
  const el = h('div', { class: `note ${kind}` }, h('span', {}, text),
    action && button(action.label, { onclick: () => { el.remove(); action.run(); } }),
    iconButton('Dismiss', 'close', { onclick: () => el.remove() }));
  shelf.append(el);
  if (ms) setTimeout(() => el.remove(), ms);
  return el;
}

export function fail(e) {
  if (e instanceof ApiError && e.status === 401) return;
  if (e.name !== 'AbortError') note(words(e), { kind: 'bad', ms: 10000 });
}

const upperFirst = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** POST that may be asked to confirm (428): the daemon says what for, a person says yes, the same request goes again with the token. */
export async function postConfirmed(url, body, send = (b) => post(url, b)) {
  try {
    return await send(body);
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 428 || !e.confirm) throw e;
    const yes = await ask({ title: 'This needs your word', text: `${upperFirst(e.message.split(': send the same')[0])}. Your word holds for this one request.`, yes: 'Allow it once' });
    if (!yes) return null;
    return send({ ...body, confirm: e.confirm });
  }
}
