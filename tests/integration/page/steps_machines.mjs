// SPDX-License-Identifier: Apache-2.0
// One's own machines: added, paired by a real agent, watched, removed.
import { check, look, until } from './page.mjs';

export async function machines(p) {
  const { tab } = p;
  await p.go('machines');
  await tab.waitForSelector('cay-machines:has-text("No machines yet")');
  await tab.fill('cay-machines input', 'laptop');
  await tab.keyboard.press('Enter');
  const code = (await tab.textContent('.pairing-code')).trim();
  check(/^\w{5}(-\w{5}){3}$/.test(code), `a code: ${code}`);
  check((await tab.textContent('cay-machines pre')).startsWith('cay agent --connect ws'), 'the command');
  await tab.waitForSelector('tr:has-text("laptop") .state.creating:has-text("waits for its agent")');
  await look(tab, 'machines_pairing');
  // A name that is taken is told, and what was shown stays.
  await tab.fill('cay-machines input', 'laptop');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('.note.bad:has-text("laptop")');
  check((await tab.textContent('.pairing-code')).trim() === code, 'the code is still there');
  const print = await p.help('begin_agent', { name: 'laptop', code });
  await tab.waitForSelector(`.note.good:has-text("${print}")`);
  await tab.waitForSelector('tr:has-text("laptop") .state.ready');
  await tab.waitForSelector(`tr:has-text("${print}")`);
  check(!(await tab.isVisible('.pairing-code')), 'a code that was used is not shown');
  await until('a latency', async () => / (ms|µs|s)/.test(await tab.textContent('tr:has-text("laptop") td:nth-child(4)')));
  await look(tab, 'machines');
  await tab.click('button[aria-label="Disconnect laptop"]');
  await tab.waitForSelector('tr:has-text("laptop") .state.stopped:has-text("disconnected")');
  await tab.click('button[aria-label="Connect laptop"]');
  await tab.waitForSelector('tr:has-text("laptop") .state.ready');
  await p.help('end_agents');
  await tab.waitForSelector('tr:has-text("laptop") .state.paused:has-text("away")');
  await tab.click('button[aria-label="Remove laptop"]');
  await tab.waitForSelector('dialog:has-text("not let in again")');
  await tab.click('dialog button.danger');
  await tab.waitForSelector('cay-machines:has-text("No machines yet")');
  // One that the daemon dials: another command, and its row says why it is not reached. An address that is none is told.
  await tab.fill('cay-machines input[name="name"]', 'desk');
  await tab.fill('cay-machines input[name="url"]', 'http://nowhere');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('.note.bad:has-text("wss://")');
  await tab.fill('cay-machines input[name="url"]', 'wss://desk.invalid');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('cay-machines pre:has-text("cay agent --listen")');
  await tab.waitForSelector('tr:has-text("desk"):has-text("wss://desk.invalid"):has-text("look up desk.invalid"):has-text("tried again at")');
  await look(tab, 'machines_dialled');
  await tab.click('button[aria-label="Remove desk"]');
  await tab.click('dialog button.danger');
  await tab.waitForSelector('cay-machines:has-text("No machines yet")');
}
