import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { usePages } from './support/browser.ts';
import { answered, answers, ask, composer, openSettings } from './support/chat-page.ts';
import { launchBrowser } from './support/launch-browser.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const keyed = useServer([
  '--api-key',
  'right-key',
  '--max-num-seqs',
  '1',
  '--allowed-host',
  'lan.example',
]);
const open = usePages();

const AWAY = 'The server does not answer.';

const banner = (page: Page) => page.locator('.banner');

test('a wrong key is said to be wrong, and after the right one the question is sent by itself', async () => {
  const page = await open(keyed());
  const dialog = page.getByRole('dialog', { name: 'API key' });
  await dialog.getByText('This server wants an API key.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // Somebody who does not want to give one is not asked again for what the page does by itself.
  await page.waitForTimeout(6000);
  expect(await dialog.count()).toBe(0);
  await composer(page).fill('What is 6 + 1?');
  await page.keyboard.press('Enter');
  await dialog.getByText('This server wants an API key.').waitFor();
  await dialog.getByLabel('Key', { exact: true }).fill('wrong-key');
  await dialog.getByRole('button', { name: 'Use this key' }).click();
  await dialog.getByText('The server says that this key is not valid.').waitFor();
  expect(await dialog.getByLabel('Key', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await dialog.getByLabel('Key', { exact: true }).fill('right-key');
  await dialog.getByRole('button', { name: 'Use this key' }).click();
  await answered(page);
  expect((await answers(page))[0]).toContain('7');
  expect(await page.locator('.user-message').count()).toBe(1);
});

test('copying works on pages without TLS that are not from this machine', async () => {
  const browser = await launchBrowser(['--host-resolver-rules=MAP lan.example 127.0.0.1']);
  try {
    const page = await (await browser.newContext()).newPage();
    await page.goto(keyed().replace('127.0.0.1', 'lan.example'));
    const dialog = page.getByRole('dialog', { name: 'API key' });
    await dialog.getByLabel('Key', { exact: true }).fill('right-key');
    await dialog.getByRole('button', { name: 'Use this key' }).click();
    // Features that a browser offers on pages that it trusts are missing here.
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    expect(await page.evaluate(() => 'clipboard' in navigator)).toBe(false);
    await ask(page, 'What is 2 + 2?');
    const [answer = ''] = await answers(page);
    const copied = async () => {
      await composer(page).fill('');
      await composer(page).press('Control+V');
      return composer(page).inputValue();
    };
    await page.getByRole('button', { name: 'Copy answer' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect((await copied()).trim()).toBe(answer);
    // Out of a modal window too.
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Copy as program' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Copied' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await copied()).toContain('curl -N http://lan.example');
  } finally {
    await browser.close();
  }
});

test('where a request waits in the queue is said, in all views', async () => {
  const page = await open(url());
  // As the server would list it, and a question that is not answered.
  let id = '';
  await page.route('**/v1/chat/completions', (route) => {
    id = route.request().headers()['x-request-id'] ?? '';
  });
  await page.route('**/v1/requests', (route) =>
    route.fulfill({
      json: {
        data: [
          { id: 'a', model: 'summit', state: 'decode' },
          { id: 'b', model: 'summit', state: 'waiting' },
          { id: 'c', model: 'other', state: 'waiting' },
          { id, model: 'summit', state: 'waiting' },
        ],
      },
    }),
  );
  await composer(page).fill('A question');
  await page.keyboard.press('Enter');
  await banner(page).getByText('In the queue: place 2').waitFor();
  await page.locator('.waiting').getByText('In the queue: place 2').waitFor();
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  expect(await banner(page).innerText()).toContain('In the queue: place 2');
  // The key counts from the moment that the answer is there, before the browser has drawn it.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('.waiting') === null) return;
      observer.disconnect();
      document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }),
      );
    }).observe(document.body, { childList: true, subtree: true });
  });
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await expect.poll(() => banner(page).count()).toBe(0);
});

test('a model that is being loaded is said to be', async () => {
  const page = await open(url());
  await page.route('**/v1/chat/completions', () => {});
  await page.route('**/v1/models', (route) =>
    route.fulfill({ json: { data: [{ id: 'summit', status: { value: 'loading' } }] } }),
  );
  await composer(page).fill('A question');
  await page.keyboard.press('Enter');
  await expect.poll(() => banner(page).innerText()).toContain('The model summit is being loaded');
  await page.keyboard.press('Escape');
});

