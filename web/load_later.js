// SPDX-License-Identifier: Apache-2.0
// Parts of the page that are fetched when they are first needed, and not before: terminals, browsers, desktops.
import { h } from './dom.js';

function style(href) {
  return new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href, onload: resolve, onerror: () => reject(new Error(`${href} did not come`)) }));
  });
}

/** A function that fetches styles and code once. What did not come is asked for again by the next call. */
function loader(styles, load) {
  let loading = null;
  return () => {
    loading ??= Promise.all([...styles.map(style), load()]).catch((e) => { loading = null; throw e; });
    return loading;
  };
}

/** Resolves when <cay-terminal> is known. */
export const loadTerminal = loader(['/npm/xterm.css', '/terminal.css'], () => import('./terminal.js'));

/** An element that becomes `inner`, of the same sandbox, when the code of that has come. */
function definePane(name, inner, load) {
  customElements.define(name, class extends HTMLElement {
    async connectedCallback() {
      this.append(h('p', { class: 'quiet', role: 'status' }, 'Loading…'));
      try {
        await load();
      } catch {
        this.timer = setTimeout(() => { if (this.isConnected) { this.replaceChildren(); this.connectedCallback(); } }, 1000);
        return;
      }
      if (!this.isConnected) return;
      const el = document.createElement(inner);
      el.setAttribute('sandbox', this.getAttribute('sandbox'));
      this.replaceChildren(el);
    }

    disconnectedCallback() { clearTimeout(this.timer); }
  });
}

definePane('cay-browser-pane', 'cay-browser', loader(['/browser.css'], () => import('./browser.js')));
definePane('cay-desktop', 'cay-desktop-screen', loader(['/desktop.css'], () => import('./desktop.js')));
