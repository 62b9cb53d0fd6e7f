/** The files of images that requests name: in the request, uploaded, or fetched from where the operator allows. */
import { ImageError } from '../../images/image-error.ts';
import { numPixels } from '../../images/decode.ts';
import { LIMITS } from '../../limits.ts';
import { once } from '../../once.ts';
import { download, DownloadError } from '../../net/download.ts';
import type { Caller } from '../caller.ts';
import type { ChatImage, ImagePart, ImageReader, ImageSource } from '../chat/chat-images.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import { ClientBudget } from './client-budget.ts';
import { base64Bytes, dataUrlContent, decodeBase64 } from './image-data.ts';
import { LocalMedia } from './local-media.ts';
import { MediaDomains } from './media-domains.ts';

export interface ImageSourcesOptions {
  /** Hosts; see MediaDomains. */
  readonly allowedDomains: readonly string[];
  /** Folder; null for none. */
  readonly allowedLocalPath: string | null;
  /** Images of a prompt. */
  readonly maxImages: number;
  /** The file that a client uploaded, of so many bytes at most; null for none of this client. */
  readonly readUpload?: (id: string, client: string, maxBytes: number) => Promise<Buffer | null>;
  /** Told why a download failed, which its client is not. */
  readonly onFailedDownload?: (error: DownloadError) => void;
}

/** Images of one request, whose bytes are its client's until it has ended. */
export interface RequestImages extends ImageReader {
  release(): void;
}

/** Files that a request has read. */
interface RequestFiles {
  /** By the text of their source, with what they are charged. */
  readonly known: Map<
    string,
    { readonly file: Uint8Array; readonly client: string; readonly bytes: number }
  >;
  /** It has ended: nothing that still arrives is kept. */
  isOver: boolean;
}

export class ImageSources {
  readonly #options: ImageSourcesOptions;
  readonly #domains: MediaDomains;
  readonly #local: LocalMedia | null;
  readonly #held = new ClientBudget(LIMITS.imageBytesHeld, LIMITS.clientImageBytesHeld);
  readonly #fetches = new ClientBudget(LIMITS.imageFetches, LIMITS.clientImageFetches);

  constructor(options: ImageSourcesOptions) {
    this.#options = options;
    this.#domains = new MediaDomains(options.allowedDomains);
    this.#local =
      options.allowedLocalPath === null ? null : new LocalMedia(options.allowedLocalPath);
  }

  /** Only images that requests bring along: no server is asked, and no file is read. */
  static ofRequestsAlone(): ImageSources {
    const { promptImages: maxImages } = LIMITS;
    return new ImageSources({ maxImages, allowedDomains: [], allowedLocalPath: null });
  }

  /** Reads nothing yet. */
  ofRequest(): RequestImages {
    const files: RequestFiles = { known: new Map(), isOver: false };
    return {
      read: (parts, caller) => this.#readAll(parts, caller, files),
      release: once(() => {
        for (const { client, bytes } of files.known.values()) this.#held.give(client, bytes);
        files.known.clear();
        files.isOver = true;
      }),
    };
  }

