/** Chats with images, for models that see. */
import sharp from 'sharp';
import type { Client } from './client.ts';

export const CHAT = '/v1/chat/completions';

/** @param files images, before the text */
export function chatOf(files: readonly Buffer[], model: string, text = 'What is it?'): object {
  const images = files.map((file) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${file.toString('base64')}` },
  }));
  const content = [...images, { type: 'text', text }];
  return { model, max_tokens: 4, messages: [{ role: 'user', content }] };
}

let numNoises = 0;

/** An image whose tiles nobody has seen before, as a PNG. */
export async function noise(width: number, height: number): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  let state = ++numNoises;
  for (let at = 0; at < pixels.length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    pixels[at] = state >>> 16;
  }
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/**
 * Asks a model about each image alone.
 * @returns which were answered otherwise than with `status`
 */
export async function sendAll(
  client: Client,
  files: Readonly<Record<string, Buffer>>,
  status: number,
  model: string,
): Promise<string[]> {
  const breaches: string[] = [];
  for (const [name, file] of Object.entries(files)) {
    const answer = await client.send(CHAT, { body: chatOf([file], model) });
    if (answer.status !== status) breaches.push(`${name} answered ${answer.status} ${answer.text}`);
  }
  return breaches;
}