test('the dot is true: of a server that is gone, and of one that answers', async () => {
  const server: ServerProcess = await startServer([]);
  const { port } = new URL(server.url);
  let again: ServerProcess | undefined;
  try {
    const page = await open(server.url);
    const dot = page.locator('.model-picker .state');
    await expect.poll(() => dot.getAttribute('class')).toBe('state ready');
    await ask(page, 'What is 1 + 1?');
    await server.stop('SIGKILL');
    await expect.poll(() => dot.getAttribute('class')).toBe('state away');
    expect(await dot.getAttribute('title')).toBe('The server does not answer');
    // One banner, and in each view the same words.
    for (const view of ['Completion', 'Batch', 'Status', 'Bench', 'Chat']) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await page.locator('main h1').waitFor();
      expect(await banner(page).innerText()).toContain(AWAY);
    }
    await ask(page, 'And 2 + 2?');
    expect(await page.locator('.answer-error').innerText()).toContain(AWAY);
    again = await startServer(['--port', port]);
    await expect.poll(() => banner(page).count()).toBe(0);
    await expect.poll(() => dot.getAttribute('class')).toBe('state ready');
    await page.getByRole('button', { name: 'Try again' }).click();
    await answered(page);
    await expect.poll(async () => (await answers(page)).at(-1)).toContain('4');
  } finally {
    await server.stop();
    await again?.stop();
  }
});

test('no view shows what a browser says of a lost connection', async () => {
  const server = await startServer([]);
  try {
    const page = await open(`${server.url}/ui/completion`);
    await page.getByLabel('Text', { exact: true }).fill('Once');
    await server.stop('SIGKILL');
    await page.getByRole('button', { name: 'Generate' }).click();
    await expect.poll(() => page.locator('.pad-outcome').innerText()).toBe(AWAY);
    await page.locator('.pad-tokens summary').click();
    await page.locator('.pad-tokens').getByText(AWAY).waitFor();
  } finally {
    await server.stop();
  }
});

test('nor does the load test, nor the status', async () => {
  const server = await startServer([]);
  try {
    const page = await open(`${server.url}/ui/status`);
    const said = () => page.locator('body').innerText();
    await page.getByRole('heading', { name: 'summit' }).waitFor();
    // Views are loaded when they are opened first.
    await page.getByRole('link', { name: 'Bench', exact: true }).click();
    const start = page.getByRole('button', { name: 'Start' });
    await start.waitFor();
    await page.getByRole('link', { name: 'Status', exact: true }).click();
    await page.getByRole('heading', { name: 'summit' }).waitFor();
    await server.stop('SIGKILL');
    await page.locator('main').getByText(`${AWAY} Below is what it said last.`).waitFor();
    expect(await said()).not.toMatch(/failed to fetch/i);
    const failure = page.locator('.bench-view [role=alert]');
    for (const isFirstOfSocket of [false, true]) {
      await page.getByRole('link', { name: 'Bench', exact: true }).click();
      // The list of models came, and then it was killed: a WebSocket does not say why it fails.
      if (isFirstOfSocket) {
        const data = [{ id: 'summit', max_model_len: 512, status: { value: 'ready' } }];
        await page.route('**/v1/models', (route) => route.fulfill({ json: { data } }));
      }
      expect(await failure.count()).toBe(0);
      await start.click();
      await expect.poll(() => failure.allInnerTexts()).toEqual([AWAY]);
      expect(await said()).not.toMatch(/failed to fetch/i);
      await page.getByRole('link', { name: 'Status', exact: true }).click();
      await page.locator('main').getByText(`${AWAY} Below is what it said last.`).waitFor();
    }
    expect(await said()).not.toMatch(/failed to fetch/i);
  } finally {
    await server.stop();
  }
});

