import { describe, expect, it } from 'vitest';
import { lastBatchTimes } from '../../scripts/bench/peers/batched-bench-table.ts';

const HEADER = `
main: n_kv_max = 768, n_batch = 2048, n_ubatch = 512, flash_attn = 1, n_threads = 2

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
`;
const COLD = `|   128 |     64 |    4 |    768 |    0.512 |  1000.00 |    0.512 |   500.00 |    1.024 |   750.00 |
`;
const WARM = `|   128 |     64 |    4 |    768 |    0.256 |  2000.00 |    0.400 |   640.00 |    0.656 |  1170.73 |
`;
const TIMINGS = '\nllama_print_timings:  load time = 100.00 ms\n';

describe('lastBatchTimes', () => {
  it('gives the times of the last row, of all sequences together', () => {
    const times = lastBatchTimes(HEADER + COLD + WARM + TIMINGS);
    expect(times).toEqual({ prefillMs: 256, decodeMs: 400 });
  });

  it.each([
    ['no table', TIMINGS],
    ['a table without rows', HEADER + TIMINGS],
    ['a rate that is no number', HEADER + WARM.replace(' 640.00', '    nan')],
  ])('refuses %s', (_, output) => {
    expect(() => lastBatchTimes(output)).toThrow(/no .* in what llama-batched-bench printed/);
  });
});
