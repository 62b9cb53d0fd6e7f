/** Texts to fill in, over each API that takes them. */
import type { Attack } from '../support/attack.ts';

const LONG = 'x7 '.repeat(1e6);
const MARKS = '<|fim_prefix|><fim_suffix><｜fim▁end｜>[PREFIX]<|file_sep|>'.repeat(4e4);
/** Fields of texts before and after the place. */
const PLACES = [
  ['/infill', 'input_prefix', 'input_suffix'],
  ['/v1/completions', 'prompt', 'suffix'],
  ['/api/generate', 'prompt', 'suffix'],
] as const;

export const attacks: readonly Attack[] = [
  {
    name: 'megabytes before the place, after it, on both sides, and of marks',
    async run({ attacker }) {
      for (const [path, before, after] of PLACES) {
        for (const text of [LONG, MARKS]) {
          await attacker.try(path, { body: { [before]: text, [after]: 'a' } });
          await attacker.try(path, { body: { [before]: 'a', [after]: text } });
          await attacker.try(path, { body: { [before]: text, [after]: text } });
        }
      }
    },
  },
  {
    name: 'one suffix of 3 MB for 128 prompts, cut to a token each',
    async run({ attacker }) {
      const prompt = Array.from({ length: 128 }, (_, index) => `${index}`);
      const body = { prompt, suffix: LONG, truncate_prompt_tokens: 1, max_tokens: 1, n: 1 };
      await attacker.try('/v1/completions', { body });
      await attacker.try('/v1/completions', { body: { ...body, truncate_prompt_tokens: null } });
    },
  },
  {
    name: 'a million snippets, snippets of nothing, of megabytes, and names of megabytes',
    async run({ attacker }) {
      const place = '"input_prefix":"a","input_suffix":"b"';
      for (const item of ['{"text":"a"}', 'null', '[]', '1', '{"text":{}}']) {
        const list = `${`${item},`.repeat(5e5)}${item}`;
        await attacker.try('/infill', { body: `{${place},"input_extra":[${list}]}` });
      }
      const extras = [
        [{ filename: 'a', text: LONG }],
        [{ filename: LONG, text: 'a' }],
        Array.from({ length: 256 }, () => ({ filename: 'a', text: 'y '.repeat(1e4) })),
      ];
      for (const input_extra of extras) {
        const body = { input_prefix: 'a', input_suffix: 'b', input_extra, n_predict: 1 };
        await attacker.try('/infill', { body });
      }
    },
  },
  {
    name: 'every sampler at its end, over a repetition that fills the context',
    async run({ attacker }) {
      const samplers = {
        dry_multiplier: 100,
        dry_base: 100,
        dry_allowed_length: 1,
        dry_sequence_breakers: 'abcdefghijklmnop'.split(''),
        typical_p: 0.001,
        top_n_sigma: 1000,
        xtc_probability: 1,
        xtc_threshold: 0,
        dynatemp_range: 2,
        dynatemp_exponent: 10,
      };
      const prompt = '7 '.repeat(500);
      for (const [path, length] of [
        ['/completion', 'n_predict'],
        ['/v1/completions', 'max_tokens'],
      ] as const) {
        const body = { prompt, [length]: 64, ...samplers };
        await Promise.all(Array.from({ length: 8 }, () => attacker.try(path, { body })));
      }
      const breakers = Array.from({ length: 1e5 }, () => 'a');
      await attacker.try('/completion', { body: { prompt, dry_sequence_breakers: breakers } });
      const long = { dry_multiplier: 1, dry_sequence_breakers: ['x'.repeat(1e6)] };
      await attacker.try('/completion', { body: { prompt, ...long } });
    },
  },
  {
    name: 'an editor whose every key begins a request and leaves the last one',
    hasKeys: true,
    async run({ attacker }) {
      for (let key = 0; key < 200; key++) {
        const body = { input_prefix: 'a'.repeat(key), input_suffix: 'b', stream: true };
        await attacker.try('/infill', { body, signal: AbortSignal.timeout(20) });
      }
    },
  },
];
