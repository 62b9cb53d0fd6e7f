/** Texts for encoders: as many as there may be, as long as they may be, and other things in their place. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

/** The field of each door that has its texts, and the model that answers there. */
type Door = readonly [path: string, field: string, model: string];

interface Stand {
  readonly name: string;
  /** Beside a model that generates text. Each has threads of its own that tokenize. */
  readonly models: readonly string[];
  readonly doors: readonly Door[];
}

const STANDS: readonly Stand[] = [
  {
    name: 'labels and vectors',
    models: [
      'classifier=test/fixtures/encoders/bert-classifier',
      'embedder=test/fixtures/encoders/bert',
    ],
    doors: [
      ['/classify', 'input', 'classifier'],
      ['/predict', 'inputs', 'classifier'],
      ['/v2/embed', 'texts', 'embedder'],
      ['/embed_all', 'inputs', 'embedder'],
      ['/pooling', 'input', 'embedder'],
    ],
  },
  {
    name: 'words and inference',
    models: [
      'sparse=test/fixtures/encoders/bert-splade',
      'nli=test/fixtures/encoder-families/bert',
    ],
    doors: [
      ['/embed_sparse', 'inputs', 'sparse'],
      ['/models/nli', 'inputs', 'nli'],
    ],
  },
];

/** As many as a request may have. */
const MANY = 2048;
const LANES = 8;

/** Labels for zero-shot classification. */
const LABELS = { candidate_labels: ['a', 'b'] };

/** @returns answers that are neither successes nor refusals */
async function sendAll(
  client: Client,
  doors: readonly Door[],
  make: (path: string) => readonly unknown[],
) {
  const breaches: string[] = [];
  const tries = doors.flatMap(([path, field, model]) =>
    make(path).map((texts) => ({
      path,
      body: { model, truncate: true, [field]: texts, parameters: LABELS },
    })),
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

export const attacks: readonly Attack[] = STANDS.flatMap(({ name, models, doors }) => {
  const flags = ['summit=models/summit', ...models].flatMap((model) => ['--model', model]);
  return [
    {
      name: `${name}: as many texts as there may be, and more, over and over`,
      flags,
      run: ({ attacker }) =>
        sendAll(attacker, doors, (path) =>
          Array.from({ length: 12 }, (_, round) => {
            const texts = Array.from(
              { length: MANY + (round % 2) },
              (_each, at) => `${round} ${at}`,
            );
            return path === '/predict' ? texts.map((text) => [text]) : texts;
          }),
        ),
    },
    {
      name: `${name}: texts of a megabyte that are cut`,
      flags,
      run: ({ attacker }) =>
        sendAll(attacker, doors, () => Array<string>(3).fill('the cat '.repeat(2 ** 17))),
    },
    {
      name: `${name}: what is no text`,
      flags,
      run: ({ attacker }) =>
        sendAll(attacker, doors, () => [
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
});
