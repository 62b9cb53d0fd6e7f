import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const open = usePages();

function field(page: Page, name: string): Locator {
  return page.getByRole('spinbutton', { name });
}

/** The view, about to send so many requests. */
async function openBench(url: string, requests: number, answer: number): Promise<Page> {
  const page = await open(`${url}/ui/bench`);
  await field(page, 'Requests').fill(String(requests));
  await field(page, 'Prompt').fill('8');
  await field(page, 'Answer').fill(String(answer));
  return page;
}

async function start(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start' }).click();
}

describe('without keys', () => {
  const url = useServer(['--max-num-seqs', '8']);

  async function numRunning(): Promise<number> {
    const { data } = (await (await fetch(`${url()}/v1/requests`)).json()) as { data: unknown[] };
    return data.length;
  }

  test('a test runs and is reported', async () => {
    const page = await openBench(url(), 6, 12);
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    const tile = (label: string) => page.locator('.tiles > div').filter({ hasText: label });
    expect(await tile('Completed').locator('dd').innerText()).toBe('6 of 6');
    expect(await tile('Output throughput').locator('dd').innerText()).toMatch(
      /^[\d.,]+ tokens\/s$/,
    );
    // A tick for each token of each answer.
    const ticks = await page
      .locator('.timeline path.tokens')
      .evaluateAll((rows) =>
        rows.map((row) => (row.getAttribute('d') ?? '').split('M').length - 1),
      );
    expect(ticks).toHaveLength(6);
    for (const count of ticks) expect(count).toBeGreaterThan(0);
    expect(await page.locator('.plot svg path.line').count()).toBe(5);
  });

  test('its report can be kept, as the command writes it', async () => {
    const page = await openBench(url(), 3, 6);
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    const kept = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).click(),
      ]);
      return readFile(await download.path(), 'utf8');
    };
    expect(await kept('HTML')).toContain('<h1>Load test of summit</h1>');
    expect(JSON.parse(await kept('JSON'))).toMatchObject({
      completed: 3,
      failed: 0,
      num_prompts: 3,
    });
  });

  test('stopping it, and leaving it, ends the server’s work', async () => {
    const page = await openBench(url(), 64, 1000);
    await start(page);
    await expect.poll(numRunning).toBe(8);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('You stopped it.').waitFor();
    await expect.poll(numRunning).toBe(0);
    await start(page);
    await expect.poll(numRunning).toBe(8);
    await page.getByRole('link', { name: /Status/ }).click();
    await expect.poll(numRunning).toBe(0);
  });

  test('tests of a visit stand next to each other', async () => {
    const page = await openBench(url(), 2, 4);
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    await field(page, 'Requests').fill('3');
    await start(page);
    const rows = page.getByRole('region', { name: 'Tests of this visit' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    await rows.last().getByRole('button').click();
    expect(await page.locator('.facts').innerText()).toContain('2 requests of 8 + 4 tokens');
  });

  test('its results are there after another view was looked at', async () => {
    const page = await openBench(url(), 2, 4);
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    const facts = await page.locator('.facts').innerText();
    await page.getByRole('link', { name: 'Status', exact: true }).click();
    await page.getByRole('heading', { name: 'Status' }).waitFor();
    await page.getByRole('link', { name: 'Bench', exact: true }).click();
    expect(await page.locator('.facts').innerText()).toBe(facts);
    expect(await field(page, 'Requests').inputValue()).toBe('2');
  });

  test('fields stand in a line, also where a name takes two', async () => {
    for (const width of [360, 640, 1280]) {
      const page = await open(`${url()}/ui/bench`, { viewport: { width, height: 740 } });
      const inputs = page.locator('.plan-fields input');
      await inputs.first().waitFor();
      const boxes = await inputs.evaluateAll((all) =>
        all.map((each) => {
          const { top, height } = each.getBoundingClientRect();
          return { top: Math.round(top), height: Math.round(height) };
        }),
      );
      expect(new Set(boxes.map(({ height }) => height)).size).toBe(1);
      // Those of one row are at the same height: nothing lies between two rows.
      const tops = [...new Set(boxes.map(({ top }) => top))].toSorted((a, b) => a - b);
      for (const [index, top] of tops.entries()) {
        expect(top - (tops[index - 1] ?? -Infinity)).toBeGreaterThan(boxes[0]?.height ?? 0);
      }
    }
  });

  test.each(['light', 'dark'] as const)('axe finds nothing serious, %s', async (colorScheme) => {
    const page = await open(`${url()}/ui/bench`, { colorScheme });
    await field(page, 'Requests').fill('4');
    await field(page, 'Answer').fill('8');
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
  });

  test('fits a phone', async () => {
    const page = await open(`${url()}/ui/bench`, { viewport: { width: 360, height: 740 } });
    await page.getByRole('button', { name: 'One stream' }).click();
    await field(page, 'Answer').fill('8');
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });
});

describe('with keys', () => {
  const url = useServer(['--api-key', 'a-key/with+signs=']);

  test('the key goes along with the socket', async () => {
    const page = await open(`${url()}/ui/bench`);
    await page.getByLabel('Key', { exact: true }).fill('a-key/with+signs=');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await field(page, 'Requests').fill('2');
    await field(page, 'Answer').fill('4');
    await start(page);
    await page.getByRole('heading', { name: 'Report' }).waitFor();
    const completed = page.locator('.tiles > div').filter({ hasText: 'Completed' });
    expect(await completed.locator('dd').innerText()).toBe('2 of 2');
  });
});
