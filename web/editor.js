// SPDX-License-Identifier: Apache-2.0
// Editing a small text file. It is written as it was read but for what was changed: its line ends stay (a text field knows \n alone), and what
// somebody else wrote meanwhile is not overwritten unasked (if_tag).
import { h, button } from './dom.js';
import * as api from './api.js';
import { ask, note } from './dialogs.js';
import * as format from './format.js';

const ENDS = /\r\n|\n|\r/g;

/** The most frequent of the line ends in a text. */
function usualEnd(ends) {
  const count = (end) => ends.filter((e) => e === end).length;
  return ['\n', '\r\n', '\r'].reduce((best, end) => (count(end) > count(best) ? end : best), '\n');
}

/** `text` (with \n) with the line ends of `was`: lines at the start and at the end that did not change keep theirs, the others get the usual one. */
export function withLineEnds(text, was) {
  const ends = was.match(ENDS) || [];
  if (!ends.some((e) => e !== '\n')) return text;
  const usual = usualEnd(ends);
  const before = was.split(ENDS);
  const after = text.split('\n');
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return after.map((line, i) => {
    if (i === after.length - 1) return line;
    const fromEnd = after.length - 1 - i; // of this line's end, counted from the last one
    if (i < head && i < ends.length) return line + ends[i];
    if (fromEnd <= tail && fromEnd <= ends.length) return line + ends[ends.length - fromEnd];
    return line + usual;
  }).join('');
}

/** The text and the tag of a file; null: it is no text. The tag is read first: what changes in between is noticed when it is saved. */
export async function readText(base, path) {
  const { tag } = await api.get(`${base}/stat?path=${path}&follow=true`);
  const bytes = await (await api.ask('GET', `${base}?path=${path}`)).arrayBuffer();
  try {
    return { tag, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch { return null; }
}

/** file: {text, tag} of readText. Resolves when the dialog is closed. */
export async function editText(base, path, title, file) {
  const plain = (text) => text.replace(ENDS, '\n');
  let { text: was, tag } = file;
  let field = null;
  const readOnly = !api.may('exec');
  const isDirty = () => !readOnly && field && field.value !== plain(was);
  const said = h('p', { class: 'quiet small', role: 'status' });
  const tell = (problem) => { said.textContent = api.words(problem); };
  const clash = h('div', { class: 'clash', role: 'alert', hidden: true },
    h('p', {}, 'This file was changed in the sandbox after you opened it.'),
    h('div', { class: 'row' }, button('Load the new version', { onclick: () => load().catch(tell) }), button('Overwrite it', { class: 'danger', onclick: () => { tag = ''; save().catch(tell); } })));

  const load = async () => {
    const now = await readText(base, path);
    if (!now) return;
    ({ text: was, tag } = now);
    field.value = was;
    clash.hidden = true;
    said.textContent = 'Loaded.';
  };
  /** true: it is as the field has it. */
  const save = async () => {
    const text = withLineEnds(field.value, was);
    try {
      ({ tag } = await api.call('PUT', `${base}?path=${path}${tag ? `&if_tag=${tag}` : ''}`, undefined, { bytes: text }));
    } catch (e) {
      if (e.status !== 409 || e.field !== 'if_tag') throw e;
      clash.hidden = false;
      return false;
    }
    was = text;
    clash.hidden = true;
    said.textContent = `Saved at ${format.clock(Date.now())}`;
    return true;
  };
  let saving = Promise.resolve();
  const onKey = (e) => {
    if (e.key.toLowerCase() !== 's' || !(e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    if (!readOnly) saving = saving.then(save).catch(tell);
  };
  field = h('textarea', { name: 'text', class: 'code', rows: 18, spellcheck: 'false', 'aria-label': `Text of ${title}`, autofocus: true, value: was, readonly: readOnly, onkeydown: onKey });
  const done = await ask({
    title, wide: true, yes: readOnly ? 'Close' : 'Save', no: readOnly ? '' : 'Cancel', isDirty,
    fields: [field, clash, said],
    send: async () => {
      if (readOnly) return true;
      await saving;
      return await save() ? true : null;
    },
  });
  if (done && !readOnly) note(`${title} is saved.`, { kind: 'good' });
}
