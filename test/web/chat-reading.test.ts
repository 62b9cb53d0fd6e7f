import { expect, test } from 'vitest';
import { seriousFaults } from './support/axe.ts';
import { usePages } from './support/browser.ts';
import { ask } from './support/chat-page.ts';
import { answerWith } from './support/fake-answers.ts';
import { useServer } from './support/server.ts';
import { slowDownloads } from './support/slow-downloads.ts';

const url = useServer();
const open = usePages();

const TABLE = `| Context | Model | What it is for |
| ------: | ----- | -------------- |
| 2048 | Summit | first line<br>second line, H<sub>2</sub>O |
| 131072 | A name of several words | &copy; 2026 &mdash; all kinds of things that one may want |`;

const FORMULAS = String.raw`So \( a^2 + b^2 = c^2 \) and $x_1$, but \$5 and $10 are prices. Then

\[ \int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} \]

and \begin{matrix} 1 & 2 \end{matrix}, while \( a^ is not over.`;

test('words of a table stay whole, and it scrolls where it is too wide', async () => {
  for (const [width, isTooWide] of [
    [1280, false],
    [360, true],
  ] as const) {
    const page = await open(url(), { viewport: { width, height: 740 } });
    await answerWith(page, { deltas: [{ content: TABLE }] });
    await ask(page, 'A table, please.');
    const region = page.getByRole('region', { name: 'Table' });
    const cells = await region.locator('th, td').evaluateAll((all) =>
      all.map((cell) => {
        // A word that is broken is in two boxes.
        const broken: string[] = [];
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          for (const { 0: word, index } of (node.textContent ?? '').matchAll(/\S+/g)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (range.getClientRects().length > 1) broken.push(word);
          }
        }
        return broken;
      }),
    );
    expect(cells.flat()).toEqual([]);
    const { scrollWidth, clientWidth } = await region.evaluate((element) => ({
      scrollWidth: element.scrollWidth,
      clientWidth: element.clientWidth,
    }));
    expect(scrollWidth > clientWidth).toBe(isTooWide);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await region.locator('td br').count()).toBe(1);
    expect(await region.locator('td sub').innerText()).toBe('2');
    expect(await region.innerText()).toContain('© 2026 — all');
    expect(await seriousFaults(page)).toEqual([]);
    await region.focus();
    expect(await region.evaluate((element) => element === document.activeElement)).toBe(true);
  }
});

test('formulas are drawn, and what is none, or not whole, loses no character', async () => {
  const page = await open(url());
  await answerWith(page, { deltas: Array.from(FORMULAS, (content) => ({ content })) });
  await ask(page, 'A formula, please.');
  await page.locator('math').nth(3).waitFor();
  expect(await page.locator('math').count()).toBe(4);
  expect(await page.locator('.math-block math').first().getAttribute('display')).toBe('block');
  // Elements of MathML, not of HTML with such names.
  const spaces = await page
    .locator('math, math *')
    .evaluateAll((all) => [...new Set(all.map((each) => each.namespaceURI))]);
  expect(spaces).toEqual(['http://www.w3.org/1998/Math/MathML']);
  const text = await page.locator('.answer .markdown').innerText();
  expect(text).toContain('$5 and $10 are prices');
  expect(text).toContain(String.raw`\( a^ is not over.`);
  // A fraction is above its line, which a row of characters would not be.
  const boxes = await page
    .locator('mfrac > *')
    .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
  expect(boxes[0]).toBeLessThan(boxes[1] ?? 0);
});

test('a formula stays in its place, whatever it asks for', async () => {
  const page = await open(url());
  const hostile = [
    String.raw`$\style{position:fixed;inset:0;background:red}{x}$`,
    String.raw`$\href{javascript:window.hacked=1}{x} \url{https://evil.example}$`,
    String.raw`$$\rule{9999em}{9999em} \hspace{-9999em} \raisebox{9999em}{x}$$`,
    String.raw`$\text{<img src=x onerror="window.hacked = 2">}$`,
    String.raw`$\def\a{\a\a}\a$ $${'{'.repeat(900)}x${'}'.repeat(900)}$$`,
    String.raw`$\includegraphics{https://evil.example/x.png}$`,
  ];
  const others: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url()).origin) others.push(request.url());
  });
  await answerWith(page, { deltas: [{ content: hostile.join('\n\n') }] });
  await ask(page, 'A formula, please.');
  await page.locator('math').first().waitFor();
  const found = await page.evaluate(() => {
    const answer = document.querySelector('.answer .markdown');
    const frame = answer?.getBoundingClientRect();
    const composer = document.querySelector('.composer textarea')?.getBoundingClientRect();
    const top = document.elementFromPoint((composer?.left ?? 0) + 9, (composer?.top ?? 0) + 9);
    return {
      hacked: (window as unknown as { hacked?: unknown }).hacked ?? null,
      links: answer?.querySelectorAll('a, img, [href], [src], [onerror]').length,
      isCovered: top?.closest('.composer') === null,
      isWide: (frame?.right ?? 0) > innerWidth || document.documentElement.scrollWidth > innerWidth,
    };
  });
  expect(found).toEqual({ hacked: null, links: 0, isCovered: false, isWide: false });
  expect(others).toEqual([]);
});

test('headings of an answer leave out no level of the page', async () => {
  const page = await open(url());
  await answerWith(page, { deltas: [{ content: '## One\n\n#### Two\n\n# Three' }] });
  await ask(page, 'Headings.');
  const names = await page
    .locator('.answer :is(h1, h2, h3, h4, h5, h6)')
    .evaluateAll((all) => all.map((each) => each.tagName));
  expect(names).toEqual(['H2', 'H3', 'H2']);
});

test('the way to the end is there while an answer grows out of sight', async () => {
  const page = await open(url(), { viewport: { width: 900, height: 500 } });
  await page.route('**/v1/chat/completions', async (route) => {
    const body = { ...(route.request().postDataJSON() as object), ignore_eos: true };
    await route.continue({ postData: JSON.stringify(body) });
  });
  await slowDownloads(page);
  await page.locator('.composer textarea').fill('Tell me a long story about a river.');
  await page.keyboard.press('Enter');
  const list = page.locator('.messages');
  await expect
    .poll(() => list.evaluate((element) => element.scrollHeight - element.clientHeight))
    .toBeGreaterThan(100);
  await list.hover();
  await page.mouse.wheel(0, -60);
  // No further scrolling: the text alone grows.
  await page.getByRole('button', { name: 'To the end' }).waitFor();
  await page.getByRole('button', { name: 'To the end' }).click();
  await expect
    .poll(() =>
      list.evaluate(
        (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 60,
      ),
    )
    .toBe(true);
  await page.keyboard.press('Escape');
});

test('an error stands apart from the text above it, and an empty chat begins at its top', async () => {
  const page = await open(url(), { viewport: { width: 640, height: 400 } });
  const heading = page.getByRole('heading', { name: 'Ask something' });
  expect((await heading.boundingBox())?.y).toBeGreaterThan(40);
  await page.route('**/v1/chat/completions', (route) => {
    const delta = {
      choices: [{ index: 0, delta: { content: 'Half of it' }, finish_reason: null }],
    };
    const events = [delta, { error: { message: 'It broke.' } }];
    return route.fulfill({
      contentType: 'text/event-stream',
      body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
    });
  });
  await ask(page, 'Go on.');
  const above = await page.locator('.answer .markdown p').boundingBox();
  const error = await page.locator('.answer-error').boundingBox();
  expect((error?.y ?? 0) - (above?.y ?? 0) - (above?.height ?? 0)).toBeGreaterThanOrEqual(8);
});
