import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Samples } from '../support/metrics.ts';
import { COMPLETIONS, type Target } from '../support/target.ts';

const NUM_REQUESTS = 200;
const CANCEL_AFTER_MS = 500;
const NEXT_ANSWER_MS = 5000;
const IDLE_MS = 10_000;

export function load(target: () => Target): void {
  test('#20 #21 200 long requests cancelled after 0.5 s: the next answer within 5 s, all gauges 0 within 10 s (vLLM)', async () => {
    const length = Math.min(10_000, target().maxModelLen - 64);
    const cancelled = Array.from({ length: NUM_REQUESTS }, async (_, index) => {
      const body = { prompt: `Story ${index}`, max_tokens: length, ignore_eos: true };
      const signal = AbortSignal.timeout(CANCEL_AFTER_MS);
      await target()
        .post(COMPLETIONS, { ...body, stream: index % 2 === 0 }, { signal })
        .then((response) => response.text())
        .catch(() => {});
    });
    await Promise.all(cancelled);
    const startedAt = performance.now();
    await target().expectServing();
    expect(performance.now() - startedAt).toBeLessThan(NEXT_ANSWER_MS);
    let levels: number[];
    do {
      await sleep(50);
      const samples = await Samples.of(target());
      levels = ['num_requests_running', 'num_requests_waiting', 'kv_cache_usage_perc'].map((name) =>
        samples.value(name),
      );
    } while (levels.some((level) => level !== 0) && performance.now() - startedAt < IDLE_MS);
    expect(levels).toEqual([0, 0, 0]);
  });

  test('#22 ten requests move counters and histograms by exact amounts (vLLM)', async () => {
    const before = await Samples.of(target());
    let numPrompt = 0;
    for (let index = 0; index < 10; index++) {
      const body = { prompt: `Number ${index} is`, max_tokens: 5, ignore_eos: true };
      const { usage } = await target().answer(COMPLETIONS, body);
      numPrompt += usage?.prompt_tokens ?? 0;
    }
    const after = await Samples.of(target());
    const moved = (name: string): number => after.value(name) - before.value(name);
    expect(moved('prompt_tokens_total')).toBe(numPrompt);
    expect(moved('generation_tokens_total')).toBe(50);
    expect(moved('request_success_total')).toBe(10);
    expect(moved('time_to_first_token_seconds_count')).toBe(10);
    expect(moved('e2e_request_latency_seconds_count')).toBe(10);
    expect(moved('request_prompt_tokens_sum')).toBe(numPrompt);
    expect(moved('request_generation_tokens_sum')).toBe(50);
  });
}
