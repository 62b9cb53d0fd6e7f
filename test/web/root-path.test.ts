/** The page below a path of a proxy. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { answers, ask } from './support/chat-page.ts';
import { usePages } from './support/browser.ts';
import { useServer } from './support/server.ts';

const ROOT = '/apps/llm';
const url = useServer(['--root-path', ROOT]);
const open = usePages();

/** Takes the path away, as `proxy_pass` of nginx with a slash at its end does. */
async function startProxy(): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith(`${ROOT}/`) !== true) return void outgoing.writeHead(404).end();
    const { method, headers } = incoming;
    const target = new URL(incoming.url.slice(ROOT.length), url());
    const passed = request(target, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Paths that the page asks for from now on. */
function pathsOf(page: Page): Set<string> {
  const paths = new Set<string>();
  page.on('request', (each) => paths.add(new URL(each.url()).pathname));
  return paths;
}

test.each([
  ['leaves the path there', () => Promise.resolve(url())],
  ['takes the path away', startProxy],
])('behind a proxy that %s, it chats, links and reloads', async (_, start) => {
  const origin = await start();
  const page = await open('about:blank');
  const paths = pathsOf(page);
  await page.goto(`${origin}${ROOT}/`);
  await ask(page, 'What is 23 + 45?');
  expect((await answers(page))[0]).toContain('68');
  await page.waitForURL(`${origin}${ROOT}/ui/chat/*`);
  await page.reload();
  await page.locator('.answer').first().waitFor();
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page.waitForURL(`${origin}${ROOT}/ui/status`);
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  await page.goBack();
  await page.waitForURL(`${origin}${ROOT}/ui/chat/*`);
  expect([...paths].filter((path) => !path.startsWith(`${ROOT}/`))).toEqual([]);
});

test('its documentation has forms that send there', async () => {
  const page = await open(`${url()}${ROOT}/docs`);
  const paths = pathsOf(page);
  const section = page.locator('section[data-method="get"][data-path="/v1/models"]');
  await section.locator('.try-it > summary').click();
  await section.getByRole('button', { name: 'Send' }).click();
  await section.getByText('"summit"').first().waitFor();
  expect(paths).toContain(`${ROOT}/v1/models`);
  expect([...paths].filter((path) => !path.startsWith(`${ROOT}/`))).toEqual([]);
  const example = page.locator('section[data-path="/v1/chat/completions"] pre').first();
  expect(await example.innerText()).toContain(`${url()}${ROOT}/v1/chat/completions`);
});

test('without the proxy it is at the top, and links below the path', async () => {
  const page = await open(`${url()}/`);
  await page.locator('main h1').waitFor();
  expect(page.url()).toBe(`${url()}${ROOT}/`);
});
