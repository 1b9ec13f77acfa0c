// SPDX-License-Identifier: Apache-2.0
// Making a sandbox: from which template, with its defaults shown.
import { h } from './dom.js';
import { get } from './api.js';
import { ask, fail, note, postConfirmed } from './dialogs.js';
import { live } from './live.js';
import * as format from './format.js';

/** A template's defaults as pairs. */
export function defaults(t) {
  const l = t?.limits || {};
  return [
    ['Memory', l.memory_bytes && format.bytes(l.memory_bytes)], ['Processors', l.cpu_milli && `${l.cpu_milli / 1000}`],
    ['Processes', l.pids], ['Disk', l.disk_bytes && format.bytes(l.disk_bytes)], ['Network', t?.network],
    ['Lives', t && (t.life_time_ms ? format.span(t.life_time_ms) : 'until destroyed')], ['Asks first', t?.needs_confirm ? 'yes' : null],
  ].filter(([, v]) => v);
}

function describe(t) {
  return [['About', t?.description], ...defaults(t)].filter(([, v]) => v).flatMap(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))]);
}

async function askFor(wanted) {
  const { templates } = await get('/api/templates');
  const facts = h('dl', { class: 'facts' });
  const choice = h('select', { id: 'template', name: 'template', autofocus: true }, templates.map((t) => h('option', { value: t.name, disabled: !t.available, selected: t.name === wanted }, t.available ? t.name : `${t.name} (${t.why})`)));
  const life = h('input', { id: 'life', name: 'timeout', pattern: '[0-9.]+[smhd]?' });
  const show = () => {
    const t = templates.find((x) => x.name === choice.value);
    facts.replaceChildren(...describe(t));
    life.placeholder = t?.life_time_ms ? format.span(t.life_time_ms) : 'as configured';
  };
  choice.addEventListener('change', show);
  show();
  return ask({
    title: 'New sandbox', yes: 'Create',
    fields: [h('label', { for: 'template' }, 'Template'), choice, facts,
      h('label', { for: 'name' }, 'Name (optional)'), h('input', { id: 'name', name: 'name', maxlength: 63, autocomplete: 'off' }),
      h('label', { for: 'life' }, 'Life time (90s, 30m, 2h; empty: the template’s)'), life],
  });
}

let isAsked = false;
/** One question, however often the button is pressed before it is there. */
async function askOnce(wanted) {
  if (isAsked) return null;
  isAsked = true;
  try { return await askFor(wanted); } finally { isAsked = false; }
}

/** Resolves with the sandbox, or null. */
export async function createSandbox(template = '') {
  try {
    const given = await askOnce(template);
    if (!given) return null;
    const box = await postConfirmed('/api/sandboxes', Object.fromEntries(Object.entries(given).filter(([, v]) => v)));
    if (!box) return null;
    note(`${format.title(box)} is ready.`, { kind: 'good', action: { label: 'Open', run: () => { location.hash = `#/sandbox/${box.sandbox_id}`; } } });
    live.refresh();
    return box;
  } catch (e) {
    fail(e);
    return null;
  }
}
