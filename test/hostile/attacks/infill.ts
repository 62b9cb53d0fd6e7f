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
