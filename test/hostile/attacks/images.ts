/** Files that are no images, or far larger ones than they look. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { colorGraph } from '../../support/color-graph.ts';
import { gifBomb, pngBomb, webpBomb } from '../../support/image-bombs.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const SUMMIT = new URL('../../../models/summit', import.meta.url).pathname;
/** After the text model by name: the victim gets the first. */
const PATH = '/predictions/z-color';

function withImages(folder: string): readonly string[] {
  const repository = mkdtempSync(join(folder, 'images-'));
  mkdirSync(join(repository, 'z-color'), { recursive: true });
  symlinkSync(SUMMIT, join(repository, 'summit'));
  writeFileSync(join(repository, 'z-color', 'model.onnx'), colorGraph());
  const config = { image: { size: { height: 4, width: 4 } } };
  writeFileSync(join(repository, 'z-color', 'chairlift.json'), JSON.stringify(config));
  return [`--model-repository=${repository}`, '--model-control=auto'];
}

const bodyOf = (file: Buffer) => ({ inputs: file.toString('base64') });

/** Large, and as small as a file as it may be. */
const flat = (side: number) =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#3a7' } });

/** @returns which of the files were answered otherwise than with `status` */
async function sendAll(
  client: Client,
  files: Readonly<Record<string, Buffer>>,
  status: number,
): Promise<string[]> {
  const breaches: string[] = [];
  for (const [name, file] of Object.entries(files)) {
    const answer = await client.send(PATH, { body: bodyOf(file) });
    if (answer.status !== status) breaches.push(`${name} answered ${answer.status} ${answer.text}`);
  }
  return breaches;
}

export const attacks: readonly Attack[] = [
  {
    name: 'images of 3.6 billion pixels in some kB, animated ones too, ten times each',
    flags: withImages,
    swapsModels: true,
    maxWaitMs: 5000,
    async run({ attacker }) {
      const bombs = {
        PNG: pngBomb(60_000),
        'the head of one': pngBomb(60_000).subarray(0, 60),
        GIF: gifBomb(),
        WebP: webpBomb(),
      };
      const breaches: string[] = [];
      for (let round = 0; round < 10; round++)
        breaches.push(...(await sendAll(attacker, bombs, 400)));
      return breaches;
    },
  },
  {
    name: 'images that end early, are two things, or something else',
    flags: withImages,
    swapsModels: true,
    async run({ attacker }) {
      const png = await flat(64).png().toBuffer();
      const jpeg = await flat(64).jpeg().toBuffer();
      const page = Buffer.from(
        '<script>alert(1)</script><svg xmlns="http://www.w3.org/2000/svg"/>',
      );
      const refused = {
        nothing: Buffer.alloc(1),
        'half a PNG': png.subarray(0, png.length / 2),
        'half a JPEG': jpeg.subarray(0, jpeg.length / 2),
        SVG: page,
        'a PNG that is an SVG': Buffer.concat([png.subarray(0, 8), page]),
        TIFF: await flat(8).tiff().toBuffer(),
        AVIF: await flat(8).avif().toBuffer(),
        PDF: Buffer.from('%PDF-1.7\n'),
        'zeros after a head': Buffer.concat([png.subarray(0, 40), Buffer.alloc(1_000_000)]),
      };
      // An image with a page behind it is an image, and nobody looks at the rest.
      const taken = { 'a JPEG and a page': Buffer.concat([jpeg, page]) };
      return [...(await sendAll(attacker, refused, 400)), ...(await sendAll(attacker, taken, 200))];
    },
  },
  {
    name: '300 images of 25 million pixels at once, half of them given up; the other key asks for one',
    flags: withImages,
    swapsModels: true,
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker, victim }) {
      const large = bodyOf(await flat(5000).png({ compressionLevel: 9 }).toBuffer());
      const small = bodyOf(await flat(8).png().toBuffer());
      await victim.send(PATH, { body: small });
      const flood = Array.from({ length: 300 }, (_, index) =>
        attacker.try(PATH, {
          body: large,
          signal: AbortSignal.timeout(index % 2 === 0 ? 1000 : 20_000),
        }),
      );
      const breaches: string[] = [];
      for (let round = 0; round < 5; round++) {
        const answer = await victim.send(PATH, { body: small });
        if (answer.status !== 200) breaches.push(`the victim got ${answer.status} ${answer.text}`);
        if (answer.ms > 5000) breaches.push(`the victim waited ${Math.round(answer.ms)} ms`);
      }
      await Promise.all(flood);
      return breaches;
    },
  },
];
