/** A file that is no sound, or one that is refused; the message, part of a sentence, is for the client. */
export class AudioError extends Error {
  override readonly name = 'AudioError';
}
