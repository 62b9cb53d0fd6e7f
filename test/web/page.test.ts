import { expect, test } from 'vitest';
import { launchBrowser } from './support/launch-browser.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const url = useServer();
const open = usePages();

const VIEWS = [
  ['/', 'Chat'],
  ['/ui/completion', 'Completion'],
  ['/ui/batch', 'Batch'],
  ['/ui/status', 'Status'],
  ['/ui/bench', 'Bench'],
] as const;

test.each(VIEWS)('%s is a view of its own', async (path, title) => {
  const page = await open(url() + path);
  await page.waitForFunction(() => document.querySelector('main h1') !== null);
  expect(await page.title()).toBe(`${title} · Chairlift`);
  expect(await page.locator('a[aria-current=page]').innerText()).toBe(title);
});

test('views change by keyboard, and with the browser’s back', async () => {
  const page = await open(url());
  const link = page.getByRole('link', { name: 'Status', exact: true });
  await link.focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/ui/status');
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  await page.goBack();
  await page.waitForURL(`${url()}/`);
  expect(await page.locator('a[aria-current=page]').innerText()).toBe('Chat');
});

test('no view is wider than a phone', async () => {
  for (const [path] of VIEWS) {
    const page = await open(url() + path, { viewport: { width: 360, height: 740 } });
    await page.waitForFunction(() => document.querySelector('main h1') !== null);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  }
});

test('the policy of the page stops scripts and HTML from strings', async () => {
  // Not one of `open`: it fails what is tried here, as it should.
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(url());
    await page.locator('main h1').waitFor();
    const stopped = await page.evaluate(async () => {
      const directives: string[] = [];
      addEventListener('securitypolicyviolation', (event) => {
        directives.push(event.effectiveDirective);
      });
      const attempts = [
        () => (document.body.innerHTML = '<b>x</b>'),
        () => document.body.setAttribute('style', 'color: red'),
        () => document.body.setAttribute('onclick', 'document.title = "hacked"'),
        () => document.body.append(Object.assign(new Image(), { src: 'https://evil.example/x' })),
        () => void fetch('https://evil.example/x').catch(() => {}),
      ];
      for (const attempt of attempts) {
        try {
          attempt();
        } catch {
          // As the policy has it.
        }
      }
      document.body.click();
      const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
      for (let turn = 0; turn < 100 && new Set(directives).size < 4; turn++) await pause();
      await pause();
      return directives;
    });
    expect(await page.title()).not.toBe('hacked');
    expect([...new Set(stopped)].toSorted()).toEqual([
      'connect-src',
      'img-src',
      'require-trusted-types-for',
      'style-src-attr',
    ]);
  } finally {
    await browser.close();
  }
});
