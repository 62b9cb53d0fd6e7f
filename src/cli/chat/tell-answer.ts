import type { AnswerPiece } from './chat-backend.ts';

/**
 * Writes an answer as it grows, thoughts set apart.
 * @param signal stops it
 * @returns what was said, without the thoughts
 * @throws as the answer does, but for its being stopped
 */
export async function tellAnswer(
  pieces: AsyncIterable<AnswerPiece>,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<string> {
  let said = '';
  let isThinking = false;
  try {
    for await (const { type, text } of pieces) {
      const thinks = type === 'reasoning';
      if (thinks && !isThinking) output.write('Thinking...\n');
      if (!thinks && isThinking) output.write('\n...done thinking.\n\n');
      isThinking = thinks;
      if (!thinks) said += text;
      output.write(text);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  output.write('\n');
  return said;
}
