// SPDX-License-Identifier: Apache-2.0
// Copying text. Pages without TLS, except on loopback, have no clipboard of their own: there the browser copies what is selected.
import { h } from './dom.js';
import { note } from './dialogs.js';

function copySelected(text) {
  const field = h('textarea', { class: 'offscreen', value: text, readonly: true });
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  return done;
}

/** said: what a person is told when it is on the clipboard. */
export async function copy(text, said) {
  const had = document.activeElement;
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else if (!copySelected(text)) throw new Error('refused');
    note(said, { kind: 'good', ms: 3000 });
  } catch { note(`The browser does not allow copying. The text is: ${text}`, { ms: 15000 }); }
  had?.focus?.();
}
