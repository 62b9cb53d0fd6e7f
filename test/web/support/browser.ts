/** Pages of a real browser, which fail their test when something is wrong with them. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, expect } from 'vitest';
import { launchBrowser } from './launch-browser.ts';

/** Errors that a test may provoke: answers with an error status, and servers that are gone. */
const PROVOKED = /^(Failed to load resource: |WebSocket connection to '\S+' failed: )/;

export type OpenPage = (url: string, options?: BrowserContextOptions) => Promise<Page>;

/**
 * Each test's pages are new: no storage, no cache. After the test, what broke the page's security
 * policy, threw or was logged as an error fails it.
 */
export function usePages(): OpenPage {
  let browser: Promise<Browser> | undefined;
  const opened: { page: Page; faults: string[] }[] = [];
  afterEach(async () => {
    const closing = opened.splice(0);
    for (const { page } of closing) await page.context().close();
    expect(closing.flatMap(({ faults }) => faults)).toEqual([]);
  });
  afterAll(async () => {
    await (await browser)?.close();
  });
  return async (url, options) => {
    browser ??= launchBrowser();
    const context = await (await browser).newContext(options);
    const page = await context.newPage();
    const faults: string[] = [];
    opened.push({ page, faults });
    watchFaults(page, faults);
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
        console.error(`security policy: ${effectiveDirective} ${blockedURI}`);
      });
    });
    await page.goto(url);
    return page;
  };
}

function watchFaults(page: Page, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(String(error.stack ?? error)));
  page.on('console', (message) => {
    if (message.type() !== 'error' || PROVOKED.test(message.text())) return;
    faults.push(message.text());
  });
}
