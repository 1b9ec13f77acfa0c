// SPDX-License-Identifier: Apache-2.0
// Making sandboxes with settings of one's own, working on several, and what those who may only look are shown.
import { check, look, until } from './page.mjs';

export async function what_is_wrong_is_said_at_its_field(p) {
  const { tab } = p;
  await p.go('sandboxes');
  await tab.click('#create');
  await tab.selectOption('dialog select[name=template]', 'python');
  await tab.fill('dialog input[name=name]', 'Not A Name');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog [name=name][aria-invalid=true] + .field-problem');
  await tab.fill('dialog input[name=name]', 'with-settings');
  await tab.click('dialog summary');
  await tab.fill('dialog [name="limits.memory"]', 'lots');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog [name="limits.memory"][aria-invalid=true] + .field-problem');
  check((await tab.inputValue('dialog input[name=name]')) === 'with-settings', 'what was typed stays');
  await tab.fill('dialog [name="limits.memory"]', '96m');
  await tab.fill('dialog [name="limits.cpus"]', '0.25');
  await tab.fill('dialog [name=timeout]', '2h');
  await tab.fill('dialog [name=idle_timeout]', '30m');
  await tab.fill('dialog [name=ports]', '17681');
  await tab.fill('dialog [name=env]', 'no equals sign');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('dialog [name=env][aria-invalid=true] + .field-problem:has-text("NAME=VALUE")');
  await tab.fill('dialog [name=env]', 'GREETING=hello there\nEMPTY=');
  await look(tab, 'create_more');
  await tab.click('dialog button[type=submit]');
  await tab.waitForSelector('.box:has-text("with-settings") .state.ready');
  const box = await tab.evaluate(() => fetch('/api/sandboxes').then((r) => r.json()).then((a) => a.sandboxes.find((b) => b.name === 'with-settings')));
  check(box.limits.memory_bytes === 96 << 20 && box.limits.cpu_milli === 250 && box.idle_limit_ms === 1800000 && box.expires_in_ms > 7100000 && box.ports[0].inside === 17681, `it is as asked for: ${JSON.stringify(box)}`);
  check((await p.help('run', { box: box.sandbox_id, command: 'echo "$GREETING"' })).stdout === 'hello there\n', 'with its variables');
  await p.destroy(box.sandbox_id);
}

export async function several_at_once(p) {
  const { tab } = p;
  const boxes = [await p.box({ name: 'many-c' }), await p.box({ name: 'many-a' }), await p.box({ name: 'many-b' })];
  await p.go('sandboxes?q=many-');
  await until('three rows', async () => (await tab.locator('.box').count()) === 3);
  const names = () => tab.locator('.box .name').allTextContents();
  check((await names()).join() === 'many-b,many-a,many-c', `newest first: ${await names()}`);
  await tab.click('[data-sort=name] button');
  await until('the order of names', async () => (await names()).join() === 'many-a,many-b,many-c');
  await tab.click('[data-sort=name] button');
  await until('the other way round', async () => (await names()).join() === 'many-c,many-b,many-a');
  check((await tab.evaluate(() => location.hash)).includes('sort=name'), 'the order is in the address');
  await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.locator('.box:has-text("many-a")').hover();
  await tab.locator('.box:has-text("many-a") button[aria-label="Copy the id"]').click();
  check((await tab.evaluate(() => navigator.clipboard.readText())) === boxes[1], 'the id is copied');
  await tab.check('.box:has-text("many-a") .pick');
  await tab.check('.box:has-text("many-c") .pick');
  await tab.waitForSelector('.bulk:has-text("2 selected")');
  await look(tab, 'bulk');
  await tab.click('.bulk [data-bulk=stop]');
  await tab.click('dialog button[type=submit]');
  await until('two stopped ones', async () => (await tab.locator('.box .state.stopped').count()) === 2);
  await tab.check('.boxes-head .pick');
  await tab.waitForSelector('.bulk:has-text("3 selected")');
  await tab.click('.bulk [data-bulk=destroy]');
  await tab.waitForSelector('dialog:has-text("Destroy 3 sandboxes?")');
  await tab.keyboard.press('Enter');
  await tab.locator('dialog').waitFor({ state: 'detached' });
  check((await tab.locator('.box').count()) === 3, 'Enter does not destroy');
  await tab.click('.bulk [data-bulk=destroy]');
  await tab.click('dialog button[type=submit]');
  await until('none', async () => (await tab.locator('.box').count()) === 0);
  await p.go('sandboxes');
}

/** An administrator sees whose each is; who may only read is offered nothing that would be refused. */
export async function owners_and_readers(p) {
  const box = await p.box({ name: 'whose' });
  const admin = await p.another('root', 'admin');
  await admin.go('sandboxes?q=whose');
  await admin.tab.waitForSelector(`.box:has-text("whose") .owner:text-is("${p.owner}")`);
  await admin.leave();
  const reader = await p.another(p.owner, 'read');
  const { tab } = reader;
  await reader.go('sandboxes');
  await tab.waitForSelector('.box:has-text("whose") .state.ready');
  check((await tab.locator('#create, .actions button:visible, .pick:visible').count()) === 0, 'no button of the list');
  await reader.open(box, 'files');
  await tab.waitForSelector('.files .empty:has-text("empty")');
  await tab.waitForSelector('.terminal .empty:has-text("read access")');
  check((await tab.locator('button:has-text("Upload"), button:has-text("New file"), [data-verb]:visible').count()) === 0, 'no button of the sandbox');
  await look(tab, 'reader', { phone: false });
  for (const pane of ['activity', 'processes', 'network', 'charts', 'about']) {
    await tab.click(`#tab-${pane}`);
    await tab.waitForSelector(`cay-${pane} > *`);
    await look(tab, `reader_${pane}`, { phone: false });
  }
  await reader.go('templates');
  await tab.waitForSelector('.template');
  check((await tab.locator('.template button:visible').count()) === 0, 'nor of a template');
  await reader.leave();
  await p.destroy(box);
}

/** A tab that nobody sees gives its connection back, and is up to date when it is looked at again. */
export async function a_hidden_tab_keeps_no_connection(p) {
  const { tab } = p;
  await p.go('sandboxes');
  await tab.waitForSelector('#create');
  const show = (hidden) => tab.evaluate((is) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => is });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const ended = tab.waitForEvent('requestfailed', (r) => r.url().includes('/api/events?follow'));
  await show(true);
  await ended;
  const box = await p.box({ name: 'meanwhile' });
  await show(false);
  await tab.waitForSelector('.box:has-text("meanwhile") .state.ready');
  await p.destroy(box);
  await tab.locator('.box:has-text("meanwhile")').waitFor({ state: 'detached' }); // events come again
  await tab.reload();
}
