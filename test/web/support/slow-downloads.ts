import type { Page } from 'playwright-core';

/** Bytes a second: a hundred tokens, which a small model makes in less than a tenth of that. */
const THROUGHPUT = 25_000;

/**
 * Has a page download no faster, so that its answers take as long on every machine.
 * @returns what ends that
 */
export async function slowDownloads(page: Page): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const [downloadThroughput, uploadThroughput] = [THROUGHPUT, -1];
  const conditions = { offline: false, latency: 0, downloadThroughput, uploadThroughput };
  await session.send('Network.emulateNetworkConditions', conditions);
  return () => session.detach();
}