  async #readAll(
    parts: readonly ImagePart[],
    caller: Caller,
    files: RequestFiles,
  ): Promise<ChatImage[]> {
    const { maxImages } = this.#options;
    const beyond = parts[maxImages];
    if (beyond !== undefined) {
      const message = `at most ${maxImages} images are taken in a prompt, and these are ${parts.length}`;
      throw invalid(beyond, message, { code: 'too_many_images' });
    }
    const images: ChatImage[] = [];
    let left: number = LIMITS.promptImageBytes;
    for (const part of parts) {
      caller.signal.throwIfAborted();
      const file = await this.#readOnce(part, Math.min(left, LIMITS.imageBytes), caller, files);
      left -= file.length;
      images.push({ file, detail: part.detail });
    }
    return images;
  }

  /** A chat that is too long is prepared again with less of it, and an image may be in it twice. */
  async #readOnce(
    part: ImagePart,
    maxBytes: number,
    caller: Caller,
    files: RequestFiles,
  ): Promise<Uint8Array> {
    const text = textOf(part.source);
    const found = files.known.get(text);
    if (found !== undefined && found.file.length <= maxBytes) return found.file;
    const file = await this.#read(part, maxBytes, caller);
    requireImage(part, file);
    if (files.isOver) throw new Error('the request has ended');
    const { client } = caller;
    // The request keeps the text that the file came in as long as it runs.
    const bytes = file.length + text.length;
    this.#held.take(client, bytes);
    files.known.set(text, { file, client, bytes });
    return file;
  }

  async #read(part: ImagePart, maxBytes: number, caller: Caller): Promise<Uint8Array> {
    const { source } = part;
    switch (source.type) {
      case 'base64':
        return await decoded(part, source.data, maxBytes);
      case 'file':
        return await this.#readUpload(part, source.id, maxBytes, caller);
      case 'url':
        return await this.#readUrl(part, source.url, maxBytes, caller);
    }
  }

  async #readUpload(
    part: ImagePart,
    id: string,
    maxBytes: number,
    { client }: Caller,
  ): Promise<Uint8Array> {
    const file = (await this.#options.readUpload?.(id, client, maxBytes)) ?? null;
    if (file !== null) return file;
    throw invalid(
      part,
      `there is no such file of at most ${maxBytes} bytes with the purpose \`vision\``,
    );
  }

  async #readUrl(
    part: ImagePart,
    text: string,
    maxBytes: number,
    caller: Caller,
  ): Promise<Uint8Array> {
    if (/^data:/i.test(text)) {
      const data = dataUrlContent(text);
      if (data === null)
        throw invalid(part, 'expected `data:image/...;base64,`, and the file of an image');
      return await decoded(part, data, maxBytes);
    }
    // Not a longer one than browsers know.
    const isUrl = text.length <= LIMITS.imageUrlCharacters && URL.canParse(text);
    const url = new URL(isUrl ? text : 'none:');
    switch (url.protocol) {
      case 'http:':
      case 'https:':
        return await this.#download(part, url, maxBytes, caller);
      case 'file:': {
        const file = (await this.#local?.read(url, maxBytes)) ?? null;
        if (file !== null) return file;
        throw invalid(part, `there is no such file of at most ${maxBytes} bytes that may be read`);
      }
      default:
        throw invalid(part, 'expected a data URL, or one of `http`, `https` or `file`');
    }
  }

  async #download(
    part: ImagePart,
    url: URL,
    maxBytes: number,
    { client, signal }: Caller,
  ): Promise<Uint8Array> {
    this.#fetches.take(client, 1);
    try {
      const isAllowed = (at: URL): boolean => this.#domains.allows(at);
      return await download(url, { isAllowed, maxBytes, maxMs: LIMITS.imageFetchMs, signal });
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error;
      if (error.reason !== 'refused') this.#options.onFailedDownload?.(error);
      throw invalid(part, downloadReason(error, maxBytes));
    } finally {
      this.#fetches.give(client, 1);
    }
  }
}

function downloadReason({ reason }: DownloadError, maxBytes: number): string {
  switch (reason) {
    case 'refused':
      return 'images are fetched from allowed hosts only (`--allowed-media-domains`); send a data URL';
    case 'too-large':
      return `it has more than ${maxBytes} bytes`;
    case 'failed':
      return 'the image could not be fetched';
  }
}

async function decoded(part: ImagePart, data: string, maxBytes: number): Promise<Uint8Array> {
  if (base64Bytes(data) > maxBytes) {
    throw invalid(part, `expected at most ${maxBytes} bytes`, { code: 'image_too_large' });
  }
  const file = await decodeBase64(data);
  if (file !== null) return file;
  throw invalid(part, 'expected the file of an image in base64');
}

/** By the head of its file, whatever it was called. */
function requireImage(part: ImagePart, file: Uint8Array): void {
  try {
    numPixels(file, LIMITS.imagePixels);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw invalid(part, error.message);
  }
}

function textOf(source: ImageSource): string {
  switch (source.type) {
    case 'base64':
      return source.data;
    case 'url':
      return source.url;
    case 'file':
      return source.id;
  }
}

function invalid(
  part: ImagePart,
  reason: string,
  { code = 'invalid_image' } = {},
): InvalidRequestError {
  return new InvalidRequestError(`\`${part.field}\`: ${reason}.`, part.field, code);
}
