/** Text files and images that go with a question. */
import type { Attachment } from './types.ts';

/** Much more than any prompt may have. */
const MAX_TEXT_BYTES = 2 ** 20;
const MAX_IMAGE_BYTES = 10 * 2 ** 20;

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/** @throws Error saying why a file can't be attached */
export async function readAttachment(file: File, takesImages: boolean): Promise<Attachment> {
  return IMAGE_TYPES.includes(file.type)
    ? await readImage(file, takesImages)
    : await readText(file);
}

async function readImage(file: File, takesImages: boolean): Promise<Attachment> {
  if (!takesImages) throw new Error('This model takes no images.');
  if (file.size > MAX_IMAGE_BYTES) throw new Error('It is larger than 10 MB.');
  const image = await dataUrlOf(file);
  return { name: file.name, text: '', image };
}

async function dataUrlOf(file: File): Promise<string> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') resolve(reader.result);
    });
    reader.addEventListener('error', () => reject(new Error('It can’t be read.')));
    reader.readAsDataURL(file);
  });
}

async function readText(file: File): Promise<Attachment> {
  if (file.size > MAX_TEXT_BYTES) throw new Error('It is larger than 1 MB.');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    const text = decoder.decode(await file.arrayBuffer());
    if (!text.includes('\0')) return { name: file.name, text };
  } catch {
    // Not text, as said below.
  }
  throw new Error('It is not a text file.');
}

/** Whether what a file of chats says is an image is one that a page can show without asking anybody. */
export function isImageUrl(text: string): boolean {
  return /^data:image\/(?:png|jpeg|webp|gif);base64,[\w+/]+={0,2}$/.test(text);
}
