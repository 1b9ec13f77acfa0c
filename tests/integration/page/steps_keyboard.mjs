// SPDX-License-Identifier: Apache-2.0
// Without a mouse: everything that can be pressed is reached by Tab, nothing holds the focus, and the whole path goes by keys alone.
import { BASE, check, checkFaults, openTab, screen, shellIsReady, terminalHasFocus, until } from './page.mjs';

const focused = (tab) => tab.evaluate(() => { const e = document.activeElement; return { tag: e.localName, text: (e.getAttribute('aria-label') || e.textContent || '').trim(), seen: e.matches(':focus-visible') }; });

/** Presses a key until the focus is on what `is` says, which must be visible there. */
async function walkTo(tab, what, is, key = 'Tab') {
  for (let i = 0; i < 60; i++) {
    const at = await focused(tab);
    if (is(at)) {
      check(at.seen, `the focus on ${what} is visible`);
      return;
    }
    await tab.keyboard.press(key);
  }
  throw new Error(`${what} is not reached by ${key}`);
}

export async function tab_reaches_everything(p) {
  const { tab } = p;
  const box = await p.box({ name: 'keys' });
  await p.go('sandboxes');
  await tab.waitForSelector('.box:has-text("keys") .state.ready'); // from now on nothing comes or goes by itself
  const count = await tab.evaluate(() => {
    document.activeElement.blur();
    const all = [...document.querySelectorAll('a[href], button, input, select')].filter((e) => e.checkVisibility() && e.tabIndex >= 0);
    all.forEach((e, i) => { e.dataset.stop = i; });
    return all.length;
  });
  const reached = new Set();
  for (let i = 0; i < count + 2; i++) {
    await tab.keyboard.press('Tab');
    reached.add(await tab.evaluate(() => document.activeElement.dataset.stop));
  }
  reached.delete(undefined);
  check(reached.size === count, `Tab reaches all ${count} (it reached ${reached.size})`);
  await p.destroy(box);
}

export async function the_whole_path_by_keys(p) {
  const tab = await openTab(p.browser);
  const token = await p.help('token');
  await tab.goto(BASE);
  await tab.waitForSelector('#token');
  await tab.keyboard.type(`${token}\n`);
  await tab.waitForSelector('#create');
  await tab.keyboard.press('g'); // a stray one takes nothing from the next key
  await tab.keyboard.press('?');
  await tab.waitForSelector('dialog:has-text("Leave the terminal")');
  await tab.keyboard.press('Escape');
  await tab.locator('dialog').waitFor({ state: 'detached' });
  await tab.keyboard.press('n');
  await tab.waitForSelector('dialog[open]');
  await walkTo(tab, 'the name', ({ tag }) => tag === 'input');
  await tab.keyboard.type('by-keys\n');
  await until('the new row to have the focus', async () => (await focused(tab)).text === 'by-keys');
  await tab.keyboard.press('Enter');
  await shellIsReady(tab);
  await terminalHasFocus(tab);
  await tab.keyboard.type('echo by-$((2*21))\n');
  await until('its output', async () => (await screen(tab)).includes('by-42'));
  await tab.keyboard.press('Tab'); // the shell's
  check((await focused(tab)).tag === 'textarea', 'Tab stays with the shell');
  await tab.keyboard.press('Shift+F6');
  check(await tab.evaluate(() => document.activeElement.getAttribute('role') === 'tab'), 'Shift F6 leaves the terminal');
  for (let i = 0; i < 8 && (await focused(tab)).text !== 'Activity'; i++) await tab.keyboard.press('ArrowRight');
  await tab.waitForSelector('cay-activity');
  await walkTo(tab, 'Destroy', ({ text }) => text === 'Destroy', 'Shift+Tab');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('dialog:has-text("Destroy “by-keys”?")');
  await tab.keyboard.press('Enter'); // one key too many destroys nothing
  await tab.locator('dialog').waitFor({ state: 'detached' });
  check(await tab.evaluate(() => ['ready', 'busy'].includes(document.querySelector('cay-sandbox').box.status)), 'Enter is Cancel');
  await walkTo(tab, 'Destroy', ({ text }) => text === 'Destroy', 'Shift+Tab');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('dialog:has-text("Destroy “by-keys”?")');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('#create');
  await tab.locator('.box:has-text("by-keys")').waitFor({ state: 'detached' });
  await tab.keyboard.press('g');
  await tab.keyboard.press('m');
  await tab.waitForSelector('cay-metrics');
  checkFaults(tab);
  await tab.context().close();
}
