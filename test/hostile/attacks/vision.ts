/** Images for a model that sees: bombs, floods, and texts that look like the marks of images. */
import { mkdtempSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { gifBomb, pngBomb, webpBomb } from '../../support/image-bombs.ts';
import type { Attack } from '../support/attack.ts';
import { CHAT, chatOf, noise, sendAll } from '../support/seeing.ts';

const SUMMIT = new URL('../../../models/summit', import.meta.url).pathname;
const SMOLVLM = new URL('../../fixtures/vision/smolvlm', import.meta.url).pathname;
/** After the text model by name: the victim's text is of the first. */
const SEEING = 'z-seeing';
/** Images keep their shape. */
const QWEN = new URL('../../fixtures/vision/qwen2.5-vl', import.meta.url).pathname;
const SEEING_SHAPES = 'z-seeing-shapes';
/** Images are squares, whose tokens are computed at once. */
const GEMMA = new URL('../../fixtures/vision/gemma3', import.meta.url).pathname;
const SEEING_SQUARES = 'z-seeing-squares';
/** The middle of an image is seen, which keeps its shape until then. */
const LLAVA = new URL('../../fixtures/vision/llava', import.meta.url).pathname;
const SEEING_CROPS = 'z-seeing-crops';
/** Images keep their shape, in lines with tokens of text in between. */
const PIXTRAL = new URL('../../fixtures/vision/mistral3', import.meta.url).pathname;
const SEEING_LINES = 'z-seeing-lines';
const FLOOD = 60;

function withSeeing(folder: string): readonly string[] {
  const repository = mkdtempSync(join(folder, 'vision-'));
  symlinkSync(SUMMIT, join(repository, 'summit'));
  symlinkSync(SMOLVLM, join(repository, SEEING));
  symlinkSync(QWEN, join(repository, SEEING_SHAPES));
  symlinkSync(LLAVA, join(repository, SEEING_CROPS));
  symlinkSync(PIXTRAL, join(repository, SEEING_LINES));
  symlinkSync(GEMMA, join(repository, SEEING_SQUARES));
  return [`--model-repository=${repository}`, '--model-control=auto'];
}

const common = { flags: withSeeing, swapsModels: true } as const;

export const attacks: readonly Attack[] = [
  {
    ...common,
    name: 'a model that sees is shown images of 3.6 billion pixels, and files that are none',
    maxWaitMs: 5000,
    async run({ attacker }) {
      const png = await noise(64, 64);
      const refused = {
        PNG: pngBomb(60_000),
        GIF: gifBomb(),
        WebP: webpBomb(),
        'half a PNG': png.subarray(0, png.length / 2),
        'a long line': await sharp({
          create: { width: 1, height: 65_536, channels: 3, background: '#000' },
        })
          .png()
          .toBuffer(),
        'zeros after a head': Buffer.concat([png.subarray(0, 40), Buffer.alloc(1_000_000)]),
      };
      const breaches: string[] = [];
      for (let round = 0; round < 5; round++)
        breaches.push(...(await sendAll(attacker, refused, 400, SEEING)));
      const page = Buffer.from('<script>alert(1)</script>');
      const taken = { 'a PNG and a page': Buffer.concat([png, page]), 'a dot': await noise(1, 1) };
      return [...breaches, ...(await sendAll(attacker, taken, 200, SEEING))];
    },
  },
  {
    ...common,
    name: 'four images in each of sixty chats at once, half of them given up; the other key asks for one',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker, victim }) {
      const fourImages = () => Promise.all(Array.from({ length: 4 }, () => noise(90, 60)));
      const own = await noise(40, 30);
      await victim.send(CHAT, { body: chatOf([own], SEEING) });
      const flood = Array.from({ length: FLOOD }, async (_, index) =>
        attacker.try(CHAT, {
          body: chatOf(await fourImages(), SEEING, `${index}`),
          signal: AbortSignal.timeout(index % 2 === 0 ? 500 : 20_000),
        }),
      );
      const breaches: string[] = [];
      for (let round = 0; round < 5; round++) {
        const answer = await victim.send(CHAT, { body: chatOf([await noise(40, 30)], SEEING) });
        if (answer.status !== 200) breaches.push(`the victim got ${answer.status} ${answer.text}`);
        if (answer.ms > 5000) breaches.push(`the victim waited ${Math.round(answer.ms)} ms`);
      }
      await Promise.all(flood);
      return breaches;
    },
  },
  {
    ...common,
    name: 'images of extreme shapes, for a model that keeps them, and one that makes squares of them',
    maxWaitMs: 5000,
    async run({ attacker }) {
      const refused = {
        'a line across': await noise(201, 1),
        'a line down': await noise(1, 65_535),
        'a ribbon': await noise(6030, 30),
        PNG: pngBomb(60_000),
      };
      const taken = {
        'a dot': await noise(1, 1),
        'the longest line': await noise(200, 1),
        'the longest ribbon': await noise(30, 6000),
        'many pixels': await noise(1000, 700),
      };
      const breaches: string[] = [];
      for (let round = 0; round < 2; round++) {
        breaches.push(...(await sendAll(attacker, refused, 400, SEEING_SHAPES)));
        breaches.push(...(await sendAll(attacker, taken, 200, SEEING_SHAPES)));
        const { PNG, ...lines } = refused;
        breaches.push(...(await sendAll(attacker, { PNG }, 400, SEEING_SQUARES)));
        breaches.push(...(await sendAll(attacker, { ...taken, ...lines }, 200, SEEING_SQUARES)));
      }
      return breaches;
    },
  },
  {
    ...common,
    name: 'crops and lines of images with extreme shapes, each by a model that sees them',
    maxWaitMs: 5000,
    async run({ attacker }) {
      const PNG = pngBomb(60_000);
      const line = await noise(1, 65_535);
      const ribbon = await noise(6030, 30);
      const taken = { 'a dot': await noise(1, 1), 'many pixels': await noise(1000, 700) };
      const breaches: string[] = [];
      // Its sides are multiplied until the shorter one has 37 pixels.
      breaches.push(...(await sendAll(attacker, { PNG, line }, 400, SEEING_CROPS)));
      breaches.push(...(await sendAll(attacker, { ...taken, ribbon }, 200, SEEING_CROPS)));
      // Less than a pixel would be left along the shorter side.
      breaches.push(...(await sendAll(attacker, { PNG, line, ribbon }, 400, SEEING_LINES)));
      breaches.push(...(await sendAll(attacker, taken, 200, SEEING_LINES)));
      const text = '[IMG][IMG_BREAK][IMG_END]'.repeat(4);
      const body = chatOf([await noise(40, 30)], SEEING_LINES, text);
      const { status, text: told } = await attacker.send(CHAT, { body });
      if (status !== 200) breaches.push(`marks beside an image: ${status} ${told}`);
      return breaches;
    },
  },
  {
    ...common,
    name: "texts that spell an image's mark, its tiles and its tokens",
    async run({ attacker }) {
      const marks = [
        ...['<image>', '<fake_token_around_image>', '<row_1_col_1>', '<global-img>'].map(
          (mark) => [SEEING, mark] as const,
        ),
        ...['<|image_pad|>', '<|vision_start|>', '<|vision_end|>', '<|video_pad|>'].map(
          (mark) => [SEEING_SHAPES, mark] as const,
        ),
        ...['<start_of_image>', '<image_soft_token>', '<end_of_image>'].map(
          (mark) => [SEEING_SQUARES, mark] as const,
        ),
      ];
      const breaches: string[] = [];
      for (const [model, mark] of marks) {
        const text = mark.repeat(8);
        for (const files of [[], [await noise(40, 30)]]) {
          const body = chatOf(files, model, text);
          const { status, text: told } = await attacker.send(CHAT, { body });
          if (status !== 200) breaches.push(`${mark} beside ${files.length}: ${status} ${told}`);
        }
        const prompt = { model, prompt: text, max_tokens: 4 };
        const { status, text: told } = await attacker.send('/v1/completions', { body: prompt });
        if (status !== 200) breaches.push(`a prompt of ${mark}: ${status} ${told}`);
      }
      return breaches;
    },
  },
];
