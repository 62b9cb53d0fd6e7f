/** A load for the picture of the batch: short and long prompts, some that begin alike, one grammar. */
import type { Page } from 'playwright-core';

/** Memory for some of the requests at a time, so that now and then one gives up its slot. */
export const BATCH_FLAGS = ['--max-num-seqs=12', '--max-model-len=512', '--kv-cache-memory=7m'];

const NUM_REQUESTS = 60;
const AT_ONCE = 18;
const NUM_STEPS = 110;
const SYSTEM = 'You are a careful assistant who answers in whole sentences. ';

export async function showBatch(page: Page, url: string): Promise<void> {
  await page.getByText('engine ready').waitFor();
  const ending = new AbortController();
  let next = 0;
  const client = async () => {
    while (next < NUM_REQUESTS && !ending.signal.aborted)
      await complete(url, next++, ending.signal);
  };
  const clients = Array.from({ length: AT_ONCE }, client);
  const step = page.locator('.batch-step');
  const first = Number(await step.innerText({ timeout: 60_000 }));
  // By then the lanes are full from left to right.
  await page.waitForFunction(([element, end]) => Number(element?.textContent) > end, [
    await step.elementHandle(),
    first + NUM_STEPS,
  ] as const);
  await page.getByRole('button', { name: 'Pause' }).click();
  ending.abort();
  await Promise.allSettled(clients);
  await page.waitForTimeout(500);
}

async function complete(url: string, index: number, signal: AbortSignal): Promise<void> {
  const beginning = index % 3 === 0 ? SYSTEM.repeat(4) : '';
  const body = {
    prompt: `${beginning}${'Tell me about mountains. '.repeat(1 + ((index * 7) % 12))}${index}`,
    max_tokens: 20 + ((index * 13) % 70),
    ignore_eos: true,
    ...(index % 5 === 4 ? { structured_outputs: { regex: '[a-z ]{30,80}' } } : {}),
  };
  const headers = { 'content-type': 'application/json', 'x-request-id': `request-${index}` };
  await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal,
  })
    .then((response) => response.text())
    .catch(() => {});
}
