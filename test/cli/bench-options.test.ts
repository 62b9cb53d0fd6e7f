import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addBenchOptions, readBenchOptions } from '../../src/cli/bench-options.ts';
import { UsageError } from '../../src/cli/usage-error.ts';

function parse(...args: string[]) {
  const command = addBenchOptions(new Command('bench'));
  command.parse(args, { from: 'user' });
  return readBenchOptions(command);
}

describe('the flags of bench', () => {
  it('have defaults that run', () => {
    expect(parse()).toMatchObject({
      baseUrl: 'http://127.0.0.1:8000',
      backend: 'openai',
      requestRate: [Infinity],
      burstiness: 1,
      goodput: {},
      metricPercentiles: [50, 90, 95, 99],
      extraBody: {},
    });
  });

  it('take several values, with commas between', () => {
    const options = parse('--request-rate', '0.5,4,inf', '--goodput', 'ttft:200', 'tpot:50.5');
    expect(options.requestRate).toEqual([0.5, 4, Infinity]);
    expect(options.goodput).toEqual({ ttft: 200, tpot: 50.5 });
  });

  it.each([
    [['--request-rate', '0'], 'requestRate'],
    [['--request-rate', '1,fast'], 'requestRate'],
    [['--goodput', 'itl:5'], 'such as ttft:200; got itl:5'],
    [['--goodput', 'ttft'], 'got ttft'],
    [['--base-url', 'ftp://host'], 'expected an http or https address'],
    [['--extra-body', '[1'], 'expected a JSON object'],
    [['--num-prompts', '1.5'], 'numPrompts'],
    [['--ramp-up-strategy', 'linear'], 'go together'],
    [
      [
        '--ramp-up-strategy=linear',
        '--ramp-up-start-rps=1',
        '--ramp-up-end-rps=2',
        '--request-rate=3',
      ],
      'replaces --request-rate',
    ],
  ])('refuse %j', (args, message) => {
    expect(() => parse(...args)).toThrow(UsageError);
    expect(() => parse(...args)).toThrow(message);
  });
});
