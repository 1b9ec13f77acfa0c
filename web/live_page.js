// SPDX-License-Identifier: Apache-2.0
// The page that a link to a browser opens (cay browser live). All that it may do is in the link: the path of one WebSocket and a token for that, behind
// '#', so that no server and no log sees it. It is taken out of the address at once, and kept in this tab alone. "&navbar=false" behind it leaves out
// tabs and address, as clients of Browserbase expect.
import { h } from './dom.js';
import './live_screen.js';

const KEPT = 'cay-live-link';
const LINK = /^#(\/api\/sandboxes\/[a-z0-9-]{1,63}\/browser\/(live|view)\?token=[A-Za-z0-9._-]+)((?:&[a-z_]+=[a-z]*)*)$/;
const room = document.querySelector('.live-whole');

// In a frame of another page the browser may refuse to keep anything: then a reload shows nothing more.
const keep = (link) => { try { sessionStorage.setItem(KEPT, link); } catch { /* see above */ } };
const kept = () => { try { return sessionStorage.getItem(KEPT); } catch { return ''; } };

function over(why) {
  room.replaceChildren(h('main', { class: 'empty whole' }, h('h1', {}, 'This view is over'), h('p', {}, why || 'The link has expired, or no browser runs. Ask for another link.')));
}

function show() {
  const given = LINK.exec(location.hash);
  if (given) {
    keep(given[0].slice(1));
    history.replaceState(null, '', location.pathname);
  }
  const link = given || LINK.exec(`#${kept()}`);
  if (!link) {
    over('This address is not a link to a browser. “cay browser live SANDBOX” makes one.');
    return;
  }
  const screen = document.createElement('cay-live-screen');
  screen.address = async () => `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${link[1]}`;
  screen.classList.toggle('no-navbar', /&navbar=false(&|$)/.test(link[3]));
  screen.onOver = over;
  room.replaceChildren(h('main', { class: 'live-whole' }, screen));
}

addEventListener('hashchange', show);
show();
