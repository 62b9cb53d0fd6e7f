/** Answers that no model of ours gives, in place of the server's. */
import type { Page } from 'playwright-core';

export interface FakeAnswer {
  /** Delta of each chunk. */
  readonly deltas: readonly object[];
  readonly finish?: string;
  readonly usage?: object;
}

/**
 * Answers chats with these, in turn; the last one for all that follow.
 * @returns the bodies of the requests, as they come
 */
export async function answerWith(
  page: Page,
  ...fakes: readonly FakeAnswer[]
): Promise<Record<string, unknown>[]> {
  const bodies: Record<string, unknown>[] = [];
  await page.route('**/v1/chat/completions', async (route) => {
    const fake = fakes[Math.min(bodies.length, fakes.length - 1)];
    bodies.push(route.request().postDataJSON() as Record<string, unknown>);
    const chunks = (fake?.deltas ?? []).map((delta) => choice(delta, null));
    const last = { ...choice({}, fake?.finish ?? 'stop'), usage: fake?.usage };
    const events = [...chunks, last].map(
      (chunk) => `data: ${JSON.stringify({ model: 'fake', ...chunk })}\n\n`,
    );
    await route.fulfill({
      contentType: 'text/event-stream',
      body: `${events.join('')}data: [DONE]\n\n`,
    });
  });
  return bodies;
}

function choice(delta: object, finishReason: string | null) {
  return { choices: [{ index: 0, delta, finish_reason: finishReason }] };
}
