import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test, vi } from 'vitest';
import { CELL_FIELDS, SENT_BACK_FOR, SLOT_WORK } from '../../src/engine/tap/step-record.ts';
import { stepsEvent, type StepsEvent } from '../../src/server/schemas/steps.ts';
import type { PictureCanvas } from '../../web/src/views/batch/picture.ts';
import { cellOf } from '../support/step-cells.ts';
import { StepStream } from '../support/step-stream.ts';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const url = useServer(['--max-num-seqs=4']);
const guarded = useServer(['--api-key=user-key', '--admin-api-key=secret-key']);
const fresh = useServer();
const open = usePages();

const FIXTURE = fileURLToPath(
  new URL('../fixtures/steps/preemption-and-crash.jsonl', import.meta.url),
);
/** So low that the rows have their least height, whatever else is shown. */
const VIEWPORT = { width: 1200, height: 600 };

const lanes = (page: Page) => page.locator('.batch-picture canvas').first();

const drawn = (page: Page) =>
  lanes(page).evaluate((canvas: PictureCanvas) => canvas.drawnCells?.() ?? []);

const barsOf = (page: Page) =>
  lanes(page).evaluate((canvas: PictureCanvas) => canvas.drawnBars?.() ?? []);

const picture = (page: Page) =>
  lanes(page).evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());

/** Slots as rows; and so much time in sight as a load takes here. */
async function showSlots(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Slots' }).click();
  for (let turn = 0; turn < 5; turn++) await page.getByRole('button', { name: 'Zoom out' }).click();
}

async function openRecording(
  page: Page,
  file: Parameters<Page['setInputFiles']>[1],
): Promise<void> {
  await page.setInputFiles('input[type=file]', file);
  await page.getByRole('heading', { name: 'A recorded batch' }).waitFor();
}

