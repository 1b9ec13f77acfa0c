// SPDX-License-Identifier: Apache-2.0
// Questions (the browser's own dialog: focus stays inside, Escape closes) and short notes at the edge.
import { h, button, iconButton } from './dom.js';
import { ApiError, post, words } from './api.js';
import { upperFirst } from './format.js';


/** Says at a field of a form what is wrong with it, or below all of them when it is about none. */
function showProblem(form, place, e) {
  for (const el of form.querySelectorAll('.field-problem')) el.remove();
  for (const el of form.querySelectorAll('[aria-invalid]')) { el.removeAttribute('aria-invalid'); el.removeAttribute('aria-describedby'); }
  place.textContent = '';
  if (!e) return;
  const text = words(e);
  const about = e.field || /^([a-z_.]+): /.exec(text)?.[1] || '';
  const field = [...form.elements].find((el) => el.name && (el.name === about || about.startsWith(`${el.name}.`)));
  if (!field) {
    place.textContent = upperFirst(text);
    return;
  }
  field.closest('details')?.setAttribute('open', '');
  field.setAttribute('aria-invalid', 'true');
  field.setAttribute('aria-describedby', 'field-problem');
  field.after(h('p', { class: 'field-problem', id: 'field-problem', role: 'alert' }, upperFirst(text.startsWith(`${about}: `) ? text.slice(about.length + 2) : text)));
  field.focus();
}

/**
 * Resolves with the form's values, or null when it was cancelled. fields: elements with names.
 * send(values): does it while the dialog is open; what it returns is the answer, and what it throws is shown at its field. null: stay open.
 * danger: it cannot be undone, so Enter means "Cancel" until somebody chooses the other button.
 * isDirty(): whether something would be lost by closing; then Escape and Cancel ask first.
 */
export function ask({ title, text, fields = [], yes = 'OK', no = 'Cancel', danger = false, send = (values) => values, isDirty = () => false, wide = false, onForm }) {
  return new Promise((resolve) => {
    const done = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    const cancel = async () => {
      if (!isDirty() || await ask({ title: 'Discard your changes?', text: 'They have not been saved.', yes: 'Discard', no: 'Keep editing', danger: true })) done(null);
    };
    const submit = async (e) => {
      e.preventDefault();
      if (go.disabled) return; // it is on its way
      go.disabled = true;
      showProblem(form, problem, null);
      try {
        const answer = await send(Object.fromEntries(new FormData(form)));
        if (answer !== null && answer !== undefined) { done(answer); return; }
      } catch (e2) {
        if (e2 instanceof ApiError && e2.status === 401) { done(null); return; }
        showProblem(form, problem, e2);
      }
      go.disabled = false;
    };
    const id = `ask-${document.querySelectorAll('dialog').length}`; // one may stand over another
    const go = h('button', { type: 'submit', class: danger ? 'danger solid' : 'primary', autofocus: fields.length === 0 && !danger }, yes);
    const problem = h('p', { class: 'problem', role: 'alert' });
    const form = h('form', { method: 'dialog', novalidate: true, onsubmit: submit },
      h('h2', { id }, title), text && h('p', { class: 'pre-line' }, text), fields, problem,
      h('div', { class: 'row end' }, no && button(no, { onclick: cancel, autofocus: danger && fields.length === 0 }), go));
    const dialog = h('dialog', { class: wide ? 'wide' : null, 'aria-labelledby': id, oncancel: (e) => { e.preventDefault(); cancel(); } }, form);
    // What was wrong is no longer so when it is changed.
    form.addEventListener('input', (e) => { if (e.target.matches('[aria-invalid]')) showProblem(form, problem, null); });
    document.body.append(dialog);
    dialog.showModal();
    onForm?.(form);
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
  if (e.name !== 'AbortError') note(upperFirst(words(e)), { kind: 'bad', ms: 10000 });
}

/** Pairs as a list of facts. */
export function factList(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(([, v]) => v).flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))]));
}

/**
 * POST that may be asked to confirm (428): the daemon says what for, a person sees what would run and says yes, and the same request goes again with
 * the token. facts(): pairs that say what it is; code: what would run.
 */
export async function postConfirmed(url, body, { send = (b) => post(url, b), facts = async () => [], code = '' } = {}) {
  try {
    return await send(body);
  } catch (e) {
    if (!(e instanceof ApiError) || e.status !== 428 || !e.confirm) throw e;
    const shown = factList(await facts().catch(() => []));
    const yes = await ask({
      title: 'Confirm this request', text: `${upperFirst(e.confirmWhy)}. Your confirmation is for this request only.`, yes: 'Allow once', wide: Boolean(code),
      fields: [shown.children.length > 0 && shown, code && h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Code that would run' }, code)],
    });
    if (!yes) return null;
    return send({ ...body, confirm: e.confirm });
  }
}
