import { expect, test } from 'vitest';
import { post } from '../support/http-client.ts';
import { killNow } from '../support/processes.ts';
import { engineOf, startServer } from '../support/server-process.ts';
import { cellOf } from '../support/step-cells.ts';
import { StepStream } from '../support/step-stream.ts';

const NUM_REQUESTS = 6;

test('/admin/steps tells each token once, and what a crash cost', async () => {
  const server = await startServer(['--max-num-seqs=4']);
  const stream = await StepStream.open(server.url);
  await stream.until(({ events }) => events.length >= 2, 'the stream');
  const answers = Array.from({ length: NUM_REQUESTS }, (_, index) =>
    post(`${server.url}/v1/completions`, {
      prompt: `Tell me about ${index}`,
      max_tokens: 120,
      ignore_eos: true,
    }),
  );
  await stream.until(() => stream.of('step').length >= 30, 'thirty steps');
  killNow(engineOf(server));
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  const tokensOf = () => {
    const made = new Map<number, number>();
    for (const { cells } of stream.of('step')) {
      for (const { request, sampled } of cells.map(cellOf)) {
        if (request > 0) made.set(request, (made.get(request) ?? 0) + sampled);
      }
    }
    return [...made.values()];
  };
  await stream.until(() => tokensOf().every((count) => count >= 120), 'all tokens');
  // Tokens that the killed engine had made and not told were made again.
  expect(tokensOf()).toEqual(Array.from({ length: NUM_REQUESTS }, () => 120));
  expect(stream.of('engine').map(({ state, crashes }) => [state, crashes])).toEqual([
    ['ready', 0],
    ['recovering', 1],
    ['ready', 1],
  ]);
  const [, crash] = stream.of('engine');
  expect(crash?.unfinished).toBeGreaterThanOrEqual(4);
  const place = stream.events.findIndex((event) => event === crash);
  const numbers = stream.events.flatMap((event, at) =>
    event.type === 'step' ? [{ isAfter: at > place, step: event.step }] : [],
  );
  // Iterations of the new process begin anew.
  expect(numbers.find(({ isAfter }) => isAfter)?.step).toBe(0);
  expect(stream.of('lost')).toEqual([]);
  stream.leave();
  expect(await server.stop()).toBe(0);
});
