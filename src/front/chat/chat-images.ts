/** Images of a chat: what APIs make of the image parts of a request, and what a model takes. */
import type { Caller } from '../caller.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatMessage, ContentPart } from '../templates/chat-message.ts';

export type ImageDetail = 'auto' | 'low' | 'high';

/** Where the file of an image is. */
export type ImageSource =
  | { readonly type: 'base64'; readonly data: string }
  /** With any scheme; which ones are followed is the server's. */
  | { readonly type: 'url'; readonly url: string }
  /** One that the client uploaded. */
  | { readonly type: 'file'; readonly id: string };

/** Part of a message that stands for an image, whatever its API calls it. */
export interface ImagePart extends ContentPart {
  readonly type: 'image';
  readonly source: ImageSource;
  readonly detail: ImageDetail;
  /** How the client calls it, for errors. */
  readonly field: string;
}

/** An image as a model takes it. */
export interface ChatImage {
  /** Bytes of a PNG, JPEG, WebP or GIF file. */
  readonly file: Uint8Array;
  readonly detail: ImageDetail;
}

/** Reads the images of one request, wherever they are. */
export interface ImageReader {
  /**
   * The images of the parts, in their order.
   * @throws InvalidRequestError naming the part; QueueFullError; the signal's reason on abort
   */
  read(parts: readonly ImagePart[], caller: Caller): Promise<readonly ChatImage[]>;
}

/** Part of a model that says whether it sees. */
export interface SeeingModel {
  readonly model: { readonly id: string };
  /** Null or left out for a model that takes text alone. */
  readonly images?: ImageReader | null | undefined;
}

export function imagePart(source: ImageSource, field: string, detail?: string | null): ImagePart {
  return { type: 'image', source, detail: detailOf(detail), field };
}

/** `original` of newer clients is as much as can be had. */
function detailOf(detail: string | null | undefined): ImageDetail {
  if (detail === 'low') return 'low';
  return detail === 'high' || detail === 'original' ? 'high' : 'auto';
}

/**
 * A chat with the files of its images in `images`, and parts `{ type: 'image' }` where they stand; the chat
 * itself if it has none.
 * @throws InvalidRequestError for a model that does not see; as ImageReader.read
 */
export async function withImages<
  Chat extends {
    readonly messages: readonly ChatMessage[];
    readonly images?: readonly ChatImage[];
  },
>({ model, images: reader = null }: SeeingModel, chat: Chat, caller: Caller): Promise<Chat> {
  const parts = chat.messages.flatMap(imagePartsOf);
  const [first] = parts;
  if (first === undefined) return chat;
  if (reader === null) {
    throw new InvalidRequestError(
      `\`${first.field}\`: the model \`${model.id}\` takes text only, and no images.`,
      first.field,
      'model_not_supported',
    );
  }
  const images = await reader.read(parts, caller);
  return { ...chat, messages: chat.messages.map(withoutSources), images };
}

function imagePartsOf({ content }: ChatMessage): ImagePart[] {
  return typeof content === 'object' ? (content ?? []).filter(isImagePart) : [];
}

function isImagePart(part: ContentPart): part is ImagePart {
  return part.type === 'image' && 'source' in part;
}

function withoutSources(message: ChatMessage): ChatMessage {
  const { content } = message;
  if (typeof content !== 'object' || content === null) return message;
  const plain = content.map((part) => (isImagePart(part) ? { type: 'image' } : part));
  return { ...message, content: plain };
}
