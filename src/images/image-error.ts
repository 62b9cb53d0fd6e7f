/** A file that is no image, or one that is refused; the message, part of a sentence, is for the client. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}
