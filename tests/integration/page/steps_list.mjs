// SPDX-License-Identifier: Apache-2.0
// The list of sandboxes: making, finding, changing, ending.
import { check, look, until } from './page.mjs';

const GROWS = 'python3 -c "import time\nx = []\nwhile True:\n    len(x) < 30 and x.append(bytearray(3000000)); time.sleep(0.2); sum(range(2000000))"';

export async function create_filter_destroy(p) {
  const { tab } = p;
  await p.go('sandboxes');
  await tab.waitForSelector('#create');
  await tab.keyboard.press('n');
  await tab.waitForSelector('dialog[open]');
  await tab.selectOption('dialog select[name=template]', 'python');
  check((await tab.textContent('dialog .facts')).includes('256 MB'), 'the template’s defaults are shown');
  await tab.fill('dialog input[name=name]', 'first-one');
  await look(tab, 'create');
  await tab.locator('dialog input[name=name]').press('Enter');
  await tab.waitForSelector('.box:has-text("first-one") .state.ready');
  const boxes = [await p.box({ name: 'build-linux' }), await p.box({ name: 'the-docs' })]; // no id has a dash in it
  await p.help('start', { box: boxes[0], command: GROWS });
  await tab.waitForSelector('.box:has-text("the-docs")');
  await tab.fill('input[type=search]', 'build-');
  await until('one row', async () => (await tab.locator('.box').count()) === 1);
  check((await tab.evaluate(() => location.hash)).includes('q=build-'), 'the filter is in the address');
  await tab.reload();
  await tab.waitForSelector('.box:has-text("build-linux")');
  check((await tab.inputValue('input[type=search]')) === 'build-', 'the filter comes back with the address');
  check((await tab.locator('.box').count()) === 1, 'and holds');
  // How long each lives is in its row, idle ones too.
  boxes.push(await p.box({ name: 'short-idle', idle_timeout: '10m' }));
  await p.go('sandboxes');
  await until('its idle time, counted down', async () => /idle, (9 min|10 min) left/.test(await tab.locator('.box:has-text("short-idle") .c-age').textContent()));
  const row = tab.locator('.box:has-text("the-docs")');
  await row.locator('[data-verb=pause]').click();
  await row.locator('.state.paused').waitFor();
  await row.locator('[data-verb=resume]').click();
  await row.locator('.state.ready').waitFor();
  await row.locator('[data-verb=stop]').click();
  await tab.click('dialog button[type=submit]');
  await row.locator('.state.stopped').waitFor();
  await tab.click('.filters [data-state=stopped]');
  await until('the stopped one', async () => (await tab.locator('.box').count()) === 1);
  check((await tab.evaluate(() => location.hash)).includes('state=stopped'), 'so is the state');
  await tab.click('.filters [data-state=""]');
  await tab.waitForSelector('.box:has-text("build-linux") .spark:not([hidden])');
  await look(tab, 'sandboxes');
  for (const name of ['first-one', 'the-docs', 'build-linux', 'short-idle']) {
    await tab.locator(`.box:has-text("${name}") [data-verb=destroy]`).click();
    await tab.waitForSelector(`dialog:has-text("Destroy “${name}”?"):has-text("cannot be undone")`);
    if (name === 'the-docs') await look(tab, 'destroy');
    await tab.click('dialog button[type=submit]');
    await tab.locator(`.box:has-text("${name}")`).waitFor({ state: 'detached' });
  }
}

export async function confirmation(p) {
  const { tab } = p;
  await p.go('sandboxes');
  const create = async () => {
    await tab.click('#create');
    await tab.selectOption('dialog select[name=template]', 'careful');
    await tab.click('dialog button[type=submit]');
    await tab.waitForSelector('dialog:has-text("Confirm this request"):has-text("Asks before it is used")');
  };
  await create();
  check((await tab.textContent('dialog:last-of-type .facts')).includes('Memory'), 'who is asked sees template and limits');
  await look(tab, 'confirm');
  await tab.keyboard.press('Escape'); // the question
  await until('the first dialog alone', async () => (await tab.locator('dialog').count()) === 1);
  await tab.keyboard.press('Escape');
  await tab.locator('dialog').waitFor({ state: 'detached' });
  check((await tab.locator('.box:has-text("careful")').count()) === 0, `nothing was made for ${p.owner} without a word`);
  await create();
  await tab.click('dialog button:has-text("Allow")');
  const row = tab.locator('.box:has-text("careful")');
  await row.locator('.state.ready').waitFor();
  await row.locator('[data-verb=destroy]').click();
  await tab.click('dialog button[type=submit]');
  await row.waitFor({ state: 'detached' });
}
