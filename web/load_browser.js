// SPDX-License-Identifier: Apache-2.0
// The pane of the browser. What draws it is fetched when the pane is first opened, and not before.
import { h } from './dom.js';

let loading = null;

/** What did not come is asked for again by the next one. */
function load() {
  loading ??= Promise.all([new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href: '/browser.css', onload: resolve, onerror: () => reject(new Error('it did not come')) }));
  }), import('./browser.js')]).catch((e) => { loading = null; throw e; });
  return loading;
}

class Pane extends HTMLElement {
  async connectedCallback() {
    this.append(h('p', { class: 'quiet', role: 'status' }, 'Loading…'));
    try {
      await load();
    } catch {
      this.timer = setTimeout(() => { if (this.isConnected) { this.replaceChildren(); this.connectedCallback(); } }, 1000);
      return;
    }
    if (!this.isConnected) return;
    const el = document.createElement('cay-browser');
    el.setAttribute('sandbox', this.getAttribute('sandbox'));
    this.replaceChildren(el);
  }

  disconnectedCallback() { clearTimeout(this.timer); }
}
customElements.define('cay-browser-pane', Pane);
