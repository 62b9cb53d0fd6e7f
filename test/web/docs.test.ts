import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const open = usePages();

/** The form of an operation, opened. */
async function openForm(page: Page, method: string, path: string): Promise<Locator> {
  const section = page.locator(`section[data-method="${method}"][data-path="${path}"]`);
  await section.locator('.try-it > summary').click();
  await section.locator('form').waitFor();
  return section.locator('.try');
}

describe('/docs', () => {
  const url = useServer();

  test('each operation of the document has a form', async () => {
    const page = await open(`${url()}/docs`);
    const { paths } = (await (await fetch(`${url()}/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    await page.locator('.try-it').first().waitFor();
    const shown = await page
      .locator('section[data-path]:has(.try-it)')
      .evaluateAll((all) =>
        all.map((each) => `${each.getAttribute('data-method')} ${each.getAttribute('data-path')}`),
      );
    expect(shown.toSorted()).toEqual(operations.toSorted());
  });

  test('a form sends its example, and shows the answer', async () => {
    const page = await open(`${url()}/docs`);
    const form = await openForm(page, 'post', '/v1/completions');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/whole after/).waitFor();
    expect(await form.locator('.answer strong').innerText()).toBe('200');
    const text = await form.getByRole('region', { name: 'Answer', exact: true }).innerText();
    expect(JSON.parse(text)).toMatchObject({ object: 'text_completion' });
    await form.getByText(/\d+ headers/).click();
    expect(await form.getByRole('region', { name: /^Headers/ }).innerText()).toContain(
      'x-request-id',
    );
  });

  test('a stream is shown while it comes, and can be stopped', async () => {
    const page = await open(`${url()}/docs`);
    const form = await openForm(page, 'post', '/v1/completions');
    const body = { prompt: 'Hello', max_tokens: 1500, ignore_eos: true, stream: true };
    await form.getByLabel('Body').fill(JSON.stringify(body));
    await form.getByLabel('Body').press('Control+Enter');
    await form.getByText('data: {').first().waitFor();
    expect(await form.locator('.answer p').first().innerText()).toContain('and it goes on');
    await form.getByRole('button', { name: 'Stop' }).click();
    await form.getByText('Stopped.').waitFor();
  });

  test('what is in the path and the query goes there', async () => {
    const page = await open(`${url()}/docs`);
    const models = await openForm(page, 'get', '/v1/models/{id}');
    await models.getByLabel('id').fill('summit');
    await models.getByRole('button', { name: 'Send' }).click();
    await models.getByText('"id": "summit"').waitFor();
    const status = await openForm(page, 'get', '/admin/status');
    await status.getByLabel('since').fill('0');
    const [request] = await Promise.all([
      page.waitForRequest('**/admin/status*'),
      status.getByRole('button', { name: 'Send' }).click(),
    ]);
    expect(request.url()).toBe(`${url()}/admin/status?since=0`);
    await status.getByText('"interval_ms": 5000').waitFor();
  });

  test('a body that is no JSON is not sent, and an error is an answer', async () => {
    const page = await open(`${url()}/docs`);
    const form = await openForm(page, 'post', '/tokenize');
    await form.getByLabel('Body').fill('{');
    expect(await form.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await form.getByText(/^This is not JSON:/).waitFor();
    await form.getByLabel('Body').fill('{"prompt": 1}');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/whole after/).waitFor();
    expect(await form.locator('.answer strong').innerText()).toBe('400');
  });

  test('the console sends frames and shows what comes back', async () => {
    const page = await open(`${url()}/docs`);
    const console_ = page.locator('#web-socket');
    await console_.getByLabel('Path').selectOption('/v1/completions');
    await console_.getByRole('button', { name: 'Connect' }).click();
    await console_.getByRole('button', { name: 'Send' }).click();
    await console_.getByText('"type":"done"').waitFor();
    const froms = await console_.locator('.frames li b').allInnerTexts();
    expect(froms.slice(0, 2)).toEqual(['socket', 'you']);
    expect(froms.filter((from) => from === 'server').length).toBeGreaterThan(2);
    await console_.getByRole('button', { name: 'Close' }).click();
    await console_.getByText(/^closed: 1/).waitFor();
  });

  test('answers are text, whatever is in them', async () => {
    const page = await open(`${url()}/docs`);
    const form = await openForm(page, 'post', '/v1/completions');
    const prompt = '<img src=x onerror="document.title=1"><b>bold</b>';
    const body = { prompt, max_tokens: 0, echo: true };
    await form.getByLabel('Body').fill(JSON.stringify(body));
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/whole after/).waitFor();
    expect(await form.locator('.answer img, .answer b').count()).toBe(0);
  });

  test('is part of the page: its colors, its icon, a way there and back', async () => {
    const page = await open(url(), { colorScheme: 'light' });
    const background = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await background();
    await page.getByRole('button', { name: /^Colors/ }).click();
    await page.getByRole('button', { name: /^Colors/ }).click();
    await page.getByRole('button', { name: 'Colors: dark' }).waitFor();
    await expect.poll(background).not.toBe(light);
    const dark = await background();
    await page.goto(`${url()}/docs`);
    expect(await background()).toBe(dark);
    await page.getByRole('button', { name: 'Colors: dark' }).click();
    await expect.poll(background).toBe(light);
    expect(await page.locator('link[rel=icon]').count()).toBe(1);
    await page.getByRole('link', { name: 'To the chat' }).click();
    await page.getByRole('heading', { name: 'Ask something' }).waitFor();
    expect(await background()).toBe(light);
    expect(await page.getByRole('link', { name: /API/ }).getAttribute('href')).toBe('/docs');
  });

  test.each([1280, 360])('paths begin right of their verbs, not below, at %i px', async (width) => {
    const page = await open(`${url()}/docs`, { viewport: { width, height: 800 } });
    const below = await page.locator('nav li a:has(b)').evaluateAll((all) =>
      all.flatMap((link) => {
        const [verb, path] = [...link.children].map((each) => each.getClientRects()[0]);
        if (verb === undefined || path === undefined) return [link.textContent];
        const isBeside = path.left >= verb.right && path.top < verb.bottom;
        return isBeside ? [] : [link.textContent];
      }),
    );
    expect(await page.locator('nav li a:has(b)').count()).toBeGreaterThan(40);
    expect(below).toEqual([]);
  });

  test.each(['light', 'dark'] as const)('axe finds nothing serious, %s', async (colorScheme) => {
    const page = await open(`${url()}/docs`, { colorScheme });
    const form = await openForm(page, 'post', '/v1/chat/completions');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/whole after/).waitFor();
    await openForm(page, 'post', '/v1/files');
    expect(await seriousFaults(page)).toEqual([]);
  });

  test('fits a phone', async () => {
    const page = await open(`${url()}/docs`, { viewport: { width: 360, height: 740 } });
    const form = await openForm(page, 'post', '/v1/chat/completions');
    await form.getByRole('button', { name: 'Send' }).click();
    await form.getByText(/whole after/).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });
});

describe('with a key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-docs-'));
  const url = useServer(['--api-key', 'a-user-key', '--batch-dir', folder]);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('forms and console send it, and files are uploaded', async () => {
    const page = await open(`${url()}/docs`);
    const models = await openForm(page, 'get', '/v1/models');
    await models.getByRole('button', { name: 'Send' }).click();
    await models.getByText('invalid_api_key').waitFor();
    await page.getByLabel('API key').fill('a-user-key');
    await models.getByRole('button', { name: 'Send' }).click();
    await models.getByText('"id": "summit"').waitFor();

    const files = await openForm(page, 'post', '/v1/files');
    const line = { custom_id: '1', method: 'POST', url: '/v1/completions', body: { prompt: 'Hi' } };
    await files.getByLabel('file', { exact: true }).setInputFiles({
      name: 'lines.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from(JSON.stringify(line)),
    });
    await files.getByRole('button', { name: 'Send' }).click();
    await files.getByText('"filename": "lines.jsonl"').waitFor();

    const console_ = page.locator('#web-socket');
    await console_.getByRole('button', { name: 'Connect' }).click();
    await console_.getByText(/^open:/).waitFor();
    expect(await console_.getByRole('status').innerText()).toBe('open');
  });
});
