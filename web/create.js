// SPDX-License-Identifier: Apache-2.0
// Making a sandbox: from which template, with what differs from its defaults.
import { h } from './dom.js';
import { get } from './api.js';
import { ask, factList, fail, note, postConfirmed } from './dialogs.js';
import { live } from './live.js';
import * as format from './format.js';

const NETWORKS = { list: 'by rules', bridge: 'internet', learn: 'internet, recorded' };

/** A template's defaults as pairs. */
export function defaults(t) {
  const l = t?.limits || {};
  return [
    ['Memory', l.memory_bytes && format.bytes(l.memory_bytes)], ['Processors', l.cpu_milli && `${l.cpu_milli / 1000}`],
    ['Processes', l.pids], ['Disk', l.disk_bytes && format.bytes(l.disk_bytes)], ['Network', t && (NETWORKS[t.network] || t.network)],
    ['Time per command', l.wall_ms && format.span(l.wall_ms)],
    ['Lifetime', t && (t.life_time_ms ? format.span(t.life_time_ms) : 'no limit')], ['Idle limit', t && (t.idle_time_ms ? format.span(t.idle_time_ms) : 'none')],
    ['Confirmation', t?.needs_confirm ? 'needed for each use' : null],
  ].filter(([, v]) => v);
}

/** What a request would make, for who is asked to confirm it. */
export async function confirmFacts(body) {
  const { templates, default_template: usual } = await get('/api/templates');
  const name = body.template || usual;
  const t = templates.find((x) => x.name === name);
  const own = body.limits || {};
  return [['Template', name], ['About', t?.description], ...defaults(t).filter(([k]) => k !== 'Confirmation').map(([k, v]) => {
    const asked = { Memory: own.memory, Processors: own.cpus, Network: body.network, Lifetime: body.timeout, 'Idle limit': body.idle_timeout }[k];
    return [k, asked || v];
  }), ['Ports', body.ports?.join(', ')], ['Variables', body.env && Object.keys(body.env).join(', ')]];
}

/** "A=1" on a line each. */
function readEnv(text) {
  const pairs = text.split('\n').filter((line) => line.trim()).map((line) => {
    const at = line.indexOf('=');
    if (at < 1) throw Object.assign(new Error(`“${line.trim()}” does not have the form NAME=VALUE.`), { field: 'env' });
    return [line.slice(0, at).trim(), line.slice(at + 1)];
  });
  return pairs.length ? Object.fromEntries(pairs) : undefined;
}

/** The form's values as the request: what was left empty is left out. */
function readForm(v) {
  const body = { limits: {} };
  for (const name of ['template', 'name', 'timeout', 'idle_timeout', 'network']) if (v[name]) body[name] = v[name].trim();
  if (v['limits.memory']) body.limits.memory = v['limits.memory'].trim();
  if (v['limits.cpus']) body.limits.cpus = v['limits.cpus'].trim();
  if (Object.keys(body.limits).length === 0) delete body.limits;
  const ports = v.ports.split(/[\s,]+/).filter(Boolean);
  if (ports.length) body.ports = ports;
  const env = readEnv(v.env);
  if (env) body.env = env;
  return body;
}

function field(name, label, hint, props = {}) {
  const el = h('input', { id: `new-${name}`, name, autocomplete: 'off', placeholder: hint, ...props });
  return h('div', {}, h('label', { for: el.id }, label), el);
}

async function askFor(wanted) {
  const { templates, default_template: usual } = await get('/api/templates');
  const facts = h('div', {});
  const choice = h('select', { id: 'template', name: 'template', autofocus: true }, templates.map((t) => h('option', { value: t.name, disabled: !t.available, selected: t.name === (wanted || usual) }, t.available ? t.name : `${t.name} (${t.why})`)));
  const more = h('div', { class: 'form-grid' },
    field('limits.memory', 'Memory', '512m'), field('limits.cpus', 'Processors', '0.5'),
    field('timeout', 'Lifetime', ''), field('idle_timeout', 'Idle limit', ''),
    h('div', {}, h('label', { for: 'new-network' }, 'Network'), h('select', { id: 'new-network', name: 'network' }, [['', ''], ['none', 'None'], ['bridge', 'Internet'], ['learn', 'Internet, recorded for a policy']].map(([v, t]) => h('option', { value: v }, t)))),
    field('ports', 'Published ports', 'for example 8080, 3000'));
  const show = () => {
    const t = templates.find((x) => x.name === choice.value);
    const l = t?.limits || {};
    facts.replaceChildren(factList([['About', t?.description], ...defaults(t)]));
    const hint = (name, text) => { if (text) more.querySelector(`[name="${name}"]`).placeholder = text; };
    hint('limits.memory', l.memory_bytes && format.bytes(l.memory_bytes).replace(' ', '').toLowerCase().replace('b', ''));
    hint('limits.cpus', l.cpu_milli && `${l.cpu_milli / 1000}`);
    hint('timeout', t?.life_time_ms ? format.span(t.life_time_ms) : 'no limit');
    hint('idle_timeout', t?.idle_time_ms ? format.span(t.idle_time_ms) : 'no limit');
    more.querySelector('[name=network]').options[0].textContent = `As in the template (${NETWORKS[t?.network] || t?.network || 'none'})`;
  };
  choice.addEventListener('change', show);
  show();
  return ask({
    title: 'New sandbox', yes: 'Create',
    fields: [h('label', { for: 'template' }, 'Template'), choice, facts,
      field('name', 'Name (optional)', 'a-z, 0-9 and -', { maxlength: 63, id: 'name' }),
      h('details', { class: 'more' }, h('summary', {}, 'Limits, network, variables'), more,
        h('p', { class: 'quiet small' }, 'Sizes like 512m or 2g, times like 90s, 30m or 2h, 0 for no limit. Anything left empty is taken from the template.'),
        h('label', { for: 'new-env' }, 'Environment variables, one NAME=VALUE per line'), h('textarea', { id: 'new-env', name: 'env', class: 'code', rows: 3, spellcheck: 'false' }))],
    send: async (values) => {
      const body = readForm(values);
      return postConfirmed('/api/sandboxes', body, { facts: () => confirmFacts(body) });
    },
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
    const box = await askOnce(template);
    if (!box) return null;
    const told = note(`${format.title(box)} is ready.`, { kind: 'good', action: { label: 'Open', run: () => { location.hash = `#/sandbox/${box.sandbox_id}`; } } });
    addEventListener('hashchange', () => told.remove(), { once: true }); // who goes there, or elsewhere, has seen it
    live.refresh();
    return box;
  } catch (e) {
    fail(e);
    return null;
  }
}
