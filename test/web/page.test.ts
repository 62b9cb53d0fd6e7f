import { expect, test } from 'vitest';
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
  const page = await open(url());
  const stopped = await page.evaluate(() => {
    // Its own listener would fail this test, as it should all others.
    addEventListener('securitypolicyviolation', (event) => event.stopImmediatePropagation(), true);
    try {
      document.body.innerHTML = '<b>x</b>';
      return false;
    } catch {
      return true;
    }
  });
  expect(stopped).toBe(true);
});
