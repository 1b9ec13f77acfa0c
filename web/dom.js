// SPDX-License-Identifier: Apache-2.0
// Making elements. Text is always text: nothing here (or anywhere in the page) parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

function put(el, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) el.addEventListener(key.slice(2), value);
    else if (key === 'class') el.setAttribute('class', value);
    else if (key === 'value') el.value = value;
    else el.setAttribute(key, value === true ? '' : String(value));
  }
}

/** h('a', {href, onclick}, 'text', element, [more]) */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  put(el, props);
  el.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

export function svg(tag, props = {}, ...children) {
  const el = document.createElementNS(SVG, tag);
  put(el, props);
  el.append(...children);
  return el;
}

const PATHS = {
  play: 'M7 5v14l12-7z',
  stop: 'M7 7h10v10H7z',
  pause: 'M7 5h4v14H7zM14 5h4v14h-4z',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16m1 4v4.2l3 1.8-1 1.6-4-2.4V8z',
  trash: 'M9 4h6l1 2h4v2H4V6h4zM6 9h12l-1 11H7z',
  plus: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
  folder: 'M4 6h6l2 2h8v11H4z',
  file: 'M6 3h8l5 5v13H6zm7 1.5V9h4.5z',
  up: 'M12 5l7 7h-4v7H9v-7H5z',
  down: 'M12 19l-7-7h4V5h6v7h4z',
  open: 'M5 5h6v2H7v10h10v-4h2v6H5zM13 5h6v6h-2V8.4l-6 6L9.6 13l6-6H13z',
  refresh: 'M12 5a7 7 0 0 1 6.6 4.7l-1.9.7A5 5 0 1 0 16.2 15H13v-2h6.5v6.5h-2v-3A7 7 0 1 1 12 5',
};

/** A picture that says nothing to a screen reader: the text beside it, or the button's label, does. */
export function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: PATHS[name] }));
}

export function button(label, props = {}, picture = null) {
  return h('button', { type: 'button', ...props }, picture && icon(picture), h('span', {}, label));
}

export function iconButton(label, picture, props = {}) {
  return h('button', { type: 'button', 'aria-label': label, title: label, ...props, class: `bare-button ${props.class || ''}` }, icon(picture));
}

/** Only what changed is written: hundreds of rows are asked this every second. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}
