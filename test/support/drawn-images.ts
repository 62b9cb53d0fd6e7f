/** The 200 drawn images of scripts/references/images.py, beside what others make of each. */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { ImageDecoder } from '../../src/images/decode.ts';
import type { Pixels } from '../../src/images/pixels.ts';

const drawn = z.object({ cases: z.array(z.object({ kind: z.string(), file: z.base64() })) });

export interface DrawnCase<Expected> {
  readonly kind: string;
  readonly file: Buffer;
  readonly expected: Expected;
}

/** @param name of the fixture with what is expected @param schema of what it has for each image, in order */
export async function drawnCases<Expected>(
  name: string,
  schema: z.ZodType<Expected>,
): Promise<readonly DrawnCase<Expected>[]> {
  const packed = gunzipSync(await fixture('images.json.gz')).toString('utf8');
  const { cases } = drawn.parse(JSON.parse(packed));
  const all = z.array(schema).parse(JSON.parse((await fixture(name)).toString('utf8')));
  return all.map((expected, index) => {
    const { kind, file } = cases[index] ?? { kind: 'none', file: '' };
    return { kind, file: Buffer.from(file, 'base64'), expected };
  });
}

/** Its pixels, as models that see get them. */
export function decodedOnWhite(decoder: ImageDecoder, file: Uint8Array): Promise<Pixels> {
  return decoder.decode(file, { maxPixels: 2 ** 20, maxSeconds: 10 }, 'on white');
}

function fixture(name: string): Promise<Buffer> {
  return readFile(new URL(`../fixtures/${name}`, import.meta.url));
}
