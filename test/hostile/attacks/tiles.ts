/** Images for models that cut them into many tiles: the most tiles there may be, floods of them, and extreme shapes. */
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { pngBomb } from '../../support/image-bombs.ts';
import type { Attack } from '../support/attack.ts';
import { CHAT, chatOf, noise, sendAll } from '../support/seeing.ts';

const MODELS = new URL('../../../models/', import.meta.url).pathname;
const FIXTURES = new URL('../../fixtures/vision/', import.meta.url).pathname;
/** After the text model by name: the victim's text is of the first. */
const ANYRES = 'z-seeing-canvases';
const CANVAS = 'z-seeing-tiles';
const SEEING = [ANYRES, CANVAS] as const;
/** Tiles along a canvas, and of one: as many as published models have, which are larger in all else. */
const ALONG = 6;
const TILES = 12;
/** Pixels of a side of a tile of the tiny models. */
const SIDES = { [ANYRES]: 12, [CANVAS]: 16 } as const;
/** Pixels of a width and a height, as many as there may be. */
const LARGEST = { [ANYRES]: [65_535, 381], [CANVAS]: [5000, 5000] } as const;
/** Images of a chat, as many as there may be. */
const MOST = 16;
const FLOOD = 10;
const SLOW_MS = 5000;

type Json = Record<string, unknown>;

/** The folder of a tiny model with other fields in a file of it. */
function change(folder: string, name: string, changes: (json: Json) => Json): void {
  const file = join(folder, name);
  const json = JSON.parse(readFileSync(file, 'utf8')) as Json;
  writeFileSync(file, JSON.stringify({ ...json, ...changes(json) }));
}

const nested = (name: string, changes: Json) => (json: Json) => ({
  [name]: { ...(json[name] as Json), ...changes },
});

function withSeeing(folder: string): readonly string[] {
  const repository = mkdtempSync(join(folder, 'tiles-'));
  symlinkSync(join(MODELS, 'summit'), join(repository, 'summit'));
  for (const [name, fixture] of [
    [ANYRES, 'llava-next'],
    [CANVAS, 'internvl'],
  ] as const) {
    const model = join(repository, name);
    cpSync(join(FIXTURES, fixture), model, { recursive: true });
    change(model, 'config.json', nested('text_config', { max_position_embeddings: 8192 }));
  }
  const along = Array.from({ length: ALONG }, (_, index) => (index + 1) * SIDES[ANYRES]);
  const canvases = along.flatMap((height) => along.map((width) => [height, width]));
  const told = { image_grid_pinpoints: canvases };
  change(join(repository, ANYRES), 'config.json', () => told);
  change(join(repository, ANYRES), 'processor_config.json', nested('image_processor', told));
  const images = { max_patches: TILES };
  change(join(repository, CANVAS), 'processor_config.json', nested('image_processor', images));
  return [`--model-repository=${repository}`, '--model-control=auto'];
}

const common = { flags: withSeeing, swapsModels: true } as const;

/** An image of one color, which is a small file however many pixels it has. */
async function plain(width: number, height: number): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#a53' } })
    .png()
    .toBuffer();
}

/** An image of the shape that is cut into the most tiles. */
async function mostTiles(model: (typeof SEEING)[number]): Promise<Buffer> {
  const side = SIDES[model];
  return model === ANYRES ? noise(ALONG * side, ALONG * side) : noise(4 * side, 3 * side);
}

/** Images of extreme shapes for a model, and those that are too large for any. */
const shapesFor = (model: (typeof SEEING)[number]): Attack => ({
  ...common,
  name: `${model}: lines of 65,535 pixels, a dot, an image with 25 million pixels, and more`,
  maxWaitMs: 5000,
  async run({ attacker }) {
    const [width, height] = LARGEST[model];
    const taken = {
      'a dot': await noise(1, 1),
      'a line across': await noise(65_535, 1),
      'a line down': await noise(1, 65_535),
      'the most pixels': await plain(width, height),
    };
    const refused = {
      'a row more': await plain(width, height + 1),
      'a longer line': await plain(65_536, 1),
      PNG: pngBomb(60_000),
    };
    const breaches = await sendAll(attacker, refused, 400, model);
    return [...breaches, ...(await sendAll(attacker, taken, 200, model))];
  },
});

/** Floods of images that each are as much work as one may be. */
const floodOf = (model: (typeof SEEING)[number]): Attack => ({
  ...common,
  name: `${model}: sixteen images of the most tiles in each of ${FLOOD} chats at once, half of them given up; the other key asks for one`,
  hasKeys: true,
  maxWaitMs: 10_000,
  async run({ attacker, victim }) {
    await victim.send(CHAT, { body: chatOf([await mostTiles(model)], model) });
    const flood = Array.from({ length: FLOOD }, async (_, index) => {
      const images = await Promise.all(Array.from({ length: MOST }, () => mostTiles(model)));
      return await attacker.try(CHAT, {
        body: chatOf(images, model, `${index}`),
        signal: AbortSignal.timeout(index % 2 === 0 ? 1000 : 20_000),
      });
    });
    const breaches: string[] = [];
    for (let round = 0; round < 5; round++) {
      const answer = await victim.send(CHAT, { body: chatOf([await noise(40, 30)], model) });
      if (answer.status !== 200) breaches.push(`the victim got ${answer.status} ${answer.text}`);
      if (answer.ms > SLOW_MS) breaches.push(`the victim waited ${Math.round(answer.ms)} ms`);
    }
    await Promise.all(flood);
    return breaches;
  },
});

export const attacks: readonly Attack[] = [
  ...SEEING.map(floodOf),
  ...SEEING.map(shapesFor),
  {
    ...common,
    name: 'texts that spell marks of images, for models that cut them into many tiles',
    async run({ attacker }) {
      const breaches: string[] = [];
      const files = [[], [await noise(40, 30)]];
      for (const [model, mark] of [
        [ANYRES, '<image>'],
        [CANVAS, '<img><IMG_CONTEXT></img>'],
      ] as const) {
        const text = mark.repeat(8);
        const told = await Promise.all(
          files.map((images) => attacker.send(CHAT, { body: chatOf(images, model, text) })),
        );
        const prompt = { model, prompt: text, max_tokens: 4 };
        const raw = await attacker.send('/v1/completions', { body: prompt });
        for (const { status, text: answer } of [...told, raw]) {
          if (status !== 200) breaches.push(`${mark}: ${status} ${answer.slice(0, 200)}`);
        }
      }
      return breaches;
    },
  },
];
