// SPDX-License-Identifier: Apache-2.0
// Trying code, templates and metrics.
import { check, look, until } from './page.mjs';

export async function try_it(p) {
  const { tab } = p;
  await p.go('try');
  await tab.waitForSelector('.examples');
  await look(tab, 'try_empty');
  await tab.fill('#message', 'Please run this:\n\n```python\nimport sys\nprint("six times seven:", 6 * 7)\nsys.stdout.flush()\n1 / 0\n```\n');
  await tab.keyboard.press('Control+Enter');
  await tab.waitForSelector('.decision .state.ready:has-text("run")');
  await tab.waitForSelector('.turn .output:has-text("six times seven: 42")');
  await tab.waitForSelector('.turn .output .stderr:has-text("ZeroDivisionError")');
  await tab.waitForSelector('.verdict .state:has-text("exit 1")');
  await tab.locator('.turn button:has-text("Stop")').waitFor({ state: 'detached' });
  await look(tab, 'try');
  await tab.fill('#message', 'Can you explain what this does?\n\n```python\nprint("never said")\n```\n');
  await tab.keyboard.press('Control+Enter');
  await tab.waitForSelector('.decision .state.stopped:has-text("explain")');
  check((await tab.locator('.turn.run').count()) === 1, 'what asks for words is not run');
  await look(tab, 'try_explain', { phone: false });
  await tab.click('button:has-text("Run it anyway")');
  await tab.waitForSelector('.turn .output:has-text("never said")');
}

export async function templates(p) {
  const { tab } = p;
  await p.go('templates');
  const card = tab.locator('.card:has-text("careful"):has-text("Confirmation")');
  await card.locator('summary').click();
  await card.locator('pre:has-text("needs_confirm")').waitFor();
  await card.locator('summary').click();
  await look(tab, 'templates');
}

/** What the daemon says of the last hour is what the page shows, and what happens is in it. */
export async function metrics(p) {
  const { tab } = p;
  await p.go('metrics');
  const shown = () => tab.textContent('cay-metrics [data-of=create-p99]');
  const hour = () => tab.evaluate(() => fetch('/api/metrics').then((r) => r.json()).then((m) => m.last_hour));
  const before = (await hour()).create.count;
  const box = await p.box();
  const { create } = await hour();
  check(create.count > before && create.p50_us > 0 && create.p99_us >= create.p50_us && create.max_us >= create.p99_us, `figures of the last hour: ${JSON.stringify(create)}`);
  check(create.minutes.reduce((n, m) => n + m.count, 0) === create.count, 'its minutes add up');
  await until('p99 of the last hour', async () => / (ms|s)$/.test(await shown()));
  await look(tab, 'metrics');
  await p.destroy(box);
}

/** Images are Docker's, which this daemon has not: what it would say of them stands in for it, and the page is tested, not the build. */
export async function build_state_is_shown(p) {
  const admin = await p.another('root', 'admin');
  const { tab } = admin;
  const builds = { python: { state: 'failed', error: 'step 3 of 5: exit 1', step: null, built_at: null, size_bytes: 0 }, careful: { state: 'stale', error: null, step: null, built_at: '2026-01-02T03:04:05Z', size_bytes: 52428800 } };
  const lines = [{ event: 'output', line: 'Step 1/2 : FROM scratch' }, { event: 'output', line: 'Step 2/2 : COPY . /' },
    { event: 'end', template: 'python', state: 'built', built_at: '2026-01-02T04:00:00Z', size_bytes: 1048576, error: null, up_to_date: false }];
  let asked = null;
  await tab.route('**/api/templates', async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, templates: answer.templates.map((t) => ({ ...t, build: builds[t.name] })) } });
  });
  await tab.route('**/api/templates/python/build', (route) => {
    asked = route.request().postDataJSON();
    return route.fulfill({ contentType: 'application/x-ndjson', body: `${lines.map((l) => JSON.stringify(l)).join('\n')}\n` });
  });
  await admin.go('templates');
  const card = tab.locator('.card:has-text("python")').first();
  await card.locator('.build .state.error:has-text("build failed")').waitFor();
  await card.locator('.build .cause:has-text("step 3 of 5")').waitFor();
  await tab.waitForSelector('.card:has-text("careful") .build:has-text("out of date"):has-text("50 MB")');
  await card.locator('button:has-text("Rebuild")').click();
  await card.locator('.build .output:has-text("Step 2/2 : COPY")').waitFor();
  await card.locator('.build .state.ready:has-text("built")').waitFor();
  check(asked.stream === true && asked.no_cache === false, `the op is asked to stream: ${JSON.stringify(asked)}`);
  await look(tab, 'build');
  await admin.leave();
}
