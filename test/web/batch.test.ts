import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test, vi } from 'vitest';
import { stepsEvent, type StepsEvent } from '../../src/server/schemas/steps.ts';
import type { LanesCanvas } from '../../web/src/views/batch/drawn-cells.ts';
import { cellOf } from '../support/step-cells.ts';
import { StepStream } from '../support/step-stream.ts';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const url = useServer(['--max-num-seqs=4']);
const guarded = useServer(['--admin-api-key=secret-key']);
const open = usePages();

const FIXTURE = fileURLToPath(
  new URL('../fixtures/steps/preemption-and-crash.jsonl', import.meta.url),
);
/** So low that the lanes have their least height, whatever else is shown. */
const VIEWPORT = { width: 1200, height: 600 };

const lanes = (page: Page) => page.locator('.batch-lanes canvas');

const drawn = (page: Page) =>
  lanes(page).evaluate((canvas: LanesCanvas) => canvas.drawnCells?.() ?? []);

const picture = (page: Page) =>
  lanes(page).evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());

/** Columns as narrow as they get. */
async function zoomOut(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Zoom out' });
  while (await button.isEnabled()) await button.click();
}

async function openRecording(
  page: Page,
  file: Parameters<Page['setInputFiles']>[1],
): Promise<void> {
  await page.setInputFiles('input[type=file]', file);
  await page.locator('.batch-replay').waitFor();
}

