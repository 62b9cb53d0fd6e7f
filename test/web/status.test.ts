import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const open = usePages();

const status = z.looseObject({
  models: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      engine: z.object({ slots: z.number(), max_num_seqs: z.number() }).optional(),
    }),
  ),
  latency: z.object({ of: z.record(z.string(), z.looseObject({ count: z.number() })) }),
});

async function statusOf(url: string) {
  return status.parse(await (await fetch(`${url}/admin/status`)).json());
}

async function post(url: string, path: string, body: object): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function complete(url: string): Promise<void> {
  await (await post(url, '/v1/completions', { prompt: 'Hello', max_tokens: 8 })).text();
}

/** The cells of a stage's row. */
async function latencyRow(page: Page, stage: string): Promise<string[]> {
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: stage }) });
  return row.getByRole('cell').allInnerTexts();
}

describe('the operator’s page', () => {
  const url = useServer([
    '--model-control',
    'explicit',
    '--max-num-seqs',
    '8',
    '--resume-key',
    'a-long-resume-key',
  ]);

  test('shows what the server says, and goes on to', async () => {
    const page = await open(`${url()}/ui/status`);
    await page.getByRole('heading', { name: 'summit' }).waitFor();
    for (let index = 0; index < 3; index++) await complete(url());
    const told = await statusOf(url());
    expect(told.latency.of['ttft']?.count).toBe(3);
    await expect.poll(async () => (await latencyRow(page, 'First token')).at(-1)).toBe('3');
    const between = told.latency.of['itl']?.count;
    expect((await latencyRow(page, 'Between tokens')).at(-1)).toBe(String(between));
    expect((await latencyRow(page, 'Decode'))[0]).toMatch(/\d (m?s)$/);
    const card = page.locator('.models li').filter({ hasText: 'summit' });
    expect(await card.locator('.badge').innerText()).toBe('ready');
    // A sample comes every five seconds; two are a line, which is said to those who can't see it.
    const course = page.getByRole('img', { name: /^Tokens generated, last hour: from .* to/ });
    await course.locator('path.line').first().waitFor({ state: 'attached' });
  });

  test('says of how many requests some run, not of how many slots', async () => {
    const page = await open(`${url()}/ui/status`);
    // With prefix caching as many slots again keep texts that have ended.
    expect((await statusOf(url())).models[0]?.engine).toEqual({ slots: 16, max_num_seqs: 8 });
    const running = page.locator('.models li').filter({ hasText: 'summit' }).locator('dl');
    await expect.poll(() => running.innerText()).toMatch(/Running\s+\d+ of 8 requests/);
  });

  test('unloads a model and loads it, by keyboard', async () => {
    const page = await open(`${url()}/ui/status`);
    const card = page.locator('.models li').filter({ hasText: 'summit' });
    await page.getByRole('button', { name: 'Unload summit' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => card.locator('.badge').innerText()).toBe('unloaded');
    expect((await statusOf(url())).models[0]?.state).toBe('unloaded');
    await page.getByRole('button', { name: 'Load summit', exact: true }).click();
    await expect.poll(() => card.locator('.badge').innerText(), { timeout: 30_000 }).toBe('ready');
    expect((await statusOf(url())).models[0]?.state).toBe('ready');
  });

  test('counts what was refused, without its text', async () => {
    for (let index = 0; index < 2; index++) {
      await post(url(), '/v1/completions', { prompt: 'secret words', max_tokens: 'many' });
    }
    const page = await open(`${url()}/ui/status`);
    await page.locator('.refusals summary').click();
    const row = page.getByRole('row').filter({ hasText: 'POST /v1/completions' });
    expect(await row.innerText()).toMatch(/400 invalid_value[^]*\b2\b/);
    expect(await page.locator('main').innerText()).not.toContain('secret words');
  });

  test('says who set each flag, and hides keys', async () => {
    const page = await open(`${url()}/ui/status`);
    const row = (flag: string) =>
      page.getByRole('row').filter({ has: page.getByText(flag, { exact: true }) });
    expect(await row('--max-num-seqs').innerText()).toMatch(/8\s+flag/);
    expect(await row('--resume-key').innerText()).toMatch(/hidden\s+flag/);
    expect(await page.content()).not.toContain('a-long-resume-key');
    expect(await row('--host').count()).toBe(0);
    await page.getByLabel('Defaults too').check();
    expect(await row('--host').innerText()).toMatch(/127\.0\.0\.1\s+default/);
    await page.getByLabel('Find a flag').fill('prefix-caching');
    expect(await page.locator('.settings tbody tr').count()).toBe(1);
  });

  test.each(['light', 'dark'] as const)('axe finds nothing serious, %s', async (colorScheme) => {
    const page = await open(`${url()}/ui/status`, { colorScheme });
    await page.getByRole('heading', { name: 'Configuration' }).waitFor();
    await page.locator('.refusals summary').click();
    expect(await seriousFaults(page)).toEqual([]);
  });

  test('fits a phone', async () => {
    const page = await open(`${url()}/ui/status`, { viewport: { width: 360, height: 740 } });
    await page.getByRole('heading', { name: 'Configuration' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    // Words of a table are not broken letter by letter: it scrolls.
    const cell = await page.getByRole('rowheader', { name: 'First token' }).boundingBox();
    expect(cell?.width).toBeGreaterThan(60);
  });
});

describe('with an admin key', () => {
  const url = useServer(['--api-key', 'user-key', '--admin-api-key', 'admin-key']);

  test('the page asks for it, and shows nothing to a user', async () => {
    const page = await open(`${url()}/ui/status`);
    const giveKey = async (key: string) => {
      await page.getByLabel('Key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Use this key' }).click();
    };
    await giveKey('user-key');
    await page.getByText('This view is for the operator of the server.').waitFor();
    expect(await page.locator('.models').count()).toBe(0);
    await page.getByRole('button', { name: 'Enter the admin key' }).click();
    await giveKey('admin-key');
    await page.getByRole('heading', { name: 'summit' }).waitFor();
    // With --model-control none nothing is loaded or unloaded from here.
    expect(await page.getByRole('button', { name: /load summit/i }).count()).toBe(0);
  });
});
