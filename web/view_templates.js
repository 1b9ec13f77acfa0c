// SPDX-License-Identifier: Apache-2.0
// What sandboxes are made from.
import { h } from './dom.js';
import { get, path, words } from './api.js';
import { describe } from './view_sandboxes.js';

class Templates extends HTMLElement {
  async connectedCallback() {
    this.append(h('div', { class: 'bar' }, h('h1', {}, 'Templates')));
    try {
      const answer = await get('/api/templates');
      this.append(h('p', { class: 'quiet' }, answer.origin ? `From ${answer.origin}` : 'No registry is loaded: there is the host alone.'),
        h('div', { class: 'cards' }, answer.templates.map((t) => this.#card(t))));
    } catch (e) {
      this.append(h('p', { class: 'problem', role: 'alert' }, words(e)));
    }
  }

  #card(t) {
    const text = h('pre', { class: 'output', tabindex: 0 });
    const more = h('details', { ontoggle: () => { if (more.open && !text.textContent) this.#read(t.name, text); } }, h('summary', {}, t.has_system ? 'SYSTEM.md' : 'All of it'), text);
    return h('article', { class: 'card', 'aria-labelledby': `t-${t.name}` },
      h('h2', { id: `t-${t.name}` }, t.name, h('span', { class: `state ${t.available ? 'ready' : 'error'}` }, t.available ? 'available' : 'not available')),
      !t.available && h('p', { class: 'cause' }, t.why),
      h('dl', { class: 'facts' }, describe(t)),
      t.triggers?.length > 0 && h('p', { class: 'quiet' }, 'Chosen by: ', t.triggers.join(', ')), more);
  }

  async #read(name, place) {
    try {
      const t = await get(path('templates', name));
      place.textContent = t.system || JSON.stringify(t, null, 2);
    } catch (e) { place.textContent = words(e); }
  }
}
customElements.define('cay-templates', Templates);
