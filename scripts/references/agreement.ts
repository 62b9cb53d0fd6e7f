/**
 * How near the families of models come to their references: for each tiny checkpoint, by its folder of safetensors and
 * its GGUF file where llama.cpp writes one, how many greedy tokens are those of Transformers, and the largest
 * difference of logits as a share of the largest one. Rounded to 8 and 4 bits, on our kernels, that difference
 * alone: of random weights greedy tokens say little then.
 *
 *   npx tsx scripts/references/agreement.ts [--families llama,qwen3.5] [--json]
 */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { FAMILY_FIXTURES } from '../../test/support/families.ts';
import {
  deviation,
  HYBRID_FIXTURES,
  HYBRID_GGUF,
  readReferences,
  Text,
} from '../../test/support/family-text.ts';
import { StateRun } from '../../test/support/state-run.ts';
import { printTable } from '../bench/lib/table.ts';

const { values } = parseArgs({
  options: { families: { type: 'string' }, json: { type: 'boolean', default: false } },
});
const GGUF = 'test/fixtures/gguf';

interface Agreement {
  readonly numTokens: number;
  readonly numSame: number;
  /** Largest difference of logits, against the largest expected one. */
  readonly deviation: number;
}

type Options = Omit<BuildOptions, 'cacheDirectory' | 'maxModelLen'>;

const native = (precision: 'int8' | 'int4'): Options => ({
  precision,
  nativeKernels: { kvCacheDtype: 'float32' },
});

const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-agreement-'));

/** @param path of the model @param fixture folder of its reference */
async function agreement(
  path: string,
  [fixtures, name]: readonly [folder: string, name: string],
  options: Options,
): Promise<Agreement> {
  let [numTokens, numSame, largest] = [0, 0, 0];
  for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(name, fixtures)) {
    const source = { kind: 'folder', path } as const;
    const model = await prepareModel(source, { ...options, maxModelLen, cacheDirectory });
    const text =
      fixtures === HYBRID_FIXTURES
        ? new StateRun(model, 1, maxModelLen, 2)
        : new Text(model, maxModelLen);
    const { tokens, first, last } = text.continue(ids, greedy.length);
    text.release();
    numTokens += greedy.length;
    numSame += tokens.filter((token, at) => token === greedy[at]).length;
    largest = Math.max(largest, deviation(first, logitsAt(ids.length)));
    // The rest of another text has other logits.
    if (tokens.join() !== greedy.join()) continue;
    largest = Math.max(largest, deviation(last, logitsAt(ids.length + greedy.length)));
  }
  return { numTokens, numSame, deviation: largest };
}

const wanted = values.families?.split(',');
const rows: { name: string; type: string; of: Record<string, Agreement | null> }[] = [];
try {
  for (const fixtures of [FAMILY_FIXTURES, HYBRID_FIXTURES]) {
    for (const name of readdirSync(fixtures).toSorted()) {
      if (wanted && !wanted.includes(name)) continue;
      const folder = join(fixtures, name);
      const fixture = [fixtures, name] as const;
      const file = join(fixtures === HYBRID_FIXTURES ? HYBRID_GGUF : GGUF, `${name}.gguf`);
      const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as {
        readonly model_type: string;
      };
      const of: Record<string, Agreement | null> = {
        safetensors: await agreement(folder, fixture, { precision: 'fp32' }),
        gguf: existsSync(file) ? await agreement(file, fixture, { precision: 'fp32' }) : null,
        int8: await agreement(folder, fixture, native('int8')),
        int4: await agreement(folder, fixture, native('int4')),
      };
      rows.push({ name, type: config.model_type, of });
    }
  }
} finally {
  await rm(cacheDirectory, { recursive: true });
}

if (values.json) {
  console.log(JSON.stringify(rows));
} else {
  const told = (of: Agreement | null | undefined) =>
    of ? [`${of.numSame}/${of.numTokens}`, of.deviation.toExponential(1)] : ['', ''];
  const difference = (of: Agreement | null | undefined) => (of ? of.deviation.toFixed(3) : '');
  printTable(
    ['checkpoint', 'model_type', 'safetensors', 'difference', 'GGUF', 'difference', 'int8', 'int4'],
    rows.map(({ name, type, of }) => [
      name,
      type,
      ...told(of.safetensors),
      ...told(of.gguf),
      difference(of.int8),
      difference(of.int4),
    ]),
  );
}
