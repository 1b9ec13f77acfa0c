// SPDX-License-Identifier: Apache-2.0
// Who are you? By the one-time link (app.js spends it), or by a token.
import { h } from './dom.js';
import * as api from './api.js';

class SignIn extends HTMLElement {
  connectedCallback() {
    const said = h('p', { class: 'problem', role: 'alert', id: 'sign-in-problem' }, this.getAttribute('message') || '');
    const field = h('input', { id: 'token', name: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false', 'aria-describedby': 'sign-in-problem' });
    const enter = async (e) => {
      e.preventDefault();
      api.setToken(field.value.trim());
      try {
        await api.get('/api/whoami');
        this.dispatchEvent(new Event('signed-in', { bubbles: true }));
      } catch (problem) {
        api.setToken('');
        said.textContent = problem.status === 401 ? 'This token is wrong or has expired.' : api.words(problem);
        field.focus();
      }
    };
    this.append(h('main', { id: 'main', class: 'sign-in' },
      h('img', { src: '/favicon.svg', alt: '', width: 56, height: 56 }),
      h('h1', {}, 'Sign in to Cay'),
      said,
      h('section', { class: 'card' }, h('h2', {}, 'With a link'),
        h('p', {}, 'Open the link that ', h('code', {}, 'make run'), ' or ', h('code', {}, 'cay token --login'), ' prints. It works once and is valid for ten minutes.')),
      h('form', { class: 'card', onsubmit: enter }, h('h2', {}, 'Or with a token'),
        h('label', { for: 'token' }, 'Token or API key'), field,
        h('p', { class: 'quiet' }, h('code', {}, 'cay token'), ' prints one. It is kept only in this tab’s memory, so reloading the page forgets it.'),
        h('button', { type: 'submit', class: 'primary' }, 'Sign in'))));
    field.focus();
  }
}
customElements.define('cay-sign-in', SignIn);
