// SPDX-License-Identifier: Apache-2.0
// The terminal and what draws it are most of the page's code: fetched when a sandbox is first opened, and not before.
import { h } from './dom.js';

let loading = null;

function style(href) {
  return new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href, onload: resolve, onerror: () => reject(new Error(`${href} did not come`)) }));
  });
}

/** Resolves when <cay-terminal> is known. What did not come is asked for again by the next one. */
export function loadTerminal() {
  loading ??= Promise.all([style('/npm/xterm.css'), style('/terminal.css'), import('./terminal.js')]).catch((e) => { loading = null; throw e; });
  return loading;
}