/** Shows so many steps of a recording. */
async function seek(page: Page, numSteps: number): Promise<void> {
  await page.locator('.batch-replay input[type=range]').fill(String(numSteps));
  await page.getByText(`Step ${numSteps} of`).waitFor();
  // The picture follows with the next frame.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

/** Two that begin alike, one with a grammar, one long. */
const MIXED = [
  { prompt: 'Once upon a time '.repeat(8), max_tokens: 40, ignore_eos: true },
  { prompt: 'Once upon a time '.repeat(8), max_tokens: 30, ignore_eos: true },
  { prompt: 'A list: ', max_tokens: 24, structured_outputs: { regex: '[a-z]{20}' } },
  { prompt: 'Numbers: 1, 2, 3, 1, 2, 3, ', max_tokens: 50, ignore_eos: true },
  { prompt: 'Hello', max_tokens: 30, ignore_eos: true },
];

/** Asks for all of them at once. */
async function load(bodies: readonly object[] = MIXED): Promise<void> {
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

/** Loads again and again; what is under way ends with `stop`. */
function loadUntilStopped() {
  const stopping = new AbortController();
  const done = (async () => {
    while (!stopping.signal.aborted) await load();
  })();
  done.catch(() => {});
  return {
    stop() {
      stopping.abort();
      return done;
    },
  };
}

/** Waits until the page has drawn all that `own` was told, and that was all for a while. */
async function settled(
  page: Page,
  own: StepStream,
  rows: 'requests' | 'slots' = 'slots',
): Promise<void> {
  await vi.waitFor(async () => {
    const told = own.of('step').at(-1)?.step;
    await page.waitForTimeout(500);
    expect(own.of('step').at(-1)?.step).toBe(told);
    const isDrawn =
      rows === 'slots'
        ? (await drawn(page)).at(-1)?.step === told
        : (await barsOf(page)).every(({ state }) => state !== 'running');
    expect(isDrawn).toBe(true);
  });
}

/** Cells of each slot by a stream, as the page tells them. */
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
  await showSlots(page);
  const own = await StepStream.open(url());
  await own.until(({ events }) => events.length >= 2, 'the stream');
  await load();
  await own.until((stream) => stream.of('step').length > 40, 'the steps');
  await settled(page, own);
  own.leave();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await expect.poll(async () => (await drawn(page)).length).toBe(cellsOf(own.events).length);
  const cells = await drawn(page);
  expect(cells.map(({ box: _box, ...cell }) => cell)).toEqual(cellsOf(own.events));
  const works = new Set(cells.map(({ work }) => work));
  expect([...works]).toEqual(expect.arrayContaining(['prefill', 'decode', 'kept']));
  // Later ones are further to the right, and each has its color there.
  for (const [index, { box, step }] of cells.entries()) {
    const next = cells[index + 1];
    const isNext = next !== undefined && next.step > step;
    expect(isNext ? next.box.x : Infinity).toBeGreaterThanOrEqual(box.x);
  }
  const colors = await lanes(page).evaluate((canvas: PictureCanvas) => {
    const context = canvas.getContext('2d');
    return (canvas.drawnCells?.() ?? [])
      .filter(({ box }) => box.width >= 3)
      .filter(({ work, cached }) => (work === 'prefill' && cached === 0) || work === 'decode')
      .map(({ work, box }) => {
        const middle = [box.x + 1, box.y + Math.floor(box.height / 2)] as const;
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
  await showSlots(page);
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
  await showSlots(page);
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
  const told = page.locator('.batch-picture [aria-live]');
  await expect
    .poll(() => told.innerText())
    .toContain(`Slot ${slot}: request ${request.request_id}`);
  expect(await told.innerText()).toContain('lost it because memory was short');
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
  const numSteps = await page.locator('.batch-replay input[type=range]').getAttribute('max');
  await page.getByText(`Step ${numSteps} of ${numSteps}`).waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Back to live' }).click();
  await page.getByText('engine ready').waitFor();
  for (const content of ['{"type":"step"}', 'no JSON', '']) {
    const file = { name: 'x.jsonl', mimeType: 'text/plain', buffer: Buffer.from(content) };
    await page.setInputFiles('input[type=file]', file);
    await page.locator('.notice.bad').last().waitFor();
  }
  expect(await page.locator('.batch-replay').count()).toBe(0);
});

test('where there is an admin key, the view asks for it, and shows nothing without', async () => {
  const page = await open(`${guarded()}/ui/batch`, { viewport: VIEWPORT });
  const dialog = page.getByRole('dialog');
  const giveKey = async (key: string) => {
    await dialog.getByLabel('Key', { exact: true }).fill(key);
    await dialog.getByRole('button', { name: 'Use this key' }).click();
  };
  await giveKey('user-key');
  await page.getByText('This view is for the operator of the server.').waitFor();
  // No controls over a view that has nothing in it.
  expect(await page.getByRole('toolbar').count()).toBe(0);
  expect(await page.locator('.batch-picture').count()).toBe(0);
  await page.getByRole('button', { name: 'Enter the admin key' }).click();
  await giveKey('secret-key');
  await page.getByText('engine ready').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

test('each request is one bar, from its arrival over its wait to its end', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await page.getByText('engine ready').waitFor();
  const own = await StepStream.open(url());
  // Five for four places: one waits, for longer than requests arrive apart.
  const prompts = ['One', 'Two', 'Three', 'Four', 'Five'];
  await load(prompts.map((prompt) => ({ prompt, max_tokens: 200, ignore_eos: true })));
  await settled(page, own, 'requests');
  own.leave();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  const bars = await barsOf(page);
  expect(bars.map(({ name }) => name).toSorted()).toEqual(
    [0, 1, 2, 3, 4].map((at) => `load-${at}`),
  );
  for (const bar of bars) {
    const kinds = bar.phases.map(({ phase }) => phase);
    expect(kinds).toContain('decode');
    expect(kinds.lastIndexOf('queue')).toBeLessThan(kinds.indexOf('decode'));
    // Its parts touch, from its beginning to its end.
    for (const [index, { box }] of bar.phases.entries()) {
      const end = box.x + box.width;
      const next = bar.phases[index + 1]?.box.x ?? end;
      expect(Math.abs(end - next)).toBeLessThanOrEqual(2);
    }
    for (const other of bars) {
      const isBelow = other.lane !== bar.lane || other === bar;
      expect(isBelow || other.from >= bar.to || other.to <= bar.from).toBe(true);
    }
  }
  // A client that had no place is seen to have waited for it.
  const running = own.of('step').map((event) => event.cells.filter(([, id]) => id !== 0).length);
  expect(Math.max(...running)).toBe(4);
  const waits = bars.map(({ phases }) =>
    phases.filter(({ phase }) => phase === 'queue').reduce((sum, { box }) => sum + box.width, 0),
  );
  expect(Math.max(...waits)).toBeGreaterThan(20);
  // Found by its id, and shown with what it cost.
  await page.getByLabel('Find a request by its id').fill('LOAD-3');
  await page.keyboard.press('Enter');
  const panel = page.locator('.batch-request');
  await expect.poll(() => panel.locator('h2').innerText()).toBe('load-3');
  expect(await panel.innerText()).toMatch(/written\s+200 of 200 tokens/);
});

test('what is pointed at is what is told, while the picture moves; a click holds it', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await page.getByText('engine ready').waitFor();
  await page.getByRole('button', { name: 'Slots' }).click();
  // So that each step has a width of its own.
  for (let turn = 0; turn < 4; turn++) await page.getByRole('button', { name: 'Zoom in' }).click();
  const loading = loadUntilStopped();
  await expect.poll(async () => (await drawn(page)).length).toBeGreaterThan(20);
  const frame = await lanes(page).boundingBox();
  if (frame === null) throw new Error('there is no picture');
  const at = { x: frame.width - 120, y: 110 };
  await page.mouse.move(frame.x + at.x, frame.y + at.y);
  /** The step that the panel shows, and those that begin at or just before the pointer. */
  const look = () =>
    lanes(page).evaluate(async (canvas: PictureCanvas, x) => {
      // After a frame, and what the page made of it.
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const shown = Number(document.querySelector('.batch-step')?.textContent);
      const px = x * devicePixelRatio;
      const cells = canvas.drawnCells?.() ?? [];
      // At its edge a pixel may be of either.
      const left = cells.map(({ box }) => box.x).filter((each) => each <= px - 1);
      const last = Math.max(...left);
      const under = cells.filter(({ box }) => box.x >= last && box.x <= px + 1);
      return { shown, under: [...new Set(under.map(({ step }) => step))] };
    }, at.x);
  const seen = new Set<number>();
  const deadline = Date.now() + 20_000;
  while (seen.size <= 10 && Date.now() < deadline) {
    const { shown, under } = await look();
    expect(under).toContain(shown);
    seen.add(shown);
  }
  expect(seen.size).toBeGreaterThan(10);

  await page.mouse.click(frame.x + at.x, frame.y + at.y);
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  const held = await look();
  const before = await drawn(page);
  await page.mouse.move(frame.x + 200, frame.y + 300);
  await page.waitForTimeout(1000);
  expect(await drawn(page)).toEqual(before);
  expect(await look()).toEqual(held);
  await loading.stop();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect.poll(async () => (await drawn(page)).at(-1)?.step).toBeGreaterThan(held.shown);

  // Without a mouse, Escape lets it run.
  await page.mouse.click(frame.x + at.x, frame.y + at.y);
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  await lanes(page).press('Escape');
  await page.getByRole('button', { name: 'Pause' }).waitFor({ timeout: 5000 });
});

/** Two requests, for so many steps of ten milliseconds. */
function longRecording(numSteps: number): string {
  const names = { cell: CELL_FIELDS, work: SLOT_WORK, sent_back_for: SENT_BACK_FOR };
  const engine = { state: 'ready', crashes: 0, unfinished: 0, slots: 4, kv_tokens: 640 };
  const events: object[] = [
    { type: 'start', version: 1, at: 0, model: 'summit', every: 1, ...names },
    { type: 'engine', at: 0, instance: 0, ...engine },
  ];
  for (let step = 1; step <= numSteps; step++) {
    const cells = [0, 1].map((slot) => [slot, slot + 1, 1, step, 1, 1, 4]);
    const times = { at: step * 10, ms: 9, run_ms: 8, predicted_ms: 8 };
    const rest = { waiting: [], num_waiting: 0, sent_back: [], pages: [16, 40, 8, 0] };
    events.push({ type: 'step', instance: 0, step, ...times, cells, ...rest });
  }
  return events.map((event) => JSON.stringify(event)).join('\n');
}

test('history is reached by keys, wheel, drag and the strip above', async () => {
  const numSteps = 600;
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  const buffer = Buffer.from(longRecording(numSteps));
  await openRecording(page, { name: 'x.jsonl', mimeType: 'text/plain', buffer });
  await seek(page, numSteps);
  await page.getByRole('button', { name: 'Slots' }).click();
  const stepsInSight = async () => [...new Set((await drawn(page)).map(({ step }) => step))];
  const told = async () => Number(await page.locator('.batch-step').innerText());
  const newest = await stepsInSight();
  expect(newest.length).toBeLessThan(numSteps / 2);
  await lanes(page).focus();
  await page.keyboard.press('End');
  const last = await told();
  for (let turn = 0; turn < 40; turn++) await page.keyboard.press('ArrowLeft');
  await expect.poll(told).toBe(last - 40);
  // The picture follows the cursor.
  await expect.poll(stepsInSight).toContain(last - 40);
  await page.keyboard.press('Home');
  const first = await told();
  await expect.poll(stepsInSight).toContain(first);

  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(stepsInSight).not.toContain(first);
  const frame = await lanes(page).boundingBox();
  if (frame === null) throw new Error('there is no picture');
  const middle = { x: frame.x + frame.width / 2, y: frame.y + 120 };
  await page.mouse.move(middle.x, middle.y);
  const before = await stepsInSight();
  await page.mouse.wheel(400, 0);
  await expect.poll(stepsInSight).not.toEqual(before);
  const scrolled = await stepsInSight();
  await page.mouse.down();
  await page.mouse.move(middle.x + 300, middle.y, { steps: 5 });
  await page.mouse.up();
  await expect.poll(stepsInSight).not.toEqual(scrolled);
  await page.getByRole('slider', { name: /history/ }).focus();
  await page.keyboard.press('Home');
  await expect.poll(stepsInSight).toContain(first);
  await lanes(page).focus();
  await page.keyboard.press('0');
  await expect.poll(async () => (await stepsInSight()).length).toBe(numSteps);
});

test('whoever sees it for the first time is told what it is, and can send requests', async () => {
  const page = await open(`${fresh()}/ui/batch`);
  await page.getByText('The server computes one token for all running requests together').waitFor();
  await page.getByText('Nothing runs right now.').waitFor();
  // The explanation does not push the picture out of sight.
  expect((await lanes(page).boundingBox())?.y).toBeLessThan(300);
  await page.locator('.batch-empty').getByRole('button', { name: 'Send 16 requests' }).click();
  await expect
    .poll(async () => (await barsOf(page)).filter(({ name }) => name.startsWith('demo-')).length)
    .toBeGreaterThan(8);
  await page.getByRole('button', { name: 'Send 16 requests' }).waitFor();
  // Help that was read once is closed from then on.
  await page.getByText('What am I looking at?').click();
  await page.reload();
  await page.getByText('engine ready').waitFor();
  expect(await page.locator('.batch-help').getAttribute('open')).toBe(null);
});

test('a recording goes on while another view is open, and is not lost', async () => {
  const page = await open(`${url()}/ui/batch`, { viewport: VIEWPORT });
  await page.getByText('engine ready').waitFor();
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  const own = await StepStream.open(url());
  await load();
  await own.until((stream) => stream.of('step').length > 20, 'the steps');
  own.leave();
  await page.getByRole('link', { name: 'Batch', exact: true }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Stop and save' }).click();
  const text = await readFile(await (await download).path(), 'utf8');
  expect(text.split('"type":"step"').length).toBeGreaterThan(20);
  // Before that, the browser asks whether the page may be left.
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => asked).toEqual(['beforeunload']);
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
