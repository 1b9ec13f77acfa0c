// SPDX-License-Identifier: Apache-2.0
// Images that a real Docker builds: for docker/test_images.py, which has one, and templates that are made for this.
import { check, look } from './page.mjs';

const card = (tab, name) => tab.locator(`.card[aria-labelledby="t-${name}"]`);
const state = (of, text) => of.locator(`.build > .state:has-text("${text}")`).waitFor();
const press = (of, text) => of.locator(`.build button:has-text("${text}")`).click();

async function builds(tab) {
  const good = card(tab, 'coloured');
  await state(good, 'not built yet');
  await good.locator('header .state:has-text("not available")').waitFor();
  check(await good.locator('button:has-text("New sandbox")').isDisabled(), 'no sandbox without an image');
  await press(good, 'Build');
  await good.locator('.build > .state.ready:has-text("built")').waitFor();
  await good.locator('header .state.ready:has-text("available")').waitFor();
  check(await good.locator('button:has-text("New sandbox")').isEnabled(), 'a sandbox of what was built');
  const output = good.locator('.build .output:has-text("Successfully built")'); // its last words: it is drawn once per frame
  await output.waitFor();
  const text = await output.textContent();
  // eslint-disable-next-line no-control-regex
  check(/\nred and green, 100%\n/.test(text) && !/[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(text), `text alone: ${JSON.stringify(text)}`);
}

async function fails(tab) {
  const bad = card(tab, 'broken');
  await press(bad, 'Build');
  await state(bad, 'build failed');
  await bad.locator('.build .cause:has-text("returned a non-zero code: 7")').waitFor();
  await bad.locator('.build .output:has-text("to stderr")').waitFor();
}

/** Somebody else has begun it. */
async function follows(p, tab) {
  await p.help('begin', { name: 'waits' });
  await tab.reload();
  const one = card(tab, 'waits');
  await state(one, 'building');
  await press(one, 'Follow');
  await one.locator('.build .output:has-text("this build runs already"):has-text("begun")').waitFor();
  await look(tab, 'real_builds');
  await p.help('go_on', {});
  await state(one, 'built');
  await one.locator('.build .output:has-text("after it")').waitFor();
  await one.locator('header .state.ready:has-text("available")').waitFor();
}

export async function real_builds(p) {
  const admin = await p.another('root', 'admin');
  const { tab } = admin;
  await admin.go('templates');
  await builds(tab);
  await fails(tab);
  await look(tab, 'real_builds_ended', { phone: false });
  await follows(admin, tab);
  await admin.leave();
}
