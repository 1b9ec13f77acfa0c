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

/** Appends texts and elements; what is null, undefined or false is left out, so that a child may depend on a condition. */
export function add(el, ...children) {
  el.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

/** h('a', {href, onclick}, 'text', element, [more]) */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  put(el, props);
  return add(el, ...children);
}

export function svg(tag, props = {}, ...children) {
  const el = document.createElementNS(SVG, tag);
  put(el, props);
  el.append(...children);
  return el;
}

const PATHS = { // drawn with a pen, on a sheet of 24 by 24
  play: 'M8 5.5v13l10.5-6.5z',
  stop: 'M7 7h10v10H7z',
  pause: 'M9 6v12M15 6v12',
  clock: 'M12 4a8 8 0 1 0 0 16a8 8 0 0 0 0-16M12 8v4.5l3 2',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 11v5M13.5 11v5',
  plus: 'M12 5v14M5 12h14',
  folder: 'M4 18.5V6h5.5l2 2.5H20v10z',
  file: 'M6.5 3.5h7l4 4v13h-11zM13.5 3.5v4h4',
  pen: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  copy: 'M9 8.5h10v11H9zM15 8.5v-4H5v11h4',
  split: 'M4 5.5h16v13H4zM12 5.5v13',
  up: 'M12 16V5M7.5 9.5L12 5l4.5 4.5M5 19.5h14',
  down: 'M12 4.5v11M7.5 11l4.5 4.5 4.5-4.5M5 19.5h14',
  open: 'M10 5H5v14h14v-5M13.5 5H19v5.5M19 5l-8 8',
  refresh: 'M19 12a7 7 0 1 1-2.2-5.1M19 4v4.5h-4.5',
  back: 'M19 12H5.5M11 6.5L5.5 12l5.5 5.5',
  forward: 'M5 12h13.5M13 6.5l5.5 5.5-5.5 5.5',
  close: 'M6.5 6.5l11 11M17.5 6.5l-11 11',
  search: 'M10.5 4.5a6 6 0 1 0 0 12a6 6 0 0 0 0-12M15 15l5 5',
  keyboard: 'M3.5 7h17v10h-17zM7 10.5h.01M10.3 10.5h.01M13.6 10.5h.01M17 10.5h.01M8.5 14h7',
  leave: 'M10 5H5v14h5M14.5 8l4 4-4 4M18.5 12H9.5',
  box: 'M12 3.5l7.5 4.2v8.6L12 20.5l-7.5-4.2V7.7zM4.5 7.7L12 12l7.5-4.3M12 12v8.5',
  chat: 'M4.5 5.5h15v10.5h-8L7 19.5V16H4.5zM8.5 9h7M8.5 12h4.5',
  layers: 'M12 4l8 4.5-8 4.5-8-4.5zM4 13l8 4.5 8-4.5',
  laptop: 'M6 6h12v8.5H6zM3.5 18.5h17',
  chart: 'M4 19.5h16M6.5 16v-4M12 16V6M17.5 16v-7',
  terminal: 'M5 6.5l5 5.5-5 5.5M12.5 18h7',
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

/** key -> {as: how it was drawn, el} of each item; one that is as it was in `rows` keeps its element. `draw` is given the one before. */
export function keepRows(rows, items, keyOf, draw) {
  return new Map(items.map((item) => {
    const key = keyOf(item);
    const was = rows.get(key);
    const as = JSON.stringify(item);
    return [key, was?.as === as ? was : { as, el: draw(item, was?.el) }];
  }));
}

/** The children of `list`, in this order. Those that stay are not taken out: a click that has begun on one goes on. */
export function setChildren(list, wanted) {
  const keep = new Set(wanted);
  for (const el of [...list.children]) if (!keep.has(el)) el.remove();
  let at = list.firstElementChild;
  for (const el of wanted) {
    if (el === at) at = at.nextElementSibling;
    else list.insertBefore(el, at);
  }
}

/** Only what changed is written: hundreds of rows are asked this every second. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}