/** Shows so many steps of a recording. */
async function seek(page: Page, numSteps: number): Promise<void> {
  await page.locator('input[type=range]').fill(String(numSteps));
  await page.getByText(`Step ${numSteps} of`).waitFor();
  // The picture follows with the next frame.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

/** Some requests at once: two that begin alike, one with a grammar, one long. */
async function load(): Promise<void> {
  const bodies = [
    { prompt: 'Once upon a time '.repeat(8), max_tokens: 40, ignore_eos: true },
    { prompt: 'Once upon a time '.repeat(8), max_tokens: 30, ignore_eos: true },
    { prompt: 'A list: ', max_tokens: 24, structured_outputs: { regex: '[a-z]{20}' } },
    { prompt: 'Numbers: 1, 2, 3, 1, 2, 3, ', max_tokens: 50, ignore_eos: true },
    { prompt: 'Hello', max_tokens: 30, ignore_eos: true },
  ];
  const answers = bodies.map(async (body, index) => {
    const headers = { 'content-type': 'application/json', 'x-request-id': `load-${index}` };
    const response = await fetch(`${url()}/v1/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    await response.text();
  });
  await Promise.all(answers);
}

/** Waits until the page has drawn all that `own` was told, and that was all for a while. */
async function settled(page: Page, own: StepStream): Promise<void> {
  await vi.waitFor(async () => {
    const told = own.of('step').at(-1)?.step;
    await page.waitForTimeout(500);
    expect(own.of('step').at(-1)?.step).toBe(told);
    expect((await drawn(page)).at(-1)?.step).toBe(told);
  });
}

/** What a stream says of each slot, as the page tells it. */
function cellsOf(events: readonly StepsEvent[]) {
  return events.flatMap((event) =>
    event.type === 'step'
      ? event.cells.map(cellOf).map(({ start: _start, pages: _pages, ...cell }) => ({
          step: event.step,
          ...cell,
        }))
      : [],
  );
}

test('the batch view shows what a load did, cell by cell, as the server has it', async () => {
  // Less motion makes the change of a color a transition, which must not show in the canvas.
  const options = { viewport: VIEWPORT, reducedMotion: 'reduce' } as const;
  const page = await open(`${url()}/ui/batch`, options);
  await page.getByText('engine ready').waitFor();
  await zoomOut(page);
  const own = await StepStream.open(url());
  await own.until(({ events }) => events.length >= 2, 'the stream');
  await load();
  await own.until((stream) => stream.of('step').length > 40, 'the steps');
  await settled(page, own);
  own.leave();
  const cells = await drawn(page);
  expect(cells.map(({ box: _box, ...cell }) => cell)).toEqual(cellsOf(own.events));
  const works = new Set(cells.map(({ work }) => work));
  expect([...works]).toEqual(expect.arrayContaining(['prefill', 'decode', 'kept']));
  // No two cells are at the same place, and each has its color there.
  const places = new Set(cells.map(({ box }) => `${box.x} ${box.y}`));
  expect(places.size).toBe(cells.length);
  const colors = await lanes(page).evaluate((canvas: LanesCanvas) => {
    const context = canvas.getContext('2d');
    return (canvas.drawnCells?.() ?? [])
      .filter(({ work, cached }) => (work === 'prefill' && cached === 0) || work === 'decode')
      .map(({ work, box }) => {
        const middle = [box.x, box.y + Math.floor(box.height / 2)] as const;
        return `${work} ${context?.getImageData(...middle, 1, 1).data.join(' ')}`;
      });
  });
  expect(new Set(colors).size).toBe(2);
  // Somebody else who looks sees no text.
  expect(JSON.stringify(own.events)).not.toContain('Once upon');
});

test('a batch that was recorded replays to the same picture', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await page.getByText('engine ready').waitFor();
  await zoomOut(page);
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  const own = await StepStream.open(url());
  await load();
  await settled(page, own);
  own.leave();
  await page.getByRole('button', { name: 'Pause' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Stop and save' }).click();
  const path = await (await download).path();
  const events = (await readFile(path, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => stepsEvent.parse(JSON.parse(line)));
  const numSteps = events.filter(({ type }) => type === 'step').length;
  const before = await drawn(page);
  const live = await picture(page);
  expect(before.map(({ box: _box, ...cell }) => cell)).toEqual(cellsOf(events));

  await openRecording(page, path);
  await seek(page, numSteps);
  expect(await drawn(page)).toEqual(before);
  expect(await picture(page)).toBe(live);
  await seek(page, 5);
  expect(await picture(page)).not.toBe(live);
  await seek(page, numSteps);
  expect(await picture(page)).toBe(live);
});

test('a preemption and a crash that were recorded are seen, also without eyes', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await openRecording(page, FIXTURE);
  const lines = (await readFile(FIXTURE, 'utf8')).trim().split('\n');
  const events = lines.map((line) => stepsEvent.parse(JSON.parse(line)));
  const steps = events.flatMap((event) => (event.type === 'step' ? [event] : []));
  await zoomOut(page);
  await seek(page, steps.length);
  const cells = await drawn(page);
  expect(cells.map(({ box: _box, ...cell }) => cell)).toEqual(cellsOf(events));
  await page.getByText('1 crash so far').waitFor();

  const preempted = steps.findIndex(({ sent_back }) => sent_back.length > 0);
  const [id, slot] = steps[preempted]?.sent_back[0] ?? [];
  const request = events.find((event) => event.type === 'request' && event.id === id);
  if (request?.type !== 'request' || slot === undefined) throw new Error('nobody was preempted');
  await seek(page, preempted + 1);
  await lanes(page).focus();
  await page.keyboard.press('End');
  for (let at = 0; at <= slot; at++) await page.keyboard.press('ArrowDown');
  const told = page.locator('.batch-lanes [aria-live]');
  await expect
    .poll(() => told.innerText())
    .toContain(`Slot ${slot}: request ${request.request_id}`);
  expect(await told.innerText()).toContain('gave it up for want of memory');
  await page.keyboard.press('ArrowLeft');
  const step = `Step ${steps[preempted - 1]?.step}:`;
  await expect.poll(() => told.innerText()).toContain(step);

  // The table has the same step.
  await page.getByText('This step as a table').click();
  const rows = page.locator('.batch-table tbody tr');
  await expect.poll(() => rows.count()).toBe(steps[preempted - 1]?.cells.length);
  expect(await page.locator('.batch-table table').getAttribute('data-step')).toBe(
    String(steps[preempted - 1]?.step),
  );
});

test('a recording plays at its own pace, or another, and can be left', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await openRecording(page, FIXTURE);
  await page.getByLabel('Speed').selectOption('64');
  const numSteps = await page.locator('input[type=range]').getAttribute('max');
  await page.getByText(`Step ${numSteps} of ${numSteps}`).waitFor();
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Back to live' }).click();
  await page.getByText('engine ready').waitFor();
  for (const content of ['{"type":"step"}', 'no JSON', '']) {
    const file = { name: 'x.jsonl', mimeType: 'text/plain', buffer: Buffer.from(content) };
    await page.setInputFiles('input[type=file]', file);
    await page.locator('.notice.bad').last().waitFor();
  }
  expect(await page.locator('.batch-replay').count()).toBe(0);
});

test('where there is an admin key, the view asks for it', async () => {
  const page = await open(`${guarded()}/ui/batch`, { viewport: VIEWPORT });
  const question = page.getByRole('dialog');
  await question.waitFor();
  await question.getByLabel('Key', { exact: true }).fill('secret-key');
  await question.getByRole('button', { name: 'Use it' }).click();
  await page.getByText('engine ready').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing serious in a recording with its table, ${colorScheme}, on a phone too`, async () => {
    const page = await open(`${url()}/ui/batch`, {
      colorScheme,
      viewport: { width: 360, height: 740 },
    });
    await openRecording(page, FIXTURE);
    await seek(page, 40);
    await page.getByText('This step as a table').click();
    await page.locator('.batch-table tbody tr').first().waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });
}
