// SPDX-License-Identifier: Apache-2.0
// What sandboxes are made from.
import { h, button, icon, setText } from './dom.js';
import { get, may, path, words } from './api.js';
import { createSandbox, defaults } from './create.js';
import './template_build.js';

const NONE = ['no limit', 'none'];

class Templates extends HTMLElement {
  async connectedCallback() {
    const from = h('span', { class: 'quiet' });
    const cards = h('div', { class: 'cards' }, Array.from({ length: 3 }, () => h('div', { class: 'card', 'aria-hidden': 'true' }, h('span', { class: 'ghost' }))));
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Templates'), from), cards);
    try {
      const [answer, who] = await Promise.all([get('/api/templates'), get('/api/whoami')]);
      from.textContent = answer.origin && answer.origin !== 'built-in' ? `from ${answer.origin}` : 'built in';
      cards.replaceChildren(...answer.templates.map((t) => this.#card(t, who.scope === 'admin')));
    } catch (e) {
      cards.replaceWith(h('p', { class: 'problem', role: 'alert' }, words(e)));
    }
  }

  #card(t, isAdmin) {
    const build = t.build && t.build.state && document.createElement('cay-build');
    const state = h('span', {});
    const why = h('p', { class: 'cause' });
    const make = button('New sandbox', { hidden: !may('exec'), 'aria-label': `New sandbox from ${t.name}`, onclick: () => this.#create(t.name) }, 'plus');
    const setAvailable = (is) => {
      state.className = `state ${is.available ? 'ready' : 'error'}`;
      setText(state, is.available ? 'available' : 'not available');
      setText(why, is.available ? '' : is.why || '');
      make.disabled = !is.available;
    };
    setAvailable(t);
    build?.show(t, isAdmin);
    build?.addEventListener('settled', (e) => setAvailable(e.detail));
    return h('article', { class: 'card template', 'aria-labelledby': `t-${t.name}` },
      h('header', {}, icon('layers'), h('h2', { id: `t-${t.name}` }, t.name), h('span', { class: 'grow' }), state),
      h('p', { class: 'about quiet' }, t.description || 'No description.'),
      why,
      h('div', { class: 'chips' }, defaults(t).filter(([k, v]) => !(['Lifetime', 'Idle limit'].includes(k) && NONE.includes(v))).map(([k, v]) => h('span', { class: 'chip' }, h('span', {}, k), h('b', {}, String(v))))),
      t.triggers?.length > 0 && h('div', { class: 'chips triggers' }, h('span', { class: 'quiet small' }, 'Triggers'), t.triggers.map((w) => h('span', { class: 'chip' }, w))),
      build || null,
      h('div', { class: 'row' }, make),
      this.#more(t));
  }

  #more(t) {
    const text = h('pre', { class: 'output', tabindex: 0, 'aria-label': t.has_system ? `SYSTEM.md of ${t.name}` : `Details of ${t.name}` });
    const el = h('details', { ontoggle: () => { if (el.open && !text.textContent) this.#read(t.name, text); } }, h('summary', {}, t.has_system ? 'SYSTEM.md' : 'Details'), text);
    return el;
  }

  async #create(name) {
    const box = await createSandbox(name);
    if (box) location.hash = `#/sandbox/${box.sandbox_id}`;
  }

  async #read(name, place) {
    try {
      const t = await get(path('templates', name));
      place.textContent = t.system || JSON.stringify(t, null, 2);
    } catch (e) { place.textContent = words(e); }
  }
}
customElements.define('cay-templates', Templates);