test('a stream that went on is not slower for the time without a server', async () => {
  const page = await open(url());
  await page.addInitScript(() => {
    // A server that is gone for three seconds in the midst of an answer.
    const real = window.fetch;
    const encoder = new TextEncoder();
    const chunk = (text: string, tokens: number) =>
      `id: ${tokens}\ndata: ${JSON.stringify({
        model: 'fake',
        choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
        usage: { prompt_tokens: 5, completion_tokens: tokens },
      })}\n\n`;
    let calls = 0;
    window.fetch = async (input, init) => {
      if (typeof input !== 'string' || !input.includes('/chat/completions'))
        return real(input, init);
      calls++;
      if (calls === 1) {
        const first = new ReadableStream({
          async start(controller) {
            for (let token = 1; token <= 10; token++) {
              controller.enqueue(encoder.encode(chunk('a ', token)));
              await new Promise((resolve) => setTimeout(resolve, 50));
            }
            controller.error(new TypeError('network error'));
          },
        });
        return new Response(first, { headers: { 'x-resume-token': 'token' } });
      }
      if (calls < 6) throw new TypeError('Failed to fetch');
      await new Promise((resolve) => setTimeout(resolve, 2500));
      const rest = new ReadableStream({
        async start(controller) {
          for (let token = 11; token <= 20; token++) {
            controller.enqueue(encoder.encode(chunk('b ', token)));
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
          controller.enqueue(encoder.encode('data: [DONE]\n\n'));
          controller.close();
        },
      });
      return new Response(rest);
    };
  });
  await page.reload();
  await composer(page).fill('A question');
  await page.keyboard.press('Enter');
  // It says why nothing comes.
  await banner(page).getByText(AWAY).waitFor();
  await answered(page);
  const facts = await page.locator('.answer-facts').innerText();
  expect(facts).toMatch(/continued after [\d.]+ s/);
  const gap = Number(/continued after ([\d.]+) s/.exec(facts)?.[1]);
  const rate = Number(/(\d+) tokens\/s/.exec(facts)?.[1]);
  expect(gap).toBeGreaterThan(2);
  // 19 tokens in a second of writing at best; with the gap it would be less than 7 a second.
  expect(rate).toBeGreaterThan(7);
});

test('a good answer is read to its end, not cut off by the page', async () => {
  const page = await open(url());
  const failed: string[] = [];
  const finished: string[] = [];
  page.on('requestfailed', (request) => failed.push(request.url()));
  page.on('requestfinished', (request) => finished.push(request.url()));
  await ask(page, 'What is 9 + 1?');
  await expect
    .poll(() => finished.filter((each) => each.endsWith('/v1/chat/completions')))
    .toHaveLength(1);
  expect(failed.filter((each) => each.endsWith('/v1/chat/completions'))).toEqual([]);
});

test('what was chosen as colors is there before the page’s program', async () => {
  const page = await open(url(), { colorScheme: 'light' });
  await page.getByRole('button', { name: /^Colors/ }).click();
  await page.getByRole('button', { name: /^Colors/ }).click();
  await page.getByRole('button', { name: 'Colors: dark' }).waitFor();
  await page.route('**/assets/*.js', (route) => route.abort());
  for (const path of ['/', '/docs']) {
    await page.goto(url() + path);
    const background = await page.evaluate(
      () => getComputedStyle(document.documentElement).backgroundColor,
    );
    expect({ path, background }).toEqual({ path, background: 'rgb(22, 23, 26)' });
  }
});

test('notices do not lie on the button that sends', async () => {
  const page = await open(url());
  await openSettings(page);
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach text files' }).click();
  const buffer = Buffer.from([0, 1, 2]);
  await (await chooser).setFiles({ name: 'x.bin', mimeType: 'application/octet-stream', buffer });
  const notice = await page.locator('.notice').boundingBox();
  const send = await page.getByRole('button', { name: 'Send', exact: true }).boundingBox();
  expect((notice?.y ?? 0) + (notice?.height ?? 0)).toBeLessThan(send?.y ?? 0);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  expect(await page.locator('.notice').count()).toBe(0);
});

test('words of the navigation and of a model’s card stay whole', async () => {
  const page = await open(`${url()}/ui/status`);
  await page.route('**/admin/status*', async (route) => {
    const response = await route.fetch();
    const status = (await response.json()) as { models: { id: string }[]; model_control: string };
    status.model_control = 'explicit';
    for (const model of status.models) model.id = 'a-model-with-a-very-long-name-'.repeat(4);
    await route.fulfill({ response, json: status });
  });
  await page.reload();
  await page.locator('.models button').waitFor();
  const rows = await page.locator('.navigation a span, .models button').evaluateAll((all) =>
    all.map((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      return range.getClientRects().length;
    }),
  );
  expect(new Set(rows)).toEqual(new Set([1]));
});
