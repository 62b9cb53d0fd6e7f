/** Texts for encoders: as many as there may be, as long as they may be, and other things in their place. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const FLAGS = [
  ['--model', 'summit=models/summit'],
  ['--model', 'classifier=test/fixtures/encoders/bert-classifier'],
  ['--model', 'embedder=test/fixtures/encoders/bert'],
].flat();

/** As many as a request may have. */
const MANY = 2048;
const LANES = 8;

/** The field of each door that has its texts, and a model that answers there. */
const DOORS = [
  ['/classify', 'input', 'classifier'],
  ['/predict', 'inputs', 'classifier'],
  ['/v2/embed', 'texts', 'embedder'],
  ['/embed_all', 'inputs', 'embedder'],
  ['/pooling', 'input', 'embedder'],
] as const;

/** @returns answers that are neither successes nor refusals */
async function sendAll(client: Client, make: (field: string) => readonly unknown[]) {
  const breaches: string[] = [];
  const tries = DOORS.flatMap(([path, field, model]) =>
    make(field).map((texts) => ({ path, body: { model, truncate: true, [field]: texts } })),
  );
  const lane = async (): Promise<void> => {
    for (let next = tries.shift(); next !== undefined; next = tries.shift()) {
      const { path, body } = next;
      const answer = await client.try(path, { body });
      if ((answer?.status ?? 0) >= 500) breaches.push(`${path} answered ${answer?.status}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return breaches;
}

export const attacks: readonly Attack[] = [
  {
    name: 'as many texts as there may be, and more, over and over',
    flags: FLAGS,
    run: ({ attacker }) =>
      sendAll(attacker, (field) =>
        Array.from({ length: 12 }, (_, round) => {
          const texts = Array.from({ length: MANY + (round % 2) }, (_each, at) => `${round} ${at}`);
          return field === 'inputs' ? texts.map((text) => [text]) : texts;
        }),
      ),
  },
  {
    name: 'texts of a megabyte that are cut',
    flags: FLAGS,
    run: ({ attacker }) =>
      sendAll(attacker, () => Array<string>(3).fill('the cat '.repeat(2 ** 17))),
  },
  {
    name: 'what is no text',
    flags: FLAGS,
    run: ({ attacker }) =>
      sendAll(attacker, () => [
        null,
        [],
        [[]],
        {},
        [null],
        [['a', 'b', 'c']],
        [['a'], {}],
        [[[['a']]]],
        [-1],
        [2 ** 31],
        [1e300],
        ['\ud800'],
        Array.from({ length: 100_000 }, () => []),
        Array.from({ length: 30_000 }, () => ['a']),
      ]),
  },
];
