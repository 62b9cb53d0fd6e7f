import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PUBLIC = fileURLToPath(new URL('../../web/public/', import.meta.url));

interface Manifest {
  readonly icons: readonly {
    readonly src: string;
    readonly sizes: string;
    readonly type: string;
  }[];
}

test('the icons of the manifest are there, in the sizes that it says', () => {
  const text = readFileSync(`${PUBLIC}manifest.webmanifest`, 'utf8');
  const pictures = (JSON.parse(text) as Manifest).icons.filter(({ type }) => type === 'image/png');
  // Sizes that browsers ask of a page that can be installed.
  expect(pictures.map(({ sizes }) => sizes)).toEqual(['192x192', '512x512']);
  for (const { src, sizes } of pictures) {
    const bytes = readFileSync(PUBLIC + src);
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`).toBe(sizes);
    expect(bytes.length).toBeLessThan(20_000);
  }
});
